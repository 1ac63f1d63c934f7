"""Second routes for the tests of private property estimation: plain, slow, and free of the package.

Everything here is written from the definitions (tables by mpmath, sensitivities by enumeration, simulation by
one multinomial draw per trial), so that agreement with the package means something. Spec labels: properties,
sections 0 to 11.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import mpmath as mp
import numpy as np
from scipy import optimize, stats

LN2 = math.log(2.0)

# ------------------------------------------------------------------------------------------------ histograms


def compositions(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Yield every ordered histogram of ``n`` records over ``k`` symbols."""
    for bars in itertools.combinations(range(n + k - 1), k - 1):
        edges = (-1, *bars, n + k - 1)
        yield tuple(edges[i + 1] - edges[i] - 1 for i in range(k))


def moves(histogram: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every histogram that differs from this one by a changed record."""
    for source, target in itertools.permutations(range(len(histogram)), 2):
        if histogram[source] > 0:
            moved = list(histogram)
            moved[source] -= 1
            moved[target] += 1
            yield tuple(moved)


def neighbours(n: int, k: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield all ordered pairs of neighbouring histograms (replace one record, Def 1)."""
    for histogram in compositions(n, k):
        for moved in moves(histogram):
            yield histogram, moved


def fingerprint(histogram: Sequence[int] | np.ndarray) -> dict[int, int]:
    """Count symbols by how often they were seen; zeros dropped."""
    values, counts = np.unique(np.asarray(histogram), return_counts=True)
    return {int(v): int(c) for v, c in zip(values, counts, strict=True) if v > 0}


def histogram_of(phi: Mapping[int, int], k: int | None = None) -> np.ndarray:
    """Build one histogram with this fingerprint; padded with zeros to length ``k``."""
    seen = [count for count, symbols in sorted(phi.items()) for _ in range(symbols)]
    return np.array(seen + [0] * ((k or len(seen)) - len(seen)), dtype=np.int64)


# ---------------------------------------------------------------------------------------------------- tables


def statistic(values: Sequence[float], histogram: Sequence[int], constant: float = 0.0) -> float:
    """Evaluate an additive statistic by its definition."""
    return math.fsum(values[count] for count in histogram) + constant


def enumerated_sensitivity(values: Sequence[float], n: int, k: int) -> float:
    """Largest change over all histograms and all moves of one record (Def 2)."""
    return max((abs(statistic(values, x) - statistic(values, y)) for x, y in neighbours(n, k)), default=0.0)


def quadratic_sensitivity(values: np.ndarray, k: int) -> float:
    """Section 1 in quadratic time: all pairs ``(i, j)`` in one difference table."""
    increments = np.diff(values)
    n = len(increments)
    if k == 1 or n == 0:
        return 0.0
    index = np.arange(n)
    total = index[:, None] + index[None, :]
    allowed = total <= n - 1 if k >= 3 else total == n - 1
    return float(np.max(np.abs(increments[:, None] - increments[None, :])[allowed]))


def plug_in_values(n: int) -> np.ndarray:
    """``-(j/n) ln(j/n)``."""
    return np.array([0.0] + [float(-mp.mpf(j) / n * mp.log(mp.mpf(j) / n)) for j in range(1, n + 1)])


def miller_madow_values(n: int) -> tuple[np.ndarray, float]:
    """Return the plug-in table with 1/(2n) for every seen symbol, and the constant -1/(2n)."""
    values = plug_in_values(n)
    values[1:] += 1 / (2 * n)
    return values, -1 / (2 * n)


@cache
def best_polynomial(degree: int) -> tuple[tuple[mp.mpf, ...], mp.mpf]:
    """Best uniform polynomial of ``x ln(1/x)`` on [0, 1]: ascending coefficients and error.

    Alternates a linear solve with one safeguarded Newton step per interior point towards the extremum of the error
    on its side, without looking for sign changes: a second route to the same polynomial. About 40 digits.
    """
    with mp.workdps(60):
        points = [(1 - mp.cos(mp.pi * i / (degree + 1))) / 2 for i in range(degree + 2)]

        def phi(x: mp.mpf) -> mp.mpf:
            return -x * mp.log(x) if x > 0 else mp.mpf(0)

        def solve() -> mp.matrix:
            a = mp.matrix(degree + 2, degree + 2)
            b = mp.matrix(degree + 2, 1)
            for row, x in enumerate(points):
                for column in range(degree + 1):
                    a[row, column] = x**column
                a[row, degree + 1] = (-1) ** row
                b[row] = phi(x)
            return mp.lu_solve(a, b)

        for _ in range(200):
            solution = solve()
            c = [solution[m] for m in range(degree + 1)]
            shift = mp.mpf(0)
            for i in range(1, degree + 1):
                x = points[i]
                first = mp.fsum(m * c[m] * x ** (m - 1) for m in range(1, degree + 1)) + mp.log(x) + 1
                second = mp.fsum(m * (m - 1) * c[m] * x ** (m - 2) for m in range(2, degree + 1)) + 1 / x
                upwards = 1 if solution[degree + 1] * (-1) ** i > 0 else -1
                step = -upwards * first / abs(second)
                low, high = points[i - 1], points[i + 1]
                step = max(min(step, (high - x) / 3), (low - x) / 3)
                points[i] = x + step
                shift = max(shift, abs(step))
            if shift < mp.mpf(10) ** -40:
                break
        else:
            raise RuntimeError(f"no convergence at degree {degree}")
        solution = solve()
        return tuple(solution[m] for m in range(degree + 1)), abs(solution[degree + 1])


def polynomial_parameters(k: int, preset: str) -> tuple[int, float, int]:
    """``(L, M, N)`` of section 4.3."""
    log_k = math.log(k)
    if preset == "private":
        return max(1, math.ceil(1.2 * log_k)), 2.0 * log_k, max(1, math.floor(1.6 * log_k))
    return max(1, math.floor(1.6 * log_k)), 3.5 * log_k, max(1, math.floor(1.6 * log_k))


def polynomial_values(n: int, degree: int, interval: float, cutoff: int, top: int | None = None) -> np.ndarray:
    """Section 4.3, step 3, in 50-digit arithmetic; entries ``0..top`` (default ``n``)."""
    a, _ = best_polynomial(degree)
    with mp.workdps(50):
        m_end = mp.mpf(interval)
        out = []
        for j in range((n if top is None else min(top, n)) + 1):
            if j <= cutoff:
                inner, falling = mp.mpf(0), mp.mpf(1)
                for m in range(min(degree, j) + 1):
                    inner += a[m] * falling / m_end**m
                    falling *= j - m
                out.append((m_end * inner + j * mp.log(n / m_end)) / n)
            else:
                out.append(-mp.mpf(j) / n * mp.log(mp.mpf(j) / n) + mp.mpf(1) / (2 * n))
        return np.array([float(value) for value in out])


def smoothing_rate(n: int, t: float) -> float:
    """Experimental ``r`` of section 5, with ``max(t, 1.001)``."""
    t = max(t, 1.001)
    return math.log(n * (t + 1) ** 2 / (t - 1)) / (2 * t)


def sgt_values(size: int, t: float, rate: float | None) -> np.ndarray:
    """Return ``g(0) = 0, g(i) = 1 - (-t)^i Pr(Poi(r) >= i)`` for ``i <= size``; ``rate=None`` is Good-Toulmin."""
    with mp.workdps(40):
        out = [0.0]
        for i in range(1, size + 1):
            tail = mp.mpf(1) if rate is None else mp.gammainc(i, 0, mp.mpf(rate), regularized=True)
            out.append(float(1 - (-mp.mpf(t)) ** i * tail))
        return np.array(out)


def binomial_sgt_values(size: int, t: float, trials: int, q: float) -> np.ndarray:
    """Smoothing by ``Bin(trials, q)``: tail summed term by term."""
    out = [0.0]
    for i in range(1, size + 1):
        tail = math.fsum(math.comb(trials, z) * q**z * (1 - q) ** (trials - z) for z in range(i, trials + 1))
        out.append(1 - (-t) ** i * tail)
    return np.array(out)


def dense_values(n: int, k: int) -> np.ndarray:
    """``min(1, 3kj/n)``."""
    return np.array([min(1.0, 3 * k * j / n) for j in range(n + 1)])


# ----------------------------------------------------------------------------------- properties of a distribution


def entropy(p: np.ndarray) -> float:
    """Shannon entropy in nats."""
    p = np.asarray(p, dtype=float)
    p = p[p > 0]
    return float(-math.fsum(p * np.log(p)))


def coverage(p: np.ndarray, m: float) -> float:
    """Return ``S_m`` summed in 40 digits."""
    with mp.workdps(40):
        return float(mp.fsum(1 - (1 - mp.mpf(float(x))) ** m for x in p))


def exact_mean(values: np.ndarray, n: int, p: np.ndarray, constant: float = 0.0) -> float:
    """Section 1: binomial mixture of table entries, scipy's probabilities."""
    j = np.arange(n + 1)
    total = 0.0
    distinct, multiplicity = np.unique(p, return_counts=True)
    for x, times in zip(distinct, multiplicity, strict=True):
        total += times * math.fsum(stats.binom.pmf(j, n, x) * values)
    return total + constant


def exact_uniform_moments(values: np.ndarray, n: int, k: int, constant: float = 0.0) -> tuple[float, float]:
    """Mean and variance of an additive statistic under the uniform distribution, from the law of two counts."""
    j = np.arange(n + 1)
    one = stats.binom.pmf(j, n, 1 / k)
    mean_one = float(np.sum(one * values))
    mean_square = float(np.sum(one * values**2))
    cross = 0.0
    for first in range(n + 1):
        if one[first] > 1e-18:
            rest = stats.binom.pmf(np.arange(n - first + 1), n - first, 1 / (k - 1))
            cross += one[first] * values[first] * float(np.sum(rest * values[: n - first + 1]))
    mean = k * mean_one
    variance = k * mean_square + k * (k - 1) * cross - mean**2
    return mean + constant, variance


# -------------------------------------------------------------------------------------------------- distributions


def zipf(k: int, exponent: float) -> np.ndarray:
    """``p_i`` proportional to ``i^-exponent``."""
    weights = np.arange(1, k + 1, dtype=float) ** -exponent
    return weights / weights.sum()


def two_step(k: int) -> np.ndarray:
    """Half of the symbols with weight one, the others with weight three."""
    weights = np.ones(k)
    weights[k // 2 :] = 3.0
    return weights / weights.sum()


# ----------------------------------------------------------------------------------------------------- simulation


def simulate(
    p: np.ndarray, n: int, trials: int, statistics: Sequence[Callable[[np.ndarray], float]], seed: int
) -> np.ndarray:
    """One multinomial draw per trial and one call per statistic: ``(trials, statistics)``."""
    rng = np.random.default_rng(seed)
    out = np.empty((trials, len(statistics)))
    for trial in range(trials):
        counts = rng.multinomial(n, p)
        out[trial] = [f(counts) for f in statistics]
    return out


def rmse_with_error(errors: np.ndarray, noise_variance: float = 0.0) -> tuple[float, float]:
    """Root mean squared error with noise integrated exactly, and its standard error by the delta method."""
    squares = np.asarray(errors) ** 2
    value = math.sqrt(float(np.mean(squares)) + noise_variance)
    return value, float(np.std(squares, ddof=1)) / math.sqrt(len(squares)) / (2 * value)


def binomial_median_failure(blocks: int, failure: float) -> float:
    """Probability that at least half of the blocks fail, so that the median may."""
    need = (blocks + 1) // 2 if blocks % 2 else blocks // 2
    return float(stats.binom.sf(need - 1, blocks, failure))


def fixed_point(step: Callable[[float], float]) -> float:
    """Solve ``n = step(n)`` by bracketing, not by iteration."""
    return float(optimize.brentq(lambda n: step(n) - n, 1.0, 1e12, xtol=1e-9, rtol=1e-14))
