"""The whole question in one call: a table, who attacks, what is published, with which noise, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import BoolArray, FloatArray
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination
from privexplorer.predictability.attack import PreparedAttack, prepare_attack
from privexplorer.predictability.attackers import AttackerRecord, Process, Target
from privexplorer.predictability.bounds import (
    AttackSize,
    Loss,
    NoiseScale,
    Predictability,
    from_spectrum,
    predictability,
)
from privexplorer.predictability.noise import NoiseLaw, NoiseRecord, noise_setting, total_noise
from privexplorer.predictability.queries import ColumnQueries, ExpressionQueries
from privexplorer.predictability.releases import (
    PATH_LIMIT,
    Bounds,
    FittedLastIterate,
    FittedPath,
    FittedRelease,
    GradientDescent,
    ReleaseRecord,
    sensitivities,
)
from privexplorer.predictability.spectrum import NoiseSpectrum, noise_spectrum
from privexplorer.predictability.summary import MomentSummary
from privexplorer.predictability.sums import summarise
from privexplorer.predictability.tables import Parts, Table, parts_of, row_count


@dataclass(frozen=True, eq=False)
class Analysis:
    """Everything that :func:`analyse` found.

    Attributes
    ----------
    process : Process
        How the attacker's records are drawn.
    release : FittedRelease
        Moments of what is published.
    summary : MomentSummary
        People summed out.
    noise : NoiseLaw
        What is really added, with its promise.
    size : AttackSize
        Effective size of the attack.
    result : Predictability
        The curves.
    noise_scale : str
        How the noise was counted.
    """

    process: Process
    release: FittedRelease
    summary: MomentSummary
    noise: NoiseLaw
    size: AttackSize
    result: Predictability
    noise_scale: NoiseScale

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that a reader must know."""
        return tuple(dict.fromkeys((*self.result.notes, *self.noise.notes, *self.process.notes)))

    def spectrum(self, covariance: ArrayLike | None = None) -> NoiseSpectrum:
        """Return the spectrum of the noise in use, or of another covariance, for sweeps over its level."""
        sigma = self.noise.covariance if covariance is None else covariance
        return noise_spectrum(self.summary, sigma, self.size.multiplier(self.noise_scale))

    def at(self, level: float, spectrum: NoiseSpectrum) -> Predictability:
        """Return the curves at another level of a noise whose spectrum is known."""
        multiplier = self.size.multiplier(self.noise_scale)
        return from_spectrum(self.summary, spectrum, self.size, multiplier, level=level, loss=self.result.loss)

    def attack(
        self,
        table: Table,
        queries: ExpressionQueries | ColumnQueries,
        group: BoolArray | None = None,
        target: Target = "unknown",
    ) -> PreparedAttack:
        """Set up the simulated attacker for the same question."""
        return prepare_attack(
            table,
            queries.evaluate(table),
            self.release,
            self.process,
            self.noise,
            summary=self.summary,
            noise_scale=self.noise_scale,
            target=target,
            group=group,
        )


def analyse(
    data: Parts,
    queries: ExpressionQueries | ColumnQueries,
    release: ReleaseRecord | FittedRelease,
    attacker: AttackerRecord | Process,
    noises: Sequence[NoiseRecord] = (),
    *,
    bounds: Bounds | None = None,
    noise_scale: NoiseScale = "release",
    loss: Loss = "squared",
    tau: ArrayLike | None = None,
    group: BoolArray | None = None,
    target: Target = "unknown",
    use_weight_moment: bool = False,
) -> Analysis:
    """Answer the question "what does this release tell that attacker about these queries?".

    Parameters
    ----------
    data : table or parts
        Everybody.
    queries : query set
        What is asked.
    release : record or fitted release
        What is published.
    attacker : record or process
        Whose knowledge; a record that looks at columns needs a table in memory.
    noises : sequence of records
        Independent noises that are added up; none for an exact release.
    bounds : mapping, optional
        Public bounds of columns, for noise that gives differential privacy.
    noise_scale : {"release", "paper"}
        Erratum E1.
    loss, tau
        The attacker's loss, and its clipping level under log loss.
    group : (N,) bool array, optional
        Subgroup that the attacker is after.
    target : {"unknown", "everyone"}
        For a random shard: whose mean is predicted.
    use_weight_moment : bool
        Let the attacker use that its weights average to 1 (erratum E16).

    Returns
    -------
    Analysis

    Raises
    ------
    ParameterError, DataError, UnsupportedCombination
        With a sentence that says what to change.

    Examples
    --------
    >>> from privexplorer.predictability import Mean, RandomShard, query_set
    >>> table = {"age": np.arange(20.0, 80.0), "ill": np.arange(60) % 4 == 0}
    >>> found = analyse(table, query_set(["ill", "age > 60"], table), Mean(columns=("age",)), RandomShard())
    >>> found.result.rho_cc.round(3)
    array([0.05 , 0.806])
    """
    if isinstance(attacker, Process):
        process = attacker
    else:
        records = sum(row_count(table) for table in parts_of(data))
        process = attacker.process(records, data if isinstance(data, Mapping) else None)
    reason = process.supports("theory")
    if reason:
        raise UnsupportedCombination(reason, field="attacker")
    fitted = release.fit(data) if isinstance(release, ReleaseRecord) else release
    summary = process.summarise(data, queries, fitted, group, weight_moment=use_weight_moment)
    size = process.size(target)
    reach: tuple[float | None, float | None, str | None] = (
        None, None, "Give the release itself, not its fit, to use noise for differential privacy."
    )  # fmt: skip
    if isinstance(release, ReleaseRecord):
        reach = sensitivities(release, data, process.records, bounds or {})
    setting = noise_setting(summary, size.multiplier(noise_scale), *reach)
    law = total_noise(noises, setting)
    found = predictability(summary, size, law.covariance, noise_scale=noise_scale, loss=loss, tau=tau)
    return Analysis(process, fitted, summary, law, size, found, noise_scale)


# --- gradient descent, step by step --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DescentTape:
    """What each step of gradient descent would tell (V8); arrays of shape ``(steps, queries)``.

    Attributes
    ----------
    last : float array
        r if only the step's coefficients are published.
    path : float array
        r if all steps up to it are published; one row per step looked at.
    losses : (steps + 1,) float array
        Training loss along the path, from the start.
    """

    last: FloatArray
    path: FloatArray
    losses: FloatArray


@dataclass(frozen=True, eq=False)
class _Influences(FittedRelease):
    """Influences on all steps side by side."""

    release: FittedLastIterate

    @property
    def labels(self) -> tuple[str, ...]:
        steps = len(self.release.descent.path) - 1
        return tuple(f"{name}, step {step + 1}" for step in range(steps) for name in self.release.names)

    @property
    def parameters(self) -> FloatArray:
        return np.asarray(self.release.descent.path[1:].ravel())

    @property
    def jacobian(self) -> FloatArray:
        return -np.eye(self.parameters.size)

    @property
    def is_deficient(self) -> bool:
        return True

    def fill(self, table: Table, out: FloatArray) -> None:
        found = self.release.influences(table)
        out[:] = found.transpose(1, 0, 2).reshape(found.shape[1], -1)


@dataclass(frozen=True, eq=False)
class DescentSums:
    """People summed out for a descent: the tape at any noise follows without them; see :func:`descent_sums`.

    Attributes
    ----------
    last : tuple of MomentSummary
        Influences on each step.
    path : tuple of MomentSummary
        Moments of all steps up to each of ``path_steps`` (A.1).
    path_steps : tuple of int
        Counted from 1.
    parameters : (steps, d) float array
        Coefficients after each step.
    losses : (steps + 1,) float array
        Training loss along the path.
    """

    last: tuple[MomentSummary, ...]
    path: tuple[MomentSummary, ...]
    path_steps: tuple[int, ...]
    parameters: FloatArray
    losses: FloatArray

    def at(self, variance: float = 0.0, noise_multiplier: float = 1.0) -> DescentTape:
        """Return the tape at noise of variance σ² on every published number, counted ν times."""

        def r_of(part: MomentSummary) -> FloatArray:
            sigma = variance * np.eye(part.dimension) if variance else None
            return np.sqrt(noise_spectrum(part, sigma, noise_multiplier).r2())

        return DescentTape(
            last=np.array([r_of(part) for part in self.last]),
            path=np.array([r_of(part) for part in self.path]),
            losses=self.losses,
        )


def descent_sums(
    record: GradientDescent,
    data: Parts,
    queries: ExpressionQueries | ColumnQueries,
    path_steps: Sequence[int] | None = None,
) -> DescentSums:
    """Run gradient descent on a table and sum the people out.

    Parameters
    ----------
    record : GradientDescent
        Which descent; whether it publishes the last step or the path plays no part.
    data : table or parts
        Everybody, all with the same weight.
    queries : query set
        What is asked.
    path_steps : sequence of int, optional
        Steps, counted from 1, up to which the path is looked at; all if left out.
    """
    last = record.model_copy(update={"released": "last"}).fit(data)
    if not isinstance(last, FittedLastIterate):
        raise DataError("The descent was not fitted.")
    width, steps = len(last.names), record.steps
    if steps * width > PATH_LIMIT:
        raise ParameterError(
            f"At most {PATH_LIMIT} numbers can be followed; {steps} steps of {width} coefficients make "
            f"{steps * width:,}, so choose fewer steps.",
            field="steps",
        )
    found = summarise(data, queries, _Influences(last))
    path = FittedPath(last.loss, last.rows, last.names, last.descent, last.step_size, last.penalty)
    whole = summarise(data, queries, path)
    shown = tuple(range(1, steps + 1)) if path_steps is None else tuple(path_steps)
    return DescentSums(
        tuple(found.select(moments=list(range(t * width, (t + 1) * width))) for t in range(steps)),
        tuple(whole.select(moments=list(range(t * width))) for t in shown),
        shown,
        np.asarray(last.descent.path[1:]),
        last.descent.losses,
    )


def descent_tape(
    record: GradientDescent,
    data: Parts,
    queries: ExpressionQueries | ColumnQueries,
    variance: float = 0.0,
    noise_multiplier: float = 1.0,
) -> DescentTape:
    """Follow gradient descent and return r for the last iterate and for the path so far, at every step.

    Parameters
    ----------
    record : GradientDescent
        Which descent; whether it publishes the last step or the path plays no part.
    data : table or parts
        Everybody, all with the same weight.
    queries : query set
        What is asked.
    variance : float
        σ² of independent noise on every published number.
    noise_multiplier : float
        ν.
    """
    return descent_sums(record, data, queries).at(variance, noise_multiplier)


__all__ = ["Analysis", "DescentSums", "DescentTape", "analyse", "descent_sums", "descent_tape"]
