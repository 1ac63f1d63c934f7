"""Information and exact toys: log loss as mutual information, DP against predictability, the worst case.

Spec predictability, sections 2.2 (Thm 2.4, Thm 2.5, Def 2.6, Thm 2.7, Thm A.9, Def A.2) and 3.9; errata E9, E11, E11b,
E12, E15. Information is in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln, log_ndtr, logsumexp, xlogy

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.predictability._checks import (
    check_fraction,
    check_level,
    check_non_negative,
    check_positive,
    check_records,
)
from privexplorer.predictability.bounds import Form
from privexplorer.privacy import LaplaceNoise, checked_channel


class NoiseDensity(Protocol):
    """A noise with a density, such as ``LaplaceNoise`` or ``GaussianNoise``."""

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Return the natural log of the density."""
        ...


# --- entropy and mutual information --------------------------------------------------------------------------


def binary_entropy(p: ArrayLike) -> FloatArray:
    """Return the entropy of a yes/no answer in nats, h(p) = -p log p - (1-p) log(1-p); h(0) = h(1) = 0."""
    value = np.asarray(p, dtype=np.float64)
    return np.asarray(-(xlogy(value, value) + xlogy(1.0 - value, 1.0 - value)))


def mutual_information(channel: ArrayLike, prior: ArrayLike) -> float:
    """Return the mutual information between the input and the output of a finite channel.

    Parameters
    ----------
    channel : (outputs, inputs) array
        ``channel[z, x]`` is the probability of z given x; columns sum to 1.
    prior : (inputs,) array
        Law of x.

    Examples
    --------
    >>> round(mutual_information(np.eye(4), np.full(4, 0.25)), 6)
    1.386294
    """
    law = checked_channel(channel)
    given = np.asarray(prior, dtype=np.float64)
    if given.shape != (law.shape[1],) or np.any(given < 0) or abs(float(given.sum()) - 1.0) > 1e-9:
        raise ParameterError("The prior must have one probability per input and sum to 1.", field="prior")
    output = law @ given
    joint = law * given
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(law) - np.log(output)[:, None]
    return float(max(np.where(joint > 0, joint * np.where(joint > 0, logs, 0.0), 0.0).sum(), 0.0))


def mi_dp_level(channel: ArrayLike, steps: int = 2_000, tolerance: float = 1e-12) -> tuple[float, FloatArray]:
    """Return the ε of mutual-information DP of one person's channel: its capacity, and the worst prior (Def 2.6).

    Alternating maximisation; stops when the gap to its upper bound is below ``tolerance``.

    Examples
    --------
    >>> level, prior = mi_dp_level([[0.75, 0.25], [0.25, 0.75]])
    >>> round(level, 6), prior
    (0.130812, array([0.5, 0.5]))
    """
    law = checked_channel(channel)
    prior = np.full(law.shape[1], 1.0 / law.shape[1])
    low = 0.0
    for _ in range(steps):
        output = law @ prior
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(law > 0, np.log(law) - np.log(output)[:, None], 0.0)
        gains = (law * logs).sum(axis=0)
        low, high = float(prior @ gains), float(gains.max())
        if high - low <= tolerance:
            break
        prior = prior * np.exp(gains - gains.max())
        prior = prior / prior.sum()
    return max(low, 0.0), prior


def randomised_response_information(epsilon: float, prior: float = 0.5) -> float:
    """Return what one randomised yes/no answer tells: h(π(1-f) + (1-π)f) - h(f), f = 1/(1+e^ε) (Thm A.9, R6).

    Never above ε.

    Examples
    --------
    >>> round(randomised_response_information(1.0), 5), round(randomised_response_information(1.0, 0.3), 9)
    (0.11094, 0.093761246)
    """
    chance = float(prior)
    if not 0.0 <= chance <= 1.0:
        raise ParameterError(f"A prior probability must lie between 0 and 1; it is {chance:g}.", field="prior")
    tail = math.exp(-check_non_negative(epsilon, "ε", "epsilon"))
    flip = tail / (1.0 + tail)
    mixed = chance * (1.0 - flip) + (1.0 - chance) * flip
    return max(float(binary_entropy(mixed) - binary_entropy(flip)), 0.0)


def mi_dp_to_slack(epsilon: float) -> float:
    """Return the δ with which ε-MI-DP gives (0, δ)-DP: min(1, √(2ε)); void from ε = 1/2 (after Thm 2.7, R4).

    Examples
    --------
    >>> round(mi_dp_to_slack(0.3), 10), mi_dp_to_slack(0.5)
    (0.7745966692, 1.0)
    """
    return min(1.0, math.sqrt(2.0 * check_non_negative(epsilon, "ε", "epsilon")))


def mi_dp_from_predictability(level: float, values: int, queries: Literal["any", "fixed"] = "any") -> float:
    """Return the MI-DP level that γ-predictability gives in the worst case (Thm 2.7, erratum E9).

    Parameters
    ----------
    level : float
        γ under log loss, all binary queries, everybody but one person known, whatever the prior: the chain rule also
        meets the laws that are left once some bits of the record are known, so a γ for one prior is not enough.
    values : int
        Number of values a record may take.
    queries : {"any", "fixed"}
        Queries may depend on the data, as in Def 2.3: γ itself. Queries fixed beforehand: ⌈log₂ values⌉ γ.
    """
    gamma = check_non_negative(level, "The predictability γ", "level")
    if values < 2:
        raise ParameterError(f"A record needs at least 2 values; it has {values}.", field="values")
    return gamma if queries == "any" else math.ceil(math.log2(values)) * gamma


def belief_shift(epsilon: ArrayLike) -> FloatArray:
    """Return the factor e^ε by which ε-DP lets posterior odds move (section 1, R1).

    Examples
    --------
    >>> round(float(belief_shift(20.0)), 1)
    485165195.4
    """
    return np.asarray(np.exp(np.asarray(epsilon, dtype=np.float64)))


# --- the exact toy of Thm 2.4 --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogLossToy:
    """Bits with a Beta-binomial prior, some of them known, and a release of their count (spec 3.9).

    Attributes
    ----------
    counts : (N + 1,) float array
        Possible numbers of ones among all N bits.
    prior : (N + 1,) float array
        Their probabilities.
    gaps : (N + 1,) float array
        Drop of the expected log loss at each count, nats.
    divergence : float
        Mean Kullback-Leibler divergence of the answer with and without the release.
    information : float
        Mutual information of an unknown bit and the release, given the known ones.
    baseline : (n + 1,) float array
        Answer given k known ones, before the release.
    """

    counts: FloatArray
    prior: FloatArray
    gaps: FloatArray
    divergence: float
    information: float
    baseline: FloatArray

    @property
    def average(self) -> float:
        """Gap averaged over the prior; equal to ``information`` (Thm 2.4, erratum E12)."""
        return float(self.prior @ self.gaps)

    @property
    def largest(self) -> float:
        """Largest gap over data sets: γ of Def 2.3 for this family."""
        return float(self.gaps.max())


def _log_beta_binomial(size: int, a: float, b: float) -> FloatArray:
    k = np.arange(size + 1)
    choose = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
    return np.asarray(choose + betaln(a + k, b + size - k) - betaln(a, b))


def log_loss_toy(
    records: int, draws: int, channel: ArrayLike | None = None, prior_ones: float = 1.0, prior_zeros: float = 1.0
) -> LogLossToy:
    """Work out the toy: N exchangeable bits, n of them known, the count of ones released through a channel.

    Parameters
    ----------
    records, draws : int
        N and n, 1 <= n < N. At most 400 records.
    channel : (outputs, N + 1) array, optional
        ``channel[o, t]``: probability of releasing o when the count is t; the exact count if left out.
    prior_ones, prior_zeros : float
        a, b of the Beta prior; 1, 1 makes every count equally likely.

    Examples
    --------
    >>> toy = log_loss_toy(4, 2)
    >>> round(toy.average, 10), round(toy.information, 10), round(toy.largest, 5)
    (0.3748900964, 0.3748900964, 0.4621)
    """
    total = check_records(records)
    if total > 400:
        raise ParameterError(f"The exact toy is worked out for at most 400 records; there are {total:,}.")
    if not 1 <= draws < total:
        raise ParameterError(
            f"The number of known bits n must lie between 1 and {total - 1:,}; it is {draws:,}.", field="draws"
        )
    a = check_positive(prior_ones, "The prior weight of ones", "prior_ones")
    b = check_positive(prior_zeros, "The prior weight of zeros", "prior_zeros")
    law = np.eye(total + 1) if channel is None else checked_channel(channel)
    if law.shape[1] != total + 1:
        raise ParameterError(
            f"The channel needs one column per count from 0 to {total}; it has {law.shape[1]}.", field="channel"
        )
    rest = total - draws
    known = np.exp(_log_beta_binomial(draws, a, b))
    counts = np.arange(total + 1)
    prior = np.exp(_log_beta_binomial(total, a, b))
    unknown = np.arange(rest + 1)
    share = unknown / rest
    baseline = np.empty(draws + 1)
    information, divergence = 0.0, 0.0
    gaps = np.zeros(total + 1)
    for k in range(draws + 1):
        chance = np.exp(_log_beta_binomial(rest, a + k, b + draws - k))  # of u unknown ones
        seen = law[:, k : k + rest + 1]  # outputs × u
        baseline[k] = float(chance @ share)
        output = seen @ chance
        answers = np.divide(seen @ (chance * share), output, out=np.zeros_like(output), where=output > 0)
        answers = np.clip(answers, 0.0, 1.0)
        information += float(known[k]) * (float(binary_entropy(baseline[k])) - float(output @ binary_entropy(answers)))
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(answers > 0, np.log(answers) - math.log(baseline[k]), 0.0)
            down = np.where(answers < 1, np.log1p(-answers) - math.log1p(-baseline[k]), 0.0)
        divergence += float(known[k]) * float(output @ (answers * up + (1.0 - answers) * down))
        # for the data set with t ones: k of them known with hypergeometric probability
        ones = k + unknown
        among = np.exp(
            gammaln(draws + 1) - gammaln(k + 1) - gammaln(draws - k + 1)
            + gammaln(rest + 1) - gammaln(unknown + 1) - gammaln(rest - unknown + 1)
            - (gammaln(total + 1) - gammaln(ones + 1) - gammaln(total - ones + 1))
        )  # fmt: skip
        gaps[ones] += among * (share * (up @ seen) + (1.0 - share) * (down @ seen))
    return LogLossToy(counts.astype(np.float64), prior, gaps, divergence, information, baseline)


def coarse_count_channel(records: int, width: int) -> FloatArray:
    """Return the channel that releases the count rounded down to a multiple of ``width`` (V12)."""
    total = check_records(records)
    if width < 1:
        raise ParameterError(f"The rounding width must be at least 1; it is {width}.", field="width")
    counts = np.arange(total + 1)
    out = np.zeros((total // width + 1, total + 1))
    out[counts // width, counts] = 1.0
    return out


def fixed_query_information(channel: ArrayLike, prior: ArrayLike) -> float:
    """Return the largest mutual information of any yes/no query of a record with the output (Thm 2.7, erratum E9).

    Goes through all queries, so at most 12 input values.
    """
    law = checked_channel(channel)
    given = np.asarray(prior, dtype=np.float64)
    values = law.shape[1]
    if values > 12:
        raise ParameterError(f"At most 12 values can be gone through; there are {values}.")
    best = 0.0
    for code in range(1, 2 ** (values - 1)):
        yes = np.array([(code >> place) & 1 for place in range(values)], dtype=bool)
        weight, rest = float(given[yes].sum()), float(given[~yes].sum())
        if weight > 0.0 and rest > 0.0:
            pair = np.stack([law[:, yes] @ given[yes] / weight, law[:, ~yes] @ given[~yes] / rest], axis=1)
            best = max(best, mutual_information(pair, np.array([weight, rest])))
    return best


# --- Thm 2.5 -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrivateYetPredictable:
    """First half of Thm 2.5: an ε-DP release that an adversary reads the others' rate from.

    Attributes
    ----------
    records : int
        N; half of them, all with answer 1, are known.
    epsilon : float
        1/√N in the theorem.
    scale : float
        Laplace scale 1/(Nε) of the released rate (corrected, erratum E11).
    unknown_rate : float
        p_U.
    noise_variance : float
        Variance 8/(Nε)² of the adversary's estimate; 8/N in the theorem.
    bound : float
        γ >= (1/2 - p_U)² - 8/(Nε)², at least 0.
    """

    records: int
    epsilon: float
    scale: float
    unknown_rate: float
    noise_variance: float
    bound: float


def private_yet_predictable(
    records: int, unknown_rate: float = 0.0, epsilon: float | None = None
) -> PrivateYetPredictable:
    """Return the numbers of Thm 2.5(i); positive only for N > 32 at its own ε.

    Parameters
    ----------
    records : int
        N.
    unknown_rate : float
        p_U in [0, 1].
    epsilon : float, optional
        1/√N if left out, as in the theorem.

    Examples
    --------
    >>> round(private_yet_predictable(100).bound, 12), private_yet_predictable(32).bound
    (0.17, 0.0)
    """
    total = check_records(records)
    rate = _check_rate(unknown_rate)
    level = total**-0.5 if epsilon is None else check_positive(epsilon, "The privacy loss ε", "epsilon")
    variance = 8.0 / total if epsilon is None else 8.0 / (total * level) ** 2
    return PrivateYetPredictable(
        total, level, 1.0 / (total * level), rate, variance, max((0.5 - rate) ** 2 - variance, 0.0)
    )


def simulate_private_yet_predictable(
    records: int, trials: int, rng: np.random.Generator, unknown_rate: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Draw the adversary's estimates 2A - 1 of p_U, and its gain over the answer 1/2 (R2).

    Returns
    -------
    estimates, gains : (trials,) float arrays
        The mean of ``gains`` estimates (1/2 - p_U)² - 8/N.
    """
    case = private_yet_predictable(records, unknown_rate)
    released = 0.5 + 0.5 * case.unknown_rate + LaplaceNoise(case.scale).sample(trials, rng)
    estimates = 2.0 * released - 1.0
    return estimates, (0.5 - case.unknown_rate) ** 2 - np.square(estimates - case.unknown_rate)


def laplace_scale(records: int, epsilon: float, form: Form = "corrected") -> float:
    """Return the Laplace scale for a rate: sensitivity over ε, 1/(Nε); printed as ε/N (erratum E11).

    The printed scale makes the release 1/ε-DP: ``1 / (records * scale)`` is the true privacy loss.
    """
    total, level = check_records(records), check_positive(epsilon, "The privacy loss ε", "epsilon")
    return level / total if form == "printed" else 1.0 / (total * level)


def exact_mean_predictability(
    records: int, rate: float, compromised_fraction: float | None = None, draws: int | None = None
) -> float:
    """Return γ of the exact mean of bits under squared loss: E(p_C - p_U)², no noise (Thm 2.5(ii), erratum E11b).

    Parameters
    ----------
    records : int
        N.
    rate : float
        p, the share of ones.
    compromised_fraction : float, optional
        α of a random shard: p(1-p)/(α(1-α)(N-1)), exact.
    draws : int, optional
        n draws with replacement instead; the number m of unknown people is taken at its mean N(1-1/N)^n, so the value
        p(1-p)[1/n + (1/m - 1/N) N/(N-1) + 2/(N-1)] is accurate rather than exact.

    Examples
    --------
    >>> round(exact_mean_predictability(100, 0.5, 0.5), 10), round(exact_mean_predictability(10, 0.4, 0.5), 5)
    (0.0101010101, 0.10667)
    """
    total = check_records(records)
    spread = _check_rate(rate) * (1.0 - rate)
    if (compromised_fraction is None) == (draws is None):
        raise ParameterError("Give either the compromised fraction α of a shard or the number n of draws.")
    if compromised_fraction is not None:
        fraction = check_fraction(compromised_fraction)
        return spread / (fraction * (1.0 - fraction) * (total - 1))
    size = int(draws or 0)
    if size < 1:
        raise ParameterError(f"The number of draws n must be at least 1; it is {size}.", field="draws")
    unknown = total * (1.0 - 1.0 / total) ** size
    return spread * (1.0 / size + (1.0 / unknown - 1.0 / total) * total / (total - 1) + 2.0 / (total - 1))


@dataclass(frozen=True)
class EmptyCore:
    """An attacker without any records (after Thm 2.5): a DP rate still informs.

    Attributes
    ----------
    prior_variance : float
        Variance of the rate under a uniform count, (N+2)/(12N).
    gain : float
        Exact drop of the expected squared loss, the variance of the posterior mean.
    lower_bound : float
        ``prior_variance`` minus the noise variance 2b².
    """

    prior_variance: float
    gain: float
    lower_bound: float


def empty_core(records: int, epsilon: float | None = None) -> EmptyCore:
    """Return what an ε-DP rate tells somebody who knows nothing (derived; spec 2.2 (iii)).

    Uniform prior on the count, Laplace noise of scale 1/(Nε); exact by quadrature between the possible counts.

    Parameters
    ----------
    records : int
        N.
    epsilon : float, optional
        1/√N if left out.

    Examples
    --------
    >>> case = empty_core(100)
    >>> round(case.prior_variance, 3), round(case.gain, 5), round(case.lower_bound, 3)
    (0.085, 0.0708, 0.065)
    """
    total = check_records(records)
    level = total**-0.5 if epsilon is None else check_positive(epsilon, "The privacy loss ε", "epsilon")
    counts = np.arange(total + 1.0)
    nodes, masses = np.polynomial.legendre.leggauss(24)
    # between the counts j and j+1, with the count as unit of length and noise density (ε/2) exp(-ε|x|)
    x = (counts[:-1, None] + 0.5 * (nodes + 1.0)).ravel()
    width = np.tile(0.5 * masses, total)
    below = np.minimum(np.floor(x).astype(np.int64), total - 1)
    left = np.exp(-level * (x - below))  # times Σ_{t <= j} exp(-ε(j - t))
    right = np.exp(-level * (below + 1.0 - x))
    decay = math.exp(-level)
    ones_left, ones_right = np.zeros(total + 1), np.zeros(total + 1)
    sums_left, sums_right = np.zeros(total + 1), np.zeros(total + 1)
    mass = weighted = 0.0
    for j in range(total + 1):
        mass, weighted = mass * decay + 1.0, weighted * decay + j
        ones_left[j], sums_left[j] = mass, weighted
    mass = weighted = 0.0
    for j in range(total, -1, -1):
        mass, weighted = mass * decay + 1.0, weighted * decay + j
        ones_right[j], sums_right[j] = mass, weighted
    density = left * ones_left[below] + right * ones_right[below + 1]
    moment = left * sums_left[below] + right * sums_right[below + 1]
    second = 0.5 * level * float(width @ (moment**2 / density))
    # beyond the ends the posterior no longer changes
    for ones, sums in ((ones_right[0], sums_right[0]), (ones_left[total], sums_left[total])):
        second += 0.5 * sums**2 / ones
    mean_square = second / (total + 1) / total**2
    prior = (total + 2.0) / (12.0 * total)
    noise = LaplaceNoise(1.0 / (total * level))
    return EmptyCore(prior, float(mean_square) - 0.25, prior - noise.variance)


# --- worst case, smokers, non-Gaussian noise -----------------------------------------------------------------


def rate_log_ratio(records: int, epsilon: float, released: ArrayLike, count: int) -> FloatArray:
    """Return the log density ratio of a Laplace rate between two neighbouring tables (Def A.2): at most ε."""
    noise = LaplaceNoise(laplace_scale(records, epsilon))
    value = np.asarray(released, dtype=np.float64)
    return np.asarray(noise.log_density(value - count / records) - noise.log_density(value - (count + 1) / records))


@dataclass(frozen=True, eq=False)
class RatePosterior:
    """What is believed about the rate among the unknown people (smokers, V7).

    Attributes
    ----------
    rates : (m + 1,) float array
        Possible rates u/m.
    before, after : (m + 1,) float arrays
        Probabilities without and with the release.
    implied_rate : float
        (released - α p_C)/(1 - α), the rate that the release implies without noise.
    """

    rates: FloatArray
    before: FloatArray
    after: FloatArray
    implied_rate: float

    @property
    def mean_before(self) -> float:
        """Answer without the release."""
        return float(self.rates @ self.before)

    @property
    def mean_after(self) -> float:
        """Answer with the release."""
        return float(self.rates @ self.after)


def rate_posterior(
    records: int,
    known: int,
    known_ones: int,
    released_rate: float,
    noise: NoiseDensity | None = None,
    prior: Literal["exchangeable", "flat"] = "exchangeable",
) -> RatePosterior:
    """Return beliefs about the rate among N - n unknown people before and after a noisy rate is released.

    Parameters
    ----------
    records, known, known_ones : int
        N, n and the ones among the known people.
    released_rate : float
        The published rate of all N people.
    noise : noise with a density, optional
        Its law; without noise the nearest possible rate is certain.
    prior : {"exchangeable", "flat"}
        Every count of all N equally likely, so that the known people already tell about the others; or every count of
        the unknown people equally likely, whatever is known (an adversary chose whom to hold).

    Examples
    --------
    >>> from privexplorer.privacy import LaplaceNoise
    >>> view = rate_posterior(1000, 300, 30, 0.3, LaplaceNoise(0.001), prior="flat")
    >>> round(view.implied_rate, 4), round(view.mean_after, 4)
    (0.3857, 0.3857)
    """
    total = check_records(records)
    if not (0 <= known_ones <= known < total):
        raise ParameterError(
            f"Of {total:,} people at most {total - 1:,} can be known, and at most as many can have answer 1; given are "
            f"{known:,} and {known_ones:,}.",
            field="known",
        )
    rest = total - known
    unknown = np.arange(rest + 1)
    if prior == "flat":
        log_before = np.full(rest + 1, -math.log(rest + 1))
    else:
        log_before = _log_beta_binomial(rest, 1.0 + known_ones, 1.0 + known - known_ones)
    gap = released_rate - (known_ones + unknown) / total
    if noise is None:
        log_after = np.where(np.abs(gap) <= np.abs(gap).min() + 1e-12, log_before, -np.inf)
    else:
        log_after = log_before + noise.log_density(gap)
    after = np.exp(log_after - logsumexp(log_after))
    implied = (released_rate * total - known_ones) / rest
    return RatePosterior(unknown / rest, np.exp(log_before), after, float(implied))


def bayes_against_linear(noise_share: float) -> tuple[float, float]:
    """Return the mean squared errors of Bayes and of the best linear guess of N(0, 1) seen through Laplace noise.

    Parameters
    ----------
    noise_share : float
        Variance of the noise over that of the signal.

    Returns
    -------
    bayes, linear : float
        The first is smaller: Gaussian formulas are no upper bound on leakage under Laplace noise (erratum E15).

    Examples
    --------
    >>> bayes, linear = bayes_against_linear(1.0)
    >>> round(bayes, 4), linear
    (0.4792, 0.5)
    """
    ratio = check_positive(noise_share, "The variance of the noise", "noise_share")
    b = math.sqrt(0.5 * ratio)
    # y = x + noise: density and posterior moments in closed form through scaled error functions
    reach = 9.0 + 40.0 * b
    # the integrand is smooth and vanishes at both ends, so equal steps are as good as any rule
    y, step = np.linspace(-reach, reach, 20_001, retstep=True)
    plus, minus = _half_normal_parts(y, b)
    density = plus[0] + minus[0]
    explained = float(((plus[1] + minus[1]) ** 2 / density).sum() * step)
    return 1.0 - explained, ratio / (1.0 + ratio)


def _half_normal_parts(y: FloatArray, b: float) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return mass and first moment of φ(x) Lap(y - x) over x <= y and over x >= y."""
    out = []
    for sign in (1.0, -1.0):
        # on x <= y the factor is exp(-(y - x)/b)/(2b): a normal law with mean 1/b, cut at y; mirrored for x >= y
        at = sign * y
        centre = 1.0 / b
        log_mass = 0.5 * centre**2 - at / b - math.log(2.0 * b) + log_ndtr(at - centre)
        mass = np.exp(log_mass)
        log_tail = 0.5 * centre**2 - at / b - math.log(2.0 * b) - 0.5 * (at - centre) ** 2
        tail = np.exp(log_tail) / math.sqrt(2.0 * math.pi)
        out.append((mass, sign * (centre * mass - tail)))
    return out[0], out[1]


def bayes_against_gmm(draws: int, compromised_fraction: float, rate: float = 0.3) -> tuple[float, float]:
    """Return exact squared-loss gains from the exact mean of bits: of a Bayesian and of the large-sample attacker.

    Random shard of n known bits, N = n/α people, p as near to ``rate`` as N allows. The Bayesian starts from a uniform
    law of the count and answers (k+1)/(n+2); the other answers k/n. With the exact mean both then know p_U. Their gains
    differ by o(1/n) (Thm 3.3): n times the difference goes to 0.

    Returns
    -------
    bayes, gmm : float
        Mean of (answer - p_U)² over shards.
    """
    fraction = check_fraction(compromised_fraction)
    total = round(draws / fraction)
    if not 1 <= draws < total:
        raise ParameterError(
            f"At least 1 bit must be known and 1 unknown; {draws} known bits at a compromised fraction of {fraction:g} "
            f"are {draws} of N = {total}.",
            field="draws",
        )
    ones = round(check_level(rate, "The rate", "rate") * total)
    rest = total - draws
    k = np.arange(max(0, ones - rest), min(draws, ones) + 1, dtype=np.float64)

    def choose(size: int, chosen: FloatArray) -> FloatArray:
        return np.asarray(gammaln(size + 1) - gammaln(chosen + 1) - gammaln(size - chosen + 1))

    chance = np.exp(choose(draws, k) + choose(rest, ones - k) - choose(total, np.asarray(float(ones))))
    truth = (ones - k) / rest
    bayes = float(chance @ ((k + 1.0) / (draws + 2.0) - truth) ** 2)
    return bayes, float(chance @ (k / draws - truth) ** 2)


def _check_rate(rate: float) -> float:
    value = float(rate)
    if not 0.0 <= value <= 1.0:
        raise ParameterError(f"A rate must lie between 0 and 1; it is {value:g}.", field="rate")
    return value


__all__ = [
    "EmptyCore",
    "LogLossToy",
    "PrivateYetPredictable",
    "RatePosterior",
    "bayes_against_gmm",
    "bayes_against_linear",
    "belief_shift",
    "binary_entropy",
    "coarse_count_channel",
    "empty_core",
    "exact_mean_predictability",
    "fixed_query_information",
    "laplace_scale",
    "log_loss_toy",
    "mi_dp_from_predictability",
    "mi_dp_level",
    "mi_dp_to_slack",
    "mutual_information",
    "private_yet_predictable",
    "randomised_response_information",
    "rate_log_ratio",
    "rate_posterior",
    "simulate_private_yet_predictable",
]
