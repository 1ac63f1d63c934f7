"""Exact accounting of several releases, and noise for a target: thin wrappers around ``dp_accounting``.

Privacy loss distributions are convolved numerically and rounded to the private side. ``dp_accounting`` is imported on
first use, since that takes over a second.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.privacy.guarantees import ApproxDP, LocalDP, PureDP, check_delta, check_epsilon
from privexplorer.privacy.mechanisms import Gaussian, Geometric, Laplace, MechanismRecord
from privexplorer.privacy.mechanisms.gaussian import analytic_gaussian_std

_MOST_STEPS = 400_000  # grid points of a convolved loss distribution
_FINE = 1e-4


def compose_worst_case(levels: Iterable[tuple[float, float]], delta: float) -> float:
    """Smallest total ε at slack ``delta`` of releases known only by their (ε, δ).

    Parameters
    ----------
    levels : iterable of (epsilon, delta)
        What each release promises.
    delta : float
        Total slack, in (0, 1).

    Returns
    -------
    float
        ε >= 0, or infinity if the releases' own slack exceeds ``delta``. Exact to about 1e-9 when the ε are
        multiples of a common step (as short decimals are), else each ε is rounded up by at most 1/400,000 of the sum.

    Examples
    --------
    >>> round(compose_worst_case([(0.1, 0.0)] * 100, 1e-6), 6)
    4.774568
    """
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    _check_target(delta)
    counts = Counter((float(epsilon), float(slack)) for epsilon, slack in levels)
    for epsilon, slack in counts:
        check_epsilon(epsilon)
        check_delta(slack)
    lossy = [epsilon for epsilon, _ in counts.elements() if epsilon > 0]
    step = _common_step(lossy)
    total: Any = None
    for (epsilon, slack), count in counts.items():
        # the worst release: everything with probability δ, else binary randomised response
        up = math.ceil(epsilon / step - 1e-9)
        likely = 1.0 / (1.0 + math.exp(-epsilon))
        masses = {up: (1.0 - slack) * likely}
        down = math.ceil(-epsilon / step - 1e-9)
        masses[down] = masses.get(down, 0.0) + (1.0 - slack) * (1.0 - likely)
        single = PrivacyLossDistribution.create_from_rounded_probability(masses, slack, step)
        part = single.self_compose(count) if count > 1 else single
        total = part if total is None else total.compose(part)
    return 0.0 if total is None else float(total.get_epsilon_for_delta(delta))


def composed_epsilon(mechanisms: Sequence[MechanismRecord], delta: float) -> float:
    """Smallest total ε at slack ``delta`` of these mechanisms on the same people, from their own noise laws.

    Parameters
    ----------
    mechanisms : sequence of mechanisms
        Laplace, geometric and Gaussian ones enter by the exact law of their noise, others as the worst mechanism with
        their guarantee. Each is taken at its full sensitivity.
    delta : float
        Total slack, in (0, 1).

    Returns
    -------
    float
        ε >= 0; infinity if ``delta`` is too small.

    Raises
    ------
    ParameterError
        If ``delta`` lies outside (0, 1).
    UnsupportedCombination
        If local and central mechanisms are mixed.

    Examples
    --------
    >>> composed_epsilon([Laplace(epsilon=0.1)] * 100, 1e-6) < 4.7
    True
    """
    _check_target(delta)
    if not mechanisms:
        return 0.0
    if len({mechanism.guarantee().model for mechanism in mechanisms}) > 1:
        raise UnsupportedCombination(
            "Local and central mechanisms protect against different readers, so their losses are not added here."
        )
    counts = Counter(mechanisms)
    if all(isinstance(mechanism, Gaussian) for mechanism in counts):
        # Gaussian losses add up to one Gaussian loss, which has a closed form
        rate = math.fsum(
            count / mechanism.noise_multiplier() ** 2
            for mechanism, count in counts.items()
            if isinstance(mechanism, Gaussian)
        )
        return _gaussian_epsilon(1.0 / math.sqrt(rate), delta)
    step = min(_FINE, min(_level(mechanism)[0] for mechanism in counts) / 50.0)
    total: Any = None
    for mechanism, count in counts.items():
        single = _loss_distribution(mechanism, step)
        part = single.self_compose(count) if count > 1 else single
        total = part if total is None else total.compose(part)
    return float(total.get_epsilon_for_delta(delta))


def compositions_allowed(mechanism: MechanismRecord, epsilon: float, delta: float, most: int = 1_000_000) -> int:
    """How many releases of this mechanism on the same people keep within (ε, δ).

    Parameters
    ----------
    mechanism : mechanism
        One release.
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Total slack in [0, 1); with 0 only whole multiples of a pure ε fit.
    most : int
        Where the search stops.

    Returns
    -------
    int
        From 0 to ``most``.

    Examples
    --------
    >>> compositions_allowed(Laplace(epsilon=0.1), 1.0, 0.0)
    10
    """
    check_epsilon(epsilon)
    check_delta(delta)
    own_epsilon, own_delta = _level(mechanism)
    if delta == 0:
        fits = Fraction(Decimal(repr(epsilon))) / Fraction(Decimal(repr(own_epsilon))) if own_delta == 0 else 0
        return min(most, int(fits))

    def within(count: int) -> bool:
        return composed_epsilon([mechanism] * count, delta) <= epsilon

    if not within(1):
        return 0
    low, high = 1, 2
    while high <= most and within(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if within(middle) else (low, middle)
    return low


def calibrate_laplace(epsilon: float, delta: float = 0.0, sensitivity: float = 1.0, compositions: int = 1) -> float:
    """Return the Laplace scale with which several releases together keep within (ε, δ).

    Parameters
    ----------
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Total slack in [0, 1); 0 means basic composition.
    sensitivity : float
        L1 sensitivity of each release.
    compositions : int
        Number of releases, >= 1.

    Returns
    -------
    float
        Scale for each release, in the unit of the sensitivity; never above compositions·sensitivity/ε.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> calibrate_laplace(1.0, sensitivity=2.0, compositions=3)
    6.0
    """
    _check_calibration(epsilon, sensitivity, compositions)
    check_delta(delta)
    simple = compositions * sensitivity / epsilon
    if delta == 0 or sensitivity == 0:
        return simple
    _check_target(delta)
    from dp_accounting.pld.accountant import get_smallest_laplace_noise
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    target = DifferentialPrivacyParameters(epsilon, delta)
    return min(simple, float(get_smallest_laplace_noise(target, compositions, 1.0)) * sensitivity)


def calibrate_gaussian(epsilon: float, delta: float, sensitivity: float = 1.0, compositions: int = 1) -> float:
    """Return the Gaussian standard deviation with which several releases together keep within (ε, δ).

    Several Gaussian releases lose as much as one with the noise divided by sqrt(compositions), so this is exact.

    Parameters
    ----------
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Total slack in (0, 1).
    sensitivity : float
        L2 sensitivity of each release.
    compositions : int
        Number of releases, >= 1.

    Returns
    -------
    float
        Standard deviation for each release, in the unit of the sensitivity.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> round(calibrate_gaussian(1.0, 1e-6, compositions=4) / calibrate_gaussian(1.0, 1e-6), 9)
    2.0
    """
    _check_calibration(epsilon, sensitivity, compositions)
    return math.sqrt(compositions) * sensitivity * analytic_gaussian_std(epsilon, delta)


def _level(mechanism: MechanismRecord) -> tuple[float, float]:
    guarantee = mechanism.guarantee()
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon, 0.0
    if isinstance(guarantee, (ApproxDP, LocalDP)):
        return guarantee.epsilon, guarantee.delta
    raise UnsupportedCombination(f"'{mechanism.title}' states no ε, so its loss is not known here.")


def _loss_distribution(mechanism: MechanismRecord, step: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    if isinstance(mechanism, Laplace):
        return pld.from_laplace_mechanism(1.0 / mechanism.epsilon, value_discretization_interval=step)
    if isinstance(mechanism, Geometric):
        # at sensitivity one this is binary randomised response, so larger ones with proportional noise lose no more
        return pld.from_discrete_laplace_mechanism(mechanism.epsilon, value_discretization_interval=step)
    if isinstance(mechanism, Gaussian):
        return pld.from_gaussian_mechanism(mechanism.noise_multiplier(), value_discretization_interval=step)
    return pld.from_privacy_parameters(DifferentialPrivacyParameters(*_level(mechanism)), step)


def _gaussian_epsilon(std: float, delta: float) -> float:
    from dp_accounting import get_epsilon_gaussian

    return float(get_epsilon_gaussian(std, delta))


def _common_step(epsilons: Sequence[float]) -> float:
    """Largest step of which all ε are multiples, if the sum has not too many of them; else a fine one."""
    if not epsilons:
        return 1.0
    exact = [Fraction(Decimal(repr(epsilon))) for epsilon in set(epsilons)]
    step = exact[0]
    for value in exact[1:]:
        step = Fraction(
            math.gcd(step.numerator * value.denominator, value.numerator * step.denominator),
            step.denominator * value.denominator,
        )
    total = math.fsum(epsilons)
    if total / float(step) <= _MOST_STEPS:
        return float(step)
    return total / _MOST_STEPS


def _check_target(delta: float) -> None:
    if not 0 < delta < 1:
        raise ParameterError(f"δ must lie strictly between 0 and 1; it is {delta:g}.", field="delta")


def _check_calibration(epsilon: float, sensitivity: float, compositions: int) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError(f"ε must be a number above 0; it is {epsilon:g}.", field="epsilon")
    if not (math.isfinite(sensitivity) and sensitivity >= 0):
        raise ParameterError(
            f"The sensitivity must be a finite number of at least 0; it is {sensitivity:g}.", field="sensitivity"
        )
    if compositions != int(compositions) or compositions < 1:
        raise ParameterError(
            f"The number of releases must be a whole number of at least 1; it is {compositions}.",
            field="compositions",
        )


__all__ = ["calibrate_gaussian", "calibrate_laplace", "compose_worst_case", "composed_epsilon", "compositions_allowed"]
