"""The simulated attacker: what somebody really gains who estimates everything from the leaked records (spec 3.11, 7).

Each attack draws the core knowledge C and the noisy release, answers once from C alone and once with the release, and
is compared with the truth. The *feasible* attacker estimates its weights from C; the *oracle* uses those of the whole
table, as the theory does. All attacks of a call are worked out together; a study cuts them into blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination
from privexplorer.predictability._checks import check_group, check_level, check_same_rows, check_tau
from privexplorer.predictability.attackers import ChainProcess, Process, Target
from privexplorer.predictability.bounds import Loss, NoiseScale, Predictability, expected_loss
from privexplorer.predictability.moments import subgroup_target
from privexplorer.predictability.noise import NoiseLaw
from privexplorer.predictability.releases import FittedRelease
from privexplorer.predictability.spectrum import noise_root
from privexplorer.predictability.summary import MomentSummary
from privexplorer.predictability.tables import Table, row_count

BLOCK_VALUES = 400_000
"""Numbers gathered at a time: the attacks of a call are worked out in steps of about this size."""

DRAWN_PLACES = 2_000_000
"""Places drawn at a time (a chain walks all its paths together)."""

_CUT = 1e-10  # eigenvalues of a scaled covariance below this share of the largest count as 0


@dataclass(frozen=True, eq=False)
class AttackDraws:
    """Answers of simulated attackers; arrays of shape ``(trials, queries)``.

    Attributes
    ----------
    truth : float array
        What the attacker is after: the mean over the unknown people (or over everybody).
    before : float array
        Answer from the core knowledge alone.
    feasible : float array
        Answer with the release, weights estimated from the core knowledge.
    oracle : float array
        Answer with the release and the weights of the whole table; not a number where no theory applies.
    draws : int
        n.
    """

    truth: FloatArray
    before: FloatArray
    feasible: FloatArray
    oracle: FloatArray
    draws: int

    @property
    def trials(self) -> int:
        """Number of attacks."""
        return int(self.truth.shape[0])

    def joined(self, *others: AttackDraws) -> AttackDraws:
        """Return these attacks followed by those of further blocks."""
        parts = (self, *others)
        return AttackDraws(
            np.concatenate([part.truth for part in parts]),
            np.concatenate([part.before for part in parts]),
            np.concatenate([part.feasible for part in parts]),
            np.concatenate([part.oracle for part in parts]),
            self.draws,
        )

    def loss_gaps(self, loss: Loss = "squared", tau: float | None = None, who: str = "feasible") -> FloatArray:
        """Return how much the expected loss drops in each attack, shape ``(trials, queries)``.

        Parameters
        ----------
        loss : {"squared", "log"}
            Which loss; answers under log loss are clipped to [τ, 1-τ] (erratum E8).
        tau : float, optional
            Needed for log loss.
        who : {"feasible", "oracle"}
            Which attacker.
        """
        after = self.feasible if who == "feasible" else self.oracle
        if loss == "squared":
            return np.asarray((self.before - self.truth) ** 2 - (after - self.truth) ** 2)
        if tau is None:
            raise ParameterError("Log loss needs a clipping level τ for the answers.", field="tau")
        level = check_tau(tau)
        first, second = (np.clip(answer, level, 1.0 - level) for answer in (self.before, after))
        return expected_loss("log", first, self.truth) - expected_loss("log", second, self.truth)


@dataclass(frozen=True, eq=False)
class PreparedAttack:
    """Everything about a table that simulated attacks need; make one with :func:`prepare_attack`.

    ``answers`` has shape ``(queries, N)``, ``design`` ``(f, N)``: people last, so that sums run along memory.
    """

    answers: FloatArray
    design: FloatArray
    parameters: FloatArray
    release: FittedRelease
    process: Process
    noise: NoiseLaw
    noise_root: FloatArray
    noise_multiplier: float
    target: Target
    weights: FloatArray | None
    group: BoolArray | None
    ratios: FloatArray
    oracle_weights: FloatArray | None

    @property
    def step(self) -> int:
        """Attacks worked out at a time; part of the method, not of the machine."""
        width = len(self.answers) + len(self.design) + self.release.width
        return max(1, BLOCK_VALUES // (self.process.draws * width))

    def run(
        self,
        trials: int,
        rng: np.random.Generator,
        noise_rng: np.random.Generator | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> AttackDraws:
        """Simulate attacks.

        Parameters
        ----------
        trials : int
            How many, at least 1.
        rng : numpy.random.Generator
            Draws the core knowledge (and the noise, if ``noise_rng`` is left out).
        noise_rng : numpy.random.Generator, optional
            Draws the noise.
        progress : callable, optional
            Called with (done, all) between steps; may raise to cancel.

        Returns
        -------
        AttackDraws
        """
        if trials < 1:
            raise ParameterError(f"At least 1 attack is needed; the number is {trials}.", field="trials")
        noisy = self.parameters + self.noise.sample(trials, noise_rng if noise_rng is not None else rng)
        out = np.empty((4, trials, len(self.answers)))
        group = max(self.step, DRAWN_PLACES // self.process.draws)
        for first in range(0, trials, group):
            places = self.process.sample(min(group, trials - first), rng)
            for start in range(0, len(places), self.step):
                some = places[start : start + self.step]
                here = slice(first + start, first + start + len(some))
                out[:, here] = self._attack(some, noisy[here])
                if progress is not None:
                    progress(here.stop, trials)
        return AttackDraws(out[0], out[1], out[2], out[3], self.process.draws)

    def _attack(self, places: IntArray, noisy: FloatArray) -> FloatArray:
        """Return truth and the three answers, shape ``(4, attacks, queries)``."""
        asked = np.take(self.answers, places, axis=1)  # queries, attacks, people; contiguous, unlike plain indexing
        held = np.take(self.design, places, axis=1)
        weights = None if self.weights is None else self.weights[places]
        pull = weights
        if self.group is not None:
            inside = self.ratios[places]
            pull = inside if weights is None else weights * inside
        known = asked.sum(axis=2) if self.group is None else (asked * self.group[places]).sum(axis=2)
        # answers without the release, and the columns q' and g' of the two estimating equations
        share = np.ones(places.shape[0]) if pull is None else pull.mean(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            before = asked.mean(axis=2) if pull is None else (asked * pull).mean(axis=2) / share
        asked -= before[:, :, None]
        if pull is not None:
            asked *= pull
        moving = self.release.moments_at(held, noisy)
        if weights is not None:
            moving *= weights
        mean = moving.mean(axis=2)
        moving -= mean[:, :, None]
        spread, cross = self._covariances(moving, asked)
        slope = self.release.jacobian_at(held, noisy, weights)
        half = np.einsum("bmd,kd->bmk", slope, self.noise_root)
        hidden = self.noise_multiplier * np.einsum("bik,bjk->bij", half, half)
        with np.errstate(divide="ignore", invalid="ignore"):
            pushed = np.einsum("bkm,bm->kb", cross, _solved(spread + hidden, mean.T)) / share
            feasible = before - pushed
            if self.oracle_weights is None:
                oracle = np.full(before.shape, np.nan)
            else:
                oracle = before - np.einsum("km,mb->kb", self.oracle_weights, mean) / share
        answers = np.stack([before, feasible, oracle])
        whole = (self.answers if self.group is None else self.answers[:, self.group]).sum(axis=1)
        total = float(self.answers.shape[1] if self.group is None else self.group.sum())
        if self.target == "everyone" or self.process.replaces:
            truth = np.broadcast_to((whole / total)[:, None], before.shape)
        else:
            # from answers about everybody to answers about the people outside the core knowledge
            rest = total - (places.shape[1] if self.group is None else self.group[places].sum(axis=1))
            with np.errstate(divide="ignore", invalid="ignore"):
                truth = (whole[:, None] - known) / rest
                answers = (total * answers - known) / rest
        return np.concatenate([truth[None], answers]).transpose(0, 2, 1)

    def _covariances(self, moving: FloatArray, asked: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimate V_g and c from the centred columns; along a chain from means of consecutive batches."""
        count = moving.shape[2]
        if isinstance(self.process, ChainProcess):
            length = max(1, round(count**0.5))
            batches = count // length
            if batches > 2 * moving.shape[0]:
                shape = (moving.shape[1], batches, length)
                moving = moving[:, :, : batches * length].reshape(-1, *shape).sum(axis=3) / length**0.5
                asked = asked[:, :, : batches * length].reshape(-1, *shape).sum(axis=3) / length**0.5
                count = batches
        return _products(moving, moving) / count, _products(asked, moving) / count


def _products(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the sums over people of all products: ``(i, b, n)`` and ``(j, b, n)`` to ``(b, i, j)``."""
    out = np.empty((first.shape[1], first.shape[0], second.shape[0]))
    for row, one in enumerate(first):
        for column, two in enumerate(second):
            if first is second and column < row:
                out[:, row, column] = out[:, column, row]
            else:
                out[:, row, column] = np.einsum("bn,bn->b", one, two)
    return out


def _solved(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Solve many small symmetric systems; directions without variance get 0 (spec 3.2)."""
    scale = np.sqrt(np.maximum(np.diagonal(matrices, axis1=1, axis2=2), 0.0))
    scale = np.where(scale == 0.0, 1.0, scale)
    values, vectors = np.linalg.eigh(matrices / (scale[:, :, None] * scale[:, None, :]))
    keep = values > _CUT * values.max(axis=1, keepdims=True)
    turned = np.einsum("bij,bi->bj", vectors, right / scale)
    turned = np.where(keep, turned / np.where(keep, values, 1.0), 0.0)
    return np.asarray(np.einsum("bij,bj->bi", vectors, turned) / scale)


def prepare_attack(
    table: Table,
    answers: FloatArray,
    release: FittedRelease,
    process: Process,
    noise: NoiseLaw,
    *,
    summary: MomentSummary | None = None,
    noise_scale: NoiseScale = "release",
    target: Target = "unknown",
    group: BoolArray | None = None,
) -> PreparedAttack:
    """Set up simulated attacks on a table in memory.

    Parameters
    ----------
    table : mapping
        All N people.
    answers : (N, queries) array
        Everybody's answers.
    release : FittedRelease
        Fitted to the table.
    process : Process
        How the core knowledge is drawn.
    noise : NoiseLaw
        What the release really adds.
    summary : MomentSummary, optional
        Of these queries and this release for this process; gives the oracle its weights.
    noise_scale : {"release", "paper"}
        How heavily the attacker thinks the noise weighs (erratum E1); ``"release"`` is right.
    target : {"unknown", "everyone"}
        Whose mean is predicted; processes with replacement always predict that of everybody.
    group : (N,) bool array, optional
        Subgroup that the attacker is after.

    Raises
    ------
    UnsupportedCombination
        If no attacker can be simulated for the release or process.
    """
    reason = release.attack_reason() or process.supports("simulation")
    if reason:
        raise UnsupportedCombination(reason)
    records = row_count(table)
    if records != process.records:
        raise DataError(f"The attacker was set up for {process.records:,} people, but the table has {records:,}.")
    asked = np.asarray(answers, dtype=np.float64)
    asked = asked[:, None] if asked.ndim == 1 else asked
    check_same_rows(records, asked.shape[0], "the table", "the query")
    members = None if group is None else check_group(group, records)
    has_theory = process.supports("theory") is None
    if noise_scale == "paper":
        multiplier = 1.0
    elif has_theory:
        multiplier = process.size().multiplier(noise_scale)
    else:  # as for a shard of the same size
        multiplier = process.draws * records / (records - process.draws)
    return PreparedAttack(
        answers=np.ascontiguousarray(asked.T),
        design=np.ascontiguousarray(release.design(table).T),
        parameters=release.population(table),
        release=release,
        process=process,
        noise=noise,
        noise_root=noise_root(noise.covariance),
        noise_multiplier=multiplier,
        target=target,
        weights=process.weights,
        group=members,
        ratios=np.ones(records) if members is None else subgroup_target(members),
        oracle_weights=_oracle_weights(summary, noise.covariance, multiplier) if summary and has_theory else None,
    )


def _oracle_weights(summary: MomentSummary, covariance: FloatArray, multiplier: float) -> FloatArray:
    """Return c (V_g + νJΣJᵀ)⁺, shape ``(queries, m)``."""
    half = summary.jacobian @ noise_root(covariance).T
    total = summary.moment_covariance + multiplier * (half @ half.T)
    cross = summary.cross_covariance
    return np.array([_solved(total[None], one[None])[0] for one in cross])


# --- assessment ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Assessment:
    """Simulated against theoretical values, one entry per query; intervals have shape ``(2, queries)``.

    Attributes
    ----------
    mse_before, mse_after : float arrays
        Mean squared errors without and with the release.
    gain : float array
        Mean drop of the loss.
    gain_error : float array
        Its standard error.
    gain_interval : float array
        Bootstrap interval of the gain.
    ratio : float array
        Gain over the theory's (curve 4); not a number where that is 0.
    ratio_interval : float array
        Bootstrap interval of the ratio.
    share_of_bound : float array
        Gain over the printed bound.
    before_ratio, after_ratio : float arrays
        Mean squared errors over theory, σ₁²/n_eff and σ₂²/n_eff.
    difference_ratio : float array
        Variance of the difference of both answers over (σ₁² - σ₂²)/n_eff (Thm 3.4).
    covariance_ratio : float array
        Covariance of both errors over σ₂²/n_eff (Thm 3.4).
    skipped : int
        Attacks left out because nobody of the target group was known, or nobody unknown.
    """

    mse_before: FloatArray
    mse_after: FloatArray
    gain: FloatArray
    gain_error: FloatArray
    gain_interval: FloatArray
    ratio: FloatArray
    ratio_interval: FloatArray
    share_of_bound: FloatArray
    before_ratio: FloatArray
    after_ratio: FloatArray
    difference_ratio: FloatArray
    covariance_ratio: FloatArray
    skipped: int


def assess(
    draws: AttackDraws,
    theory: Predictability,
    rng: np.random.Generator,
    *,
    who: Literal["feasible", "oracle"] = "feasible",
    tau: float | None = None,
    level: float = 0.95,
    resamples: int = 400,
) -> Assessment:
    """Compare simulated attacks with theory.

    Parameters
    ----------
    draws : AttackDraws
        All blocks joined.
    theory : Predictability
        Of the same queries, release, noise and attacker.
    rng : numpy.random.Generator
        For the bootstrap.
    who : {"feasible", "oracle"}
        Which attacker.
    tau : float, optional
        Clipping level, for log loss.
    level : float
        Of the bootstrap intervals.
    resamples : int
        Bootstrap resamples.
    """
    check_level(level, "The level of the interval", "level")
    after = draws.feasible if who == "feasible" else draws.oracle
    good = np.isfinite(draws.before).all(axis=1) & np.isfinite(after).all(axis=1) & np.isfinite(draws.truth).all(axis=1)
    if not good.any():
        raise ParameterError("Not one of the simulated attacks has an answer; choose a larger group or more records.")
    gaps = draws.loss_gaps(theory.loss, tau, who)[good]
    one, two = (draws.before - draws.truth)[good], (after - draws.truth)[good]
    gain = gaps.mean(axis=0)
    trials = gaps.shape[0]
    error = gaps.std(axis=0, ddof=1) / trials**0.5 if trials > 1 else np.full(gain.shape, np.inf)
    tails = [50.0 * (1.0 - level), 50.0 * (1.0 + level)]
    interval = np.empty((2, gain.size))
    for query in range(gain.size):
        means = np.empty(resamples)
        for start in range(0, resamples, 50):
            stop = min(start + 50, resamples)
            means[start:stop] = gaps[rng.integers(0, trials, size=(stop - start, trials)), query].mean(axis=1)
        interval[:, query] = np.percentile(means, tails)
    n = theory.size.effective
    first, second, step = theory.variance_before / n, theory.variance_after / n, theory.explained / n
    with np.errstate(divide="ignore", invalid="ignore"):
        return Assessment(
            mse_before=np.square(one).mean(axis=0),
            mse_after=np.square(two).mean(axis=0),
            gain=gain,
            gain_error=np.asarray(error),
            gain_interval=interval,
            ratio=gain / theory.gain,
            ratio_interval=interval / theory.gain,
            share_of_bound=gain / theory.printed,
            before_ratio=np.square(one).mean(axis=0) / first,
            after_ratio=np.square(two).mean(axis=0) / second,
            difference_ratio=(one - two).var(axis=0) / step,
            covariance_ratio=((one - one.mean(axis=0)) * (two - two.mean(axis=0))).mean(axis=0) / second,
            skipped=int(draws.trials - good.sum()),
        )


__all__ = ["BLOCK_VALUES", "DRAWN_PLACES", "Assessment", "AttackDraws", "PreparedAttack", "assess", "prepare_attack"]
