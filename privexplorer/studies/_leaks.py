"""Simulated attackers at many compromised fractions at once, the noise integrated exactly.

One order of the people gives nested leaks: the first n of them for every n. Per leak only sums are kept, so that noise,
question and loss may change afterwards without a new draw: a published number λ + Δ enters the attacker's answer
linearly, hence the expected loss over Δ has a closed form (squared loss) or a short quadrature (log loss).

The attacker is that of spec predictability 3.11 with one difference: weights are estimated at the exact λ in place of
the noisy one, which changes answers by a share of order 1/√n (compared with the attacker of 3.11 in
tests/unit/studies/test_predictability_study.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from privexplorer import predictability as pr
from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.simulation import block_rng

ROW_LIMIT = 30
"""Most questions and published numbers together for which attackers are simulated."""
PRODUCT_LIMIT = 40_000_000
"""Most products per leak: beyond it one attack takes too long."""
STEADIED = (
    "The marks of the simulated attacker who estimates its weights are steadied: the same leaks attacked with the best "
    "weights (the oracle), whose mean is known exactly, serve as control variate, which leaves the mean as it is and "
    "makes ± several times smaller. Marks of the oracle itself, where there are any, are drawn without it."
)
"""What a page says where its marks went through :func:`steadied`."""
_RIDGE = 1e-10  # keeps the systems solvable where moments repeat one another


@dataclass(frozen=True, eq=False)
class Leaks:
    """What simulated attacks need.

    Attributes
    ----------
    rows : (1 + K + m, N) float array
        Weights (times N/|G| inside the group and 0 outside, if a group is asked about), so weighted questions about
        their mean, and moments with the plain weights.
    design : (f, N) float array or None
        What the moments' derivative depends on; None where it is the same for every leak.
    release : FittedRelease
        Gives that derivative.
    parameters : (d,) float array
        λ.
    jacobian : (m, d) float array
        J of everybody.
    counts : (points,) int array
        Numbers of leaked records, increasing.
    process : Process
        Draws the largest leak.
    weights : (N,) float array or None
        Importance weights.
    means : (K,) float array
        Means of the questions.
    seed : int
        Of the study.
    block_trials : int
        Attacks per block.
    is_group : bool
        Whether a group is asked about; the last question then stands for the plain weights.
    """

    rows: FloatArray
    design: FloatArray | None
    release: pr.FittedRelease
    parameters: FloatArray
    jacobian: FloatArray
    counts: IntArray
    process: pr.Process
    weights: FloatArray | None
    means: FloatArray
    seed: int
    block_trials: int
    is_group: bool = False

    @property
    def people(self) -> int:
        """N."""
        return int(self.rows.shape[1])

    @property
    def questions(self) -> int:
        """K."""
        return int(self.means.size)

    @property
    def moments(self) -> int:
        """Number of moments m."""
        return int(self.jacobian.shape[0])

    @property
    def numbers(self) -> int:
        """Numbers kept per leak."""
        height = int(self.rows.shape[0])
        return height * (1 + self.moments) + (0 if self.design is None else int(self.jacobian.size))


def leak_counts(fractions: tuple[float, ...], people: int, moments: int, is_shard: bool) -> IntArray:
    """Return the numbers of leaked records that are simulated: enough for the moments, and not everybody."""
    most = people - 1 if is_shard else people
    counts = np.array([round(fraction * people) for fraction in fractions])
    return np.unique(counts[(counts >= max(5, 2 * moments + 3)) & (counts <= most)]).astype(np.int64)


def nearest(counts: IntArray, compromised: float, people: int) -> int:
    """Return which simulated leak is nearest to a compromised fraction."""
    return int(np.argmin(np.abs(np.log(counts / (compromised * people)))))


def work(people: int, rows: int) -> int:
    """Return the number of products of one attack."""
    return people * rows * (rows + 2)


def prepare_leaks(
    table: pr.Table,
    answers: FloatArray,
    summary: pr.MomentSummary,
    fitted: pr.FittedRelease,
    process: pr.Process,
    counts: IntArray,
    seed: int,
    block_trials: int,
    group: BoolArray | None = None,
) -> Leaks:
    """Lay the rows out that simulated leaks sum over.

    Parameters
    ----------
    table : mapping
        All N people.
    answers : (N, K) array
        Everybody's answers.
    summary : MomentSummary
        Of the same questions and release, for this process and group.
    fitted : FittedRelease
        Fitted to the table.
    process : Process
        With as many draws as the largest of ``counts``.
    counts : (points,) int array
        Numbers of leaked records.
    seed, block_trials : int
        Of the study.
    group : (N,) bool array, optional
        Subgroup that the attacker is after.
    """
    people, width, m = answers.shape[0], answers.shape[1], fitted.width
    weights = process.weights
    plain = np.ones(people) if weights is None else weights
    pull = plain if group is None else plain * pr.subgroup_target(group)
    extra = 0 if group is None else 1
    rows = np.empty((1 + width + extra + m, people))
    rows[0] = pull
    rows[1 : 1 + width] = (answers - summary.query_means).T * pull
    if extra:
        rows[1 + width] = plain
    moments = np.empty((people, m))
    fitted.fill(table, moments)
    rows[1 + width + extra :] = (moments - moments.mean(axis=0)).T * plain
    fixed = isinstance(fitted, pr.FittedStatistic)
    return Leaks(
        rows=rows,
        design=None if fixed else np.ascontiguousarray(fitted.design(table).T),
        release=fitted,
        parameters=summary.parameters,
        jacobian=fitted.jacobian,
        counts=counts,
        process=process,
        weights=weights,
        means=np.concatenate([summary.query_means, np.ones(extra)]),
        seed=seed,
        block_trials=block_trials,
        is_group=bool(extra),
    )


def oracle_weights(
    summary: pr.MomentSummary, place: int, covariances: FloatArray, multipliers: FloatArray
) -> FloatArray:
    """Return the weights c (V_g + νJΣJᵀ)⁺ of the whole table for many noises, shape ``(cases, m)``."""
    half = np.einsum("md,pde,ne->pmn", summary.jacobian, covariances, summary.jacobian)
    systems = summary.moment_covariance + multipliers[:, None, None] * half
    return solved(systems, np.broadcast_to(summary.cross_covariance[place], systems.shape[:2]))


def run_leaks(leaks: Leaks, block: int) -> FloatArray:
    """Simulate one block and return sums per leak, shape ``(trials, numbers, points)``; see :func:`unpack`."""
    rng = block_rng(leaks.seed, block)
    trials, most = leaks.block_trials, int(leaks.counts[-1])
    if isinstance(leaks.process, pr.ShardProcess):
        orders = np.stack([rng.permutation(leaks.people)[:most] for _ in range(trials)])
    else:
        orders = leaks.process.sample(trials, rng)[:, :most]
    starts = np.concatenate([[0], leaks.counts[:-1]])
    height, k = leaks.rows.shape[0], leaks.questions
    sums = np.empty((leaks.counts.size, trials, height))
    grams = np.empty((leaks.counts.size, trials, height, height - 1 - k))
    slopes = np.empty((leaks.counts.size, trials, *leaks.jacobian.shape))
    noisy = np.broadcast_to(leaks.parameters, (trials, leaks.parameters.size))
    for point, (start, stop) in enumerate(zip(starts, leaks.counts, strict=True)):
        places = orders[:, start:stop]
        held = np.take(leaks.rows, places, axis=1)  # rows, trials, people
        sums[point] = held.sum(axis=2).T
        for row in range(height):
            for moment in range(height - 1 - k):
                column = 1 + k + moment
                if row > column:
                    grams[point, :, row, moment] = grams[point, :, column, row - 1 - k]
                else:
                    grams[point, :, row, moment] = np.einsum("bn,bn->b", held[row], held[column])
        if leaks.design is not None:
            weights = None if leaks.weights is None else leaks.weights[places]
            found = leaks.release.jacobian_at(np.take(leaks.design, places, axis=1), noisy, weights)
            slopes[point] = found * (stop - start)
    parts = [sums, grams.reshape(*grams.shape[:2], -1)]
    if leaks.design is not None:
        parts.append(slopes.reshape(*slopes.shape[:2], -1))
    total = np.cumsum(np.concatenate(parts, axis=2), axis=0)
    return np.ascontiguousarray(total.transpose(1, 2, 0))


@dataclass(frozen=True, eq=False)
class Attacks:
    """Sums of simulated leaks, one question picked; arrays start with ``(points, trials)``.

    Attributes
    ----------
    counts : (points,) int array
        Leaked records.
    before : (points, trials) float array
        Error of the answer without the release, about everybody.
    moment : (points, trials, m) float array
        Mean moment at λ, divided by the mean weight.
    spread : (points, trials, m, m) float array
        Estimated V_g.
    cross : (points, trials, m) float array
        Estimated c.
    slope : (points, trials, m, d) float array
        Estimated J.
    share : (points, trials) float array
        Mean weight.
    factor : (points, trials) float array
        From errors about everybody to errors about the people left: 1/(1 - α) for a shard (α that of the group, if one
        is asked about), else 1.
    is_shard : bool
        Whether nobody leaks twice.
    mean : float
        Mean of the question.
    """

    counts: IntArray
    before: FloatArray
    moment: FloatArray
    spread: FloatArray
    cross: FloatArray
    slope: FloatArray
    share: FloatArray
    factor: FloatArray
    is_shard: bool
    mean: float


def unpack(leaks: Leaks, sums: FloatArray, question: int) -> Attacks:
    """Turn sums of blocks, shape ``(trials, numbers, points)``, into what one question needs."""
    k, m, d = leaks.questions, leaks.moments, leaks.parameters.size
    height = 1 + k + m
    n = leaks.counts[:, None].astype(np.float64)
    total = sums.transpose(2, 0, 1) / n[:, :, None]
    first, second = total[..., :height], total[..., height : height + height * m]
    grams = second.reshape(*second.shape[:2], height, m)
    share = first[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):  # a leak may hold nobody of a group
        before = first[..., 1 + question] / share
    means = first[..., 1 + k :]
    spread = grams[..., 1 + k :, :] - means[..., :, None] * means[..., None, :]
    cross = grams[..., 1 + question, :] - before[..., None] * grams[..., 0, :]
    if leaks.design is None:
        plain = first[..., k] if leaks.is_group else share
        slope = plain[..., None, None] * leaks.jacobian
    else:
        slope = total[..., height + height * m :].reshape(*total.shape[:2], m, d)
    is_shard = isinstance(leaks.process, pr.ShardProcess)
    factor = 1.0 / (1.0 - share * leaks.counts[:, None] / leaks.people) if is_shard else np.ones(share.shape)
    return Attacks(
        leaks.counts, before, means, spread, cross, slope, share, factor, is_shard, float(leaks.means[question])
    )


def loss_drops(
    attacks: Attacks,
    points: IntArray,
    covariances: FloatArray,
    multipliers: FloatArray,
    loss: Literal["squared", "log"] = "squared",
    oracle: FloatArray | None = None,
    tau: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return how much each attacker's expected loss drops, noise averaged out, and both mean squared errors.

    Parameters
    ----------
    attacks : Attacks
        Of one question.
    points : (cases,) int array
        Which leak each case looks at.
    covariances : (cases, d, d) array
        Noise Σ of each case.
    multipliers : (cases,) array
        ν that the attacker reckons with.
    loss : {"squared", "log"}
        The attacker's loss; answers under log loss are clipped to [τ, 1-τ], see :func:`clip_level`.
    oracle : (cases, m) array, optional
        Weights of the whole table; estimated from the leak if left out.
    tau : float, optional
        Clipping level of log loss; :func:`clip_level` if left out.

    Returns
    -------
    (cases, trials) array
        Drops of the loss.
    (2, cases, trials) array
        Squared errors before, and after in expectation over the noise.
    """
    cross, slope = attacks.cross[points], attacks.slope[points]
    share, factor = attacks.share[points], attacks.factor[points]
    if oracle is None:
        hidden = np.einsum("ptij,pjk,ptlk->ptil", slope, covariances, slope)
        system = attacks.spread[points] + multipliers[:, None, None, None] * hidden
        pull = solved(system, cross)
    else:
        pull = np.broadcast_to(oracle[:, None, :], cross.shape)
    before = attacks.before[points]
    with np.errstate(divide="ignore", invalid="ignore"):
        after = before - np.einsum("ptm,ptm->pt", pull, attacks.moment[points]) / share
        pushed = np.einsum("ptm,ptmd->ptd", pull, slope) / share[..., None]
    noise = np.maximum(np.einsum("ptd,pde,pte->pt", pushed, covariances, pushed), 0.0)
    first, second = before * factor, after * factor
    errors = np.stack([np.square(first), np.square(second) + noise * np.square(factor)])
    if loss == "squared":
        return np.asarray(errors[0] - errors[1]), errors
    p = attacks.mean
    level = clip_level(p) if tau is None else tau
    # the truth about the people left moves with the leak: answers and truth of one attack share the known part
    truth = np.clip(p - before * (factor - 1.0), 0.0, 1.0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    spreads = np.sqrt(noise) * factor
    answers = truth + second + nodes[:, None, None] * spreads
    lost = np.einsum(
        "q,qpt->pt", weights / weights.sum(), pr.expected_loss("log", np.clip(answers, level, 1 - level), truth)
    )
    start = pr.expected_loss("log", np.clip(truth + first, level, 1 - level), truth)
    return np.asarray(start - lost), errors


def clip_level(mean: float) -> float:
    """Return τ for log loss: half of min(p, 1-p), so that the truth and what is near it lie inside (erratum E8).

    Examples
    --------
    >>> clip_level(0.75)
    0.125
    """
    return 0.5 * min(mean, 1.0 - mean)


def steadied(
    drops: FloatArray,
    attacks: Attacks,
    points: IntArray,
    summary: pr.MomentSummary,
    place: int,
    oracle: FloatArray,
    scale: float = 1.0,
) -> FloatArray:
    """Take from simulated drops the part whose mean is known exactly, and put that mean back.

    With fixed weights a and the linear answers u (question) and v (moments), 2u a·v - (a·v)² follows the drop closely;
    its mean needs second moments of the table only: f (2 a·c - aᵀV_g a)/n, f = (N-n)/(N-1) for a shard, else 1. The
    mean stays as it was, its standard error becomes several times smaller (derived, checked in
    tests/unit/studies/test_predictability_study.py). Not for the oracle: of its own drops nothing random would stay.

    Parameters
    ----------
    drops : (cases, trials) array
        From :func:`loss_drops`.
    summary : MomentSummary
        Of the same question (``place``) and release.
    oracle : (cases, m) array
        a.
    scale : float
        What the drop is multiplied by: 1/(2p(1-p)) under log loss.
    """
    n = attacks.counts[points].astype(np.float64)
    people = summary.records
    factor = 1.0 / (1.0 - n / people) if attacks.is_shard else np.ones(n.shape)
    linear = np.nan_to_num(attacks.before[points]) * attacks.share[points]
    pushed = np.einsum("pm,ptm->pt", oracle, attacks.moment[points])
    follower = 2.0 * linear * pushed - np.square(pushed)
    known = 2.0 * np.einsum("pm,m->p", oracle, summary.cross_covariance[place])
    known = known - np.einsum("pm,mk,pk->p", oracle, summary.moment_covariance, oracle)
    known = known * ((people - n) / (people - 1.0) if attacks.is_shard else 1.0) / n
    return np.asarray(drops - scale * (np.square(factor) * (follower - known[:, None]).T).T)


def solved(systems: FloatArray, right: FloatArray) -> FloatArray:
    """Solve many small symmetric systems after scaling to unit diagonal."""
    size = np.sqrt(np.maximum(np.diagonal(systems, axis1=-2, axis2=-1), 0.0))
    size = np.where(size == 0.0, 1.0, size)
    scaled = systems / (size[..., :, None] * size[..., None, :])
    scaled = scaled + _RIDGE * np.eye(systems.shape[-1])
    if systems.shape[-1] == 1:
        return np.asarray(right / size / scaled[..., 0] / size)
    return np.asarray(np.linalg.solve(scaled, (right / size)[..., None])[..., 0] / size)


@lru_cache(maxsize=4)
def _resamples(trials: int, count: int) -> FloatArray:
    rng = np.random.default_rng([trials, count])
    return np.asarray(rng.multinomial(trials, np.full(trials, 1.0 / trials), size=count) / trials)


def bootstrap(drops: FloatArray, resamples: int = 300) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return mean, standard error and a 95 % bootstrap interval of each row; the same resamples for all rows."""
    trials = drops.shape[1]
    mean = drops.mean(axis=1)
    error = drops.std(axis=1, ddof=1) / np.sqrt(trials) if trials > 1 else np.full(mean.shape, np.inf)
    means = np.einsum("rt,pt->rp", _resamples(trials, resamples), drops)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return mean, error, low, high


__all__ = [
    "PRODUCT_LIMIT",
    "ROW_LIMIT",
    "STEADIED",
    "Attacks",
    "Leaks",
    "bootstrap",
    "clip_level",
    "leak_counts",
    "loss_drops",
    "nearest",
    "oracle_weights",
    "prepare_leaks",
    "run_leaks",
    "solved",
    "steadied",
    "unpack",
    "work",
]
