"""Privacy: guarantees and their conversions, composition, mechanisms, public parameters and repeatable noise."""

from __future__ import annotations

from privexplorer.privacy.accounting import *  # noqa: F403
from privexplorer.privacy.accounting import __all__ as _accounting
from privexplorer.privacy.answers import *  # noqa: F403
from privexplorer.privacy.answers import __all__ as _answers
from privexplorer.privacy.composition import *  # noqa: F403
from privexplorer.privacy.composition import __all__ as _composition
from privexplorer.privacy.conversions import *  # noqa: F403
from privexplorer.privacy.conversions import __all__ as _conversions
from privexplorer.privacy.guarantees import *  # noqa: F403
from privexplorer.privacy.guarantees import __all__ as _guarantees
from privexplorer.privacy.mechanisms import *  # noqa: F403
from privexplorer.privacy.mechanisms import __all__ as _mechanisms
from privexplorer.privacy.public_parameters import *  # noqa: F403
from privexplorer.privacy.public_parameters import __all__ as _public_parameters

__all__ = [
    *_accounting,
    *_answers,
    *_composition,
    *_conversions,
    *_guarantees,
    *_mechanisms,
    *_public_parameters,
]
