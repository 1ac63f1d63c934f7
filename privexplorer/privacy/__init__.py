"""Privacy: guarantees and their conversions, composition, mechanisms, public parameters and repeatable noise."""

from __future__ import annotations

from privexplorer.privacy.conversions import *  # noqa: F403
from privexplorer.privacy.conversions import __all__ as _conversions
from privexplorer.privacy.guarantees import *  # noqa: F403
from privexplorer.privacy.guarantees import __all__ as _guarantees
from privexplorer.privacy.mechanisms import *  # noqa: F403
from privexplorer.privacy.mechanisms import __all__ as _mechanisms

__all__ = [*_conversions, *_guarantees, *_mechanisms]
