"""How many records are needed: the rates of Theorems 8 to 10, private conditions, repetition and concentration.

Spec properties, sections 2 and 3. Rates are returned with their hidden constants set to one ("shape only").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scipy import special

from privexplorer.errors import ConvergenceError, ParameterError
from privexplorer.properties.coverage import check_accuracy

Branch: TypeAlias = Literal["small", "middle", "sublinear"]

START_FAILURE = 1.0 / 3.0 + math.exp(-2.0)
"""Failure probability of one private answer in Lemma 25: 1/3 of the estimator plus e^-2 of the noise."""


@dataclass(frozen=True)
class SampleSizeBound:
    """Upper and lower rate of a sample size, constants set to one.

    Attributes
    ----------
    upper, lower : float
        Records.
    branch : {"small", "middle", "sublinear"}
        Range of the theorem that applies.
    terms : dict
        The summands of the upper rate by name.
    """

    upper: float
    lower: float
    branch: Branch
    terms: dict[str, float]


@dataclass(frozen=True)
class EntropySampleSize:
    """Two upper rates and the lower rate of Theorem 10, constants set to one, in records.

    Attributes
    ----------
    upper_1, upper_2, lower : float
        ``U_1`` (plug-in), ``U_2`` (polynomial) and ``L``.
    non_private : float
        The optimum without privacy: the lower rate without its ε term.
    """

    upper_1: float
    upper_2: float
    lower: float
    non_private: float


def coverage_sample_size(m: float, accuracy: float, epsilon: float) -> SampleSizeBound:
    """Return the rates of Theorem 8: support coverage at ``m`` within ``accuracy * m``.

    Parameters
    ----------
    m : float
        Number of records whose coverage is asked for, at least 2.
    accuracy : float
        In (0, 1).
    epsilon : float
        Privacy loss, above 0.

    Examples
    --------
    >>> bound = coverage_sample_size(10_000, 0.1, 1.0)
    >>> round(bound.upper, 5), round(bound.lower)
    (4999.94572, 2510)
    """
    size, error, loss = _at_least_two(m, "m"), check_accuracy(accuracy), check_epsilon(epsilon)
    spread = -math.log(error)
    statistical = size * spread / math.log(size)
    lower = statistical + 1.0 / (error * loss)
    if size <= 1.0 / error:
        return _bound("small", {"statistical": size * size, "private": size / loss}, lower)
    if size >= 1.0 / (error * loss):
        return _bound(
            "sublinear", {"statistical": statistical, "private": size * spread / math.log(2.0 + loss * size)}, lower
        )
    return _bound("middle", {"statistical": 1.0 / error**2, "private": 1.0 / (error * loss)}, lower)


def support_sample_size(k: float, accuracy: float, epsilon: float) -> SampleSizeBound:
    """Return the rates of Theorem 9: support size within ``accuracy * k`` when every mass is at least 1/k.

    Parameters are as in :func:`coverage_sample_size`, with ``k`` for ``m``.
    """
    size, error, loss = _at_least_two(k, "k"), check_accuracy(accuracy), check_epsilon(epsilon)
    spread = -math.log(error)
    statistical = size * spread**2 / math.log(size)
    if size <= 1.0 / error:
        terms = {"statistical": size * math.log(size), "private": size / loss}
        return _bound("small", terms, sum(terms.values()))
    lower = statistical + 1.0 / (error * loss)
    if size >= 1.0 / (error * loss):
        private = size * spread**2 / math.log(2.0 + loss * size)
        return _bound("sublinear", {"statistical": statistical, "private": private}, lower)
    return _bound("middle", {"statistical": size * spread, "private": 1.0 / (error * loss)}, lower)


def entropy_sample_size(k: float, accuracy: float, epsilon: float, degree_exponent: float = 0.5) -> EntropySampleSize:
    """Return the rates of Theorem 10: entropy within ``accuracy`` nats.

    Parameters
    ----------
    k : float
        Number of symbols, at least 2.
    accuracy : float
        In (0, 1), nats.
    epsilon : float
        Privacy loss, above 0.
    degree_exponent : float
        λ in [0.01, 1]: small means a high degree, little bias and a large sensitivity.

    Returns
    -------
    EntropySampleSize
        Each rate solves ``n = F(n)``, as n stands on both sides through ``ln min(k, n)``.
    """
    size, error, loss = _at_least_two(k, "k"), check_accuracy(accuracy), check_epsilon(epsilon)
    if not 0.01 <= degree_exponent <= 1.0:
        raise ParameterError(
            f"The degree exponent λ must lie between 0.01 and 1; it is {degree_exponent:g}.", field="degree_exponent"
        )
    noise = 1.0 / (error * loss)
    learning = size / (error * math.log(size))
    return EntropySampleSize(
        upper_1=_fixed_point(size, error, size / error + noise * max(0.0, math.log(noise))),
        upper_2=_fixed_point(size, error, learning / degree_exponent**2 + noise ** (1.0 + degree_exponent)),
        lower=_fixed_point(size, error, learning + math.log(size) * noise),
        non_private=_fixed_point(size, error, learning),
    )


def coin_sample_size(accuracy: float, epsilon: float) -> float:
    """Return ``1/accuracy^2 + 1/(accuracy epsilon)``: the bias of one coin, the yardstick (Sec 4.1.1)."""
    error = check_accuracy(accuracy)
    return 1.0 / error**2 + 1.0 / (error * check_epsilon(epsilon))


def sgt_privacy_sample_size(m: float, accuracy: float, epsilon: float) -> float:
    """Return how many records make the printed sensitivity of the smoothed estimator at most ``accuracy epsilon m``.

    Uses r = ln(3/accuracy). Needs ``accuracy * epsilon * m > 2`` and a positive denominator (Sec 4.4.1.1).

    Examples
    --------
    >>> round(sgt_privacy_sample_size(10_000, 0.1, 1.0), 6)
    2613.290171
    """
    size, error, loss = _at_least_two(m, "m"), check_accuracy(accuracy), check_epsilon(epsilon)
    rate = math.log(3.0 / error)
    return size * rate / _denominator(0.5 * error * loss * size - 1.0, rate, "accuracy times ε times m")


def support_bias_sample_size(k: float, accuracy: float) -> float:
    """Return how many records make the bias of the sparse support estimator at most ``accuracy k`` (Sec 4.4.2.1).

    ``k r^2 / (ln(accuracy k / 2) + 2 r)`` with r = ln(3/accuracy); needs ``accuracy * k > 2``.
    """
    size, error = _at_least_two(k, "k"), check_accuracy(accuracy)
    if not error * size > 2.0:
        raise ParameterError(
            f"This condition needs accuracy times k above 2; it is {error * size:g}.", field="accuracy"
        )
    rate = math.log(3.0 / error)
    return size * rate**2 / _denominator(0.5 * error * size, rate, "accuracy times k")


def support_privacy_sample_size(k: float, accuracy: float, epsilon: float, *, printed: bool = False) -> float:
    """Return how many records make the sensitivity of the sparse support estimator at most ``accuracy epsilon k``.

    Parameters
    ----------
    k, accuracy, epsilon : float
        As in :func:`support_sample_size`; ``accuracy * epsilon * k`` must exceed 2.
    printed : bool
        True evaluates the formula as printed, whose denominator has slips (erratum E10).
    """
    size, error, loss = _at_least_two(k, "k"), check_accuracy(accuracy), check_epsilon(epsilon)
    rate = math.log(3.0 / error)
    if printed:
        return size * rate**2 / _denominator(0.5 * error * loss * size, 0.5 * rate, "accuracy times ε times k")
    return size * rate**2 / _denominator(0.5 * error * loss * size - 1.0, rate, "accuracy times ε times k")


def sensitivity_sample_size(
    sensitivity: Callable[[int], float], limit: float, largest: int = 10**9, falling_from: int = 1_000
) -> int:
    """Return the smallest ``n`` from which on the sensitivity stays at most ``limit`` (Lemma 25's ``D``).

    A sensitivity need not fall in n: with few records, one more can make room for a worse pair of counts. Sizes
    below ``falling_from`` are therefore looked at one by one, and only beyond it is the answer found by bisection.

    Parameters
    ----------
    sensitivity : function
        From n to the sensitivity.
    limit : float
        ``accuracy * epsilon``, above 0.
    largest : int
        Where to give up.
    falling_from : int
        The sensitivity does not rise from this n on: see ``falling_from`` of the entropy estimators. What is left
        out covers all published tunings of theirs.

    Raises
    ------
    ConvergenceError
        If even ``largest`` records are not enough.

    Examples
    --------
    >>> bumpy = {1: 0.0, 2: 0.7, 3: 0.4, 4: 0.6, 5: 0.5}
    >>> sensitivity_sample_size(bumpy.__getitem__, 0.5, largest=5)
    5
    """
    if not limit > 0.0:
        raise ParameterError(f"The limit on the sensitivity must be above 0; it is {limit:g}.", field="accuracy")
    if sensitivity(largest) > limit:
        raise ConvergenceError(f"Even {largest:,} records do not bring the sensitivity down to {limit:g}.")
    low, high = max(1, min(falling_from, largest)), largest
    if sensitivity(low) <= limit:
        while low > 1 and sensitivity(low - 1) <= limit:
            low -= 1
        return low
    while high - low > 1:
        middle = (low + high) // 2
        if sensitivity(middle) <= limit:
            high = middle
        else:
            low = middle
    return high


def smallest_epsilon(
    records: Callable[[float], float], n: float, low: float = 1e-6, high: float = 50.0
) -> float | None:
    """Return the smallest ε at which a rate asks for at most ``n`` records, or None if none up to ``high`` does.

    Parameters
    ----------
    records : function
        From ε to the number of records; it may jump where the theorem changes its range.
    n : float
        Records at hand.
    low, high : float
        Where to search.
    """
    if not n > 0.0:
        raise ParameterError(f"The sample size n must be above 0; it is {n:g}.", field="n")
    if records(low) <= n:
        return low
    steps = 2_000
    before = low
    for step in range(1, steps + 1):
        here = high if step == steps else low * (high / low) ** (step / steps)
        if records(here) <= n:
            for _ in range(80):
                middle = math.sqrt(before * here)
                before, here = (before, middle) if records(middle) <= n else (middle, here)
            return here
        before = here
    return None


# ---- repetition and concentration ----


def boosting_blocks(failure: float, start: float = 1.0 / 3.0, exact: bool = True) -> int:
    """Return how many independent blocks bring the failure probability of their median down to ``failure``.

    Parameters
    ----------
    failure : float
        Target in (0, 1).
    start : float
        Failure probability of one block, below 1/2.
    exact : bool
        True: the smallest odd number by the exact binomial tail; False: Hoeffding's count, which for start = 1/3
        is ``ceil(18 ln(1/failure))`` (spec properties, sections 0 and 2).

    Examples
    --------
    >>> boosting_blocks(0.1), boosting_blocks(0.1, exact=False)
    (15, 42)
    """
    if not 0.0 < failure < 1.0:
        raise ParameterError(f"The failure probability must lie between 0 and 1; it is {failure:g}.", field="failure")
    if not 0.0 < start < 0.5:
        raise ParameterError(
            f"A median helps only where one block fails with probability below 1/2; it is {start:g}.", field="start"
        )
    if not exact:
        # 1e-9 keeps exact whole numbers whole
        return max(1, math.ceil(math.log(1.0 / failure) / (2.0 * (0.5 - start) ** 2) - 1e-9))

    def fails(half: int) -> float:
        return float(special.bdtrc(half, 2 * half + 1, start))

    low, high = -1, 1
    while fails(high) > failure:
        low, high = high, 2 * high
        if high > 10**12:
            raise ConvergenceError("More blocks are needed than can be counted; start from a smaller failure.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) <= failure else (middle, high)
    return 2 * high + 1


def laplace_failure(scale: float, slack: float) -> float:
    """Return ``Pr(|noise| > slack) = e^(-slack/scale)`` for Laplace noise: e^-2 at scale = slack/2 (Lemma 25)."""
    if not scale > 0.0 or not slack >= 0.0:
        raise ParameterError("The noise scale must be above 0 and the slack at least 0.", field="scale")
    return math.exp(-slack / scale)


def mcdiarmid_tail(z: float, n: int, sensitivity: float) -> float:
    """Return ``2 e^(-2 z^2/(n sensitivity^2))``, at most 1: a bound on the chance to be z off the mean (Sec 4.1.1)."""
    if not z >= 0.0 or not sensitivity >= 0.0 or n < 1:
        raise ParameterError("The distance and the sensitivity must be at least 0 and n at least 1.", field="z")
    if sensitivity == 0.0:
        return 1.0 if z == 0.0 else 0.0
    return min(1.0, 2.0 * math.exp(-2.0 * (z / sensitivity) ** 2 / n))


# ---- helpers ----


def check_epsilon(epsilon: float) -> float:
    """Return ε if it is a number above 0."""
    if not (epsilon > 0.0 and math.isfinite(epsilon)):
        raise ParameterError(f"The privacy loss ε must be above 0; it is {epsilon:g}.", field="epsilon")
    return float(epsilon)


def _at_least_two(value: float, name: str) -> float:
    if not (value >= 2.0 and math.isfinite(value)):
        raise ParameterError(f"{name} must be at least 2; it is {value:g}.", field=name)
    return float(value)


def _bound(branch: Branch, terms: dict[str, float], lower: float) -> SampleSizeBound:
    return SampleSizeBound(sum(terms.values()), lower, branch, terms)


def _denominator(argument: float, rate: float, what: str) -> float:
    total = math.log(argument) + 2.0 * rate if argument > 0.0 else 0.0
    if not total > 0.0:
        raise ParameterError(f"This condition has no solution here; {what} must be above 2.", field="accuracy")
    return total


def _fixed_point(k: float, accuracy: float, rest: float) -> float:
    n = 10.0
    for _ in range(10_000):
        following = rest + math.log(min(k, max(n, 2.0))) ** 2 / accuracy**2
        if abs(following - n) <= 1e-13 * abs(following):
            return following
        n = following
    raise ConvergenceError("The sample size, which stands on both sides of the formula, did not settle.")


__all__ = [
    "START_FAILURE",
    "EntropySampleSize",
    "SampleSizeBound",
    "boosting_blocks",
    "coin_sample_size",
    "coverage_sample_size",
    "entropy_sample_size",
    "laplace_failure",
    "mcdiarmid_tail",
    "sensitivity_sample_size",
    "sgt_privacy_sample_size",
    "smallest_epsilon",
    "support_bias_sample_size",
    "support_privacy_sample_size",
    "support_sample_size",
]
