"""What the entropy studies share: tables of every estimator, blocks of estimates, errors with exact noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteLaw, nested_fingerprints
from privexplorer.distributions.families import Distribution
from privexplorer.privacy import LaplaceNoise
from privexplorer.properties import AdditiveTable, Polynomial, epsilon_for_inflation
from privexplorer.simulation import block_rng, root_mean_square
from privexplorer.studies._notes import table_notes
from privexplorer.studies.chart import Axis, Chart, Line, Panel
from privexplorer.studies.result import Formula, Note, Result

BITS = math.log(2)
"""Nats in one bit."""

Rule = Literal["exact", "thesis", "paper_code"]
RULES = {
    "exact": "exact sensitivity (private)",
    "thesis": "published bound (private)",
    "paper_code": "published code (not private)",
}


def unit_size(unit: str) -> float:
    """Nats in one unit."""
    return BITS if unit == "bits" else 1.0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share. ``plain`` and ``private`` hold one table per estimator and sample size."""

    law: DiscreteLaw
    truth: float
    ns: IntArray
    seed: int
    block_trials: int
    plain: tuple[tuple[AdditiveTable, ...], ...]
    private: tuple[tuple[AdditiveTable, ...], ...]
    bias: FloatArray
    """Exact bias of the private tables without noise, shape (estimators, points)."""
    is_poly: tuple[bool, ...]
    cutoffs: tuple[int, ...]


def block_size(points: int, largest_n: int, k: int) -> int:
    """Trials per block: a matter of the question alone, so that every machine cuts the same blocks."""
    draws = min(largest_n, 40 * k * points)
    return int(max(1, min(64, 3_000_000 // (draws + points * min(k, 4 * largest_n)))))


def assumed_k(distribution: Distribution) -> int:
    """Return the declared number of symbols; a round number for a table, whose own number is not known here."""
    return int(getattr(distribution, "k", 20_000))


def prepare(
    distribution: Distribution,
    estimators: Sequence[Any],
    ns: IntArray,
    seed: int,
    block_trials: int,
    tables: Tables | None,
) -> Prepared:
    """Compute the law, its entropy and the tables of all estimators."""
    law = distribution.law(tables)
    k = law.k
    plain = tuple(tuple(e.table(int(n), k, private=False) for n in ns) for e in estimators)
    private = tuple(tuple(e.table(int(n), k, private=True) for n in ns) for e in estimators)
    truth = law.entropy()
    bias = np.array([[t.mean(law) - truth for t in row] for row in private])
    cutoffs = tuple(e.parameters(k, True)[2] if isinstance(e, Polynomial) else 0 for e in estimators)
    return Prepared(
        law,
        truth,
        np.asarray(ns),
        seed,
        block_trials,
        plain,
        private,
        bias,
        tuple(isinstance(e, Polynomial) for e in estimators),
        cutoffs,
    )


def run_block(prepared: Prepared, block: int) -> FloatArray:
    """Draw a block of nested samples; return ``(trials, 3 * estimators, points)``.

    Per estimator: the estimate, the estimate by its private table before noise, and the data-dependent
    "sensitivity" of the published code (0 for estimators without one).
    """
    rng = block_rng(prepared.seed, block)
    prints = nested_fingerprints(prepared.law, prepared.ns, prepared.block_trials, rng)
    out = np.zeros((prepared.block_trials, 3 * len(prepared.plain), prepared.ns.size))
    for place, (plain, private) in enumerate(zip(prepared.plain, prepared.private, strict=True)):
        for offset, row in ((0, plain), (1, private)):
            sums = prints.totals([t.values for t in row]) + np.array([t.constant for t in row])[:, None]
            out[:, 3 * place + offset, :] = np.maximum(sums, 0.0).T
        if prepared.is_poly[place]:
            top = prepared.cutoffs[place]
            for point, table in enumerate(private):
                out[:, 3 * place + 2, point] = data_dependent_step(
                    table.values, prints.common[point], min(top, int(prepared.ns[point]))
                )
    return out


def data_dependent_step(values: FloatArray, common: IntArray, top: int) -> FloatArray:
    """Return what the published code calls its sensitivity (E12): it depends on the data and protects nobody.

    Twice the largest ``|g(j) - g(min(j + 1, top))|`` over the counts ``j <= top`` that occur, one per trial.
    """
    width = min(top + 1, common.shape[1])
    j = np.arange(width)
    steps = 2 * np.abs(values[j] - values[np.minimum(j + 1, top)])
    return np.asarray(((common[:, :width] > 0) * steps).max(axis=1))


def lower_bound_shape(k: int, n: float, epsilon: float) -> float:
    """Accuracy at which Theorem 10's lower bound asks for n records, its constant set to one; in nats.

    Solves ``k/(a ln k) + ln² min(k, n)/a² + ln k/(a ε) = n`` for ``a``: a quadratic. Its root is written as a sum, so
    that nothing cancels where ε or n is small. Derived, checked in tests/unit/studies/test_lower_bound_shape.py.
    """
    root = math.log(min(k, max(n, 2)))
    single = k / math.log(k) + math.log(k) / float(epsilon)
    return (single + math.hypot(single, 2 * root * math.sqrt(n))) / (2 * n)


def private_squares(estimates: FloatArray, truth: float, scales: FloatArray, low: float, high: float) -> FloatArray:
    """Return the exact expected squared error over the noise, one per trial and point.

    Parameters
    ----------
    estimates : (trials, points) float array
        Answers before noise.
    truth : float
        What they estimate.
    scales : (points,) or (trials, points) float array
        Laplace scales.
    low, high : float
        Interval that the noisy answer is clipped to; infinite for none.
    """
    if not math.isfinite(low) and not math.isfinite(high):
        return np.asarray((estimates - truth) ** 2 + 2 * scales**2)
    # the error scales: E at scale b equals b² times E at scale 1 with everything else divided by b
    size = np.broadcast_to(np.where(scales > 0, scales, 1.0), estimates.shape)
    noisy = LaplaceNoise(1.0).clipped_squared_error(estimates / size, truth / size, low / size, high / size) * size**2
    silent = (np.clip(estimates, low, high) - truth) ** 2
    return np.asarray(np.where(scales > 0, noisy, silent))


def epsilon_for(inflation: float, delta: float, rmse: float) -> float:
    """Return the ε at which noise adds so much to the error (properties §2); infinite where there is no error."""
    return epsilon_for_inflation(inflation, delta, rmse) if rmse > 0 else math.inf


def moved_below(shape: FloatArray, curve: FloatArray) -> FloatArray:
    """Move a rate whose constant is unknown down until it lies below a curve: only its shape means anything."""
    return np.asarray(shape * min(1.0, 0.7 * float(np.min(curve / shape))))


@dataclass(frozen=True)
class Curve:
    """Root-mean-square error along the points, with its standard error."""

    rmse: FloatArray
    error: FloatArray


def plain_curve(blocks: FloatArray, place: int, truth: float) -> Curve:
    """Error of an estimator without privacy."""
    return Curve(*root_mean_square((blocks[:, 3 * place, :] - truth) ** 2))


def quiet_curve(blocks: FloatArray, place: int, truth: float) -> Curve:
    """Error of an estimator's private table before the noise: what the noise adds to."""
    return Curve(*root_mean_square((blocks[:, 3 * place + 1, :] - truth) ** 2))


def private_curve(blocks: FloatArray, place: int, truth: float, scales: FloatArray, clip_at: float | None) -> Curve:
    """Error of an estimator's private release; the noise is integrated exactly."""
    low, high = (0.0, clip_at) if clip_at is not None else (-math.inf, math.inf)
    return Curve(*root_mean_square(private_squares(blocks[:, 3 * place + 1, :], truth, scales, low, high)))


def sensitivities(estimators: Sequence[Any], prepared: Prepared, rule: Rule) -> FloatArray:
    """Sensitivity of every private table, shape (estimators, points); the published code's rule is per data set."""
    k = prepared.law.k
    return np.array([[e.sensitivity(int(n), k, rule=rule) for n in prepared.ns] for e in estimators])


def noise_scales(
    rule: Rule, blocks: FloatArray, place: int, sens: FloatArray, prepared: Prepared, epsilon: float
) -> FloatArray:
    """Return Laplace scales, shape (points,), or (trials, points) for the published code's data-dependent rule."""
    if rule == "paper_code" and prepared.is_poly[place]:
        return np.asarray(blocks[:, 3 * place + 2, :] / epsilon)
    return np.asarray(sens[place] / epsilon)


ASSUMPTIONS = (
    "Neighbours are two samples of the same size n that differ in one record; n and k are public. "
    "(properties §0, Def. 1)",
    "One answer is released, with Laplace noise of scale sensitivity ÷ ε (Lem 3); the noise is integrated exactly, "
    "so only the sampling is simulated.",
    "The sensitivity is exact: the largest change over all samples, from the table of the estimator. (properties §1, "
    "derived)",
    "Upper bound: exact bias for this distribution, variance at most n Δ²/4 (Lemma 32), plus the noise; for unclipped "
    "answers.",
    "Lower bound: the rate of Theorem 10 over all distributions on k symbols, with a hidden "
    "constant; the curve is moved down until it lies below the private one, so only its shape means anything.",
)


def notes(scenario: Any) -> tuple[Note, ...]:
    """Say what a reader must know about the choices."""
    out: list[Note] = []
    if scenario.noise_rule == "paper_code" and any(e.kind == "poly" for e in scenario.estimators):
        out.append(
            Note(
                "The published code reads its noise off the sample, so the answer is **not private**: some samples "
                "would get no noise at all. It is here for comparison only.",
                "warning",
                "This noise does not protect",
            )
        )
    return (*out, *table_notes(scenario.distribution))


def formulas(estimator: Any, n: int, k: int, delta: float, epsilon: float, rule: Rule) -> tuple[Formula, ...]:
    """Write the estimator, its release and the error algebra, with the current numbers."""
    return (
        Formula(
            f"Estimator: {estimator.title.lower()}",
            estimator.formula,
            rf"n = {n:,},\quad k = {k:,}",
            "exact",
            estimator.source,
        ),
        Formula(
            "Private release",
            r"\tilde H=\hat H+\mathrm{Lap}(\Delta/\varepsilon)",
            rf"\Delta = {delta:.4g}\ \text{{nats}},\qquad \Delta/\varepsilon = {delta / epsilon:.4g}\ \text{{nats}}",
            "exact",
            {"exact": "properties §1 (derived)", "thesis": "properties §4.1, eq. 4.4", "paper_code": "properties E12"}[
                rule
            ],
        ),
        Formula(
            "Error with privacy",
            r"\mathrm{RMSE}^2=\mathrm{bias}^2+\mathrm{Var}+2\Delta^2/\varepsilon^2",
            rf"2\Delta^2/\varepsilon^2 = {2 * (delta / epsilon) ** 2:.4g}\ \text{{nats}}^2",
            "exact",
            "properties §2 (derived; for unclipped answers)",
        ),
    )


def error_marks(result: Result, estimators: Sequence[Any], dashes: Mapping[str, str], unit: str) -> list[Line]:
    """Describe the error curves of all estimators and the bounds that are in the frame."""
    marks: list[Line] = []
    several = len(estimators) > 1
    for place, estimator in enumerate(estimators):
        dash = dashes[estimator.kind] if several else None
        for private in (False, True):
            name = f"{estimator.title}, private" if private else estimator.title
            rows = result.series(name)
            short = SHORT.get(estimator.kind, estimator.title)
            label = (
                (f"{short},<br>private" if private else short)
                if several
                else "private"
                if private
                else "without<br>privacy"
            )
            marks.append(
                Line(
                    "private" if private else "non-private",
                    rows["x"].to_numpy(),
                    rows["y"].to_numpy(),
                    name,
                    label,
                    rows["std_error"].to_numpy(),
                    main=private and place == len(estimators) - 1,
                    markers=private and not several,
                    dash=dash,
                    hover=("private" if private else "without privacy")
                    + (f" ({short})" if several else "")
                    + ": off by {y} ± {e} "
                    + unit,
                )
            )
    whose = f"upper bound<br>({SHORT[estimators[-1].kind]})" if several else "upper bound<br>(private)"
    for name, role, label, hover in (
        ("upper bound", "upper bound", whose, "at most {y} "),
        ("lower bound (shape only)", "lower bound", "lower bound<br>(shape only)", "lower bound, shape only: {y} "),
    ):
        rows = result.series(name)
        if len(rows):
            marks.append(Line(role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, hover=hover + unit))  # type: ignore[arg-type]
    return marks


SHORT = {"plug-in": "plug-in", "miller-madow": "Miller–Madow", "poly": "polynomial"}


def error_chart(marks: Sequence[Line], x: Axis, unit: str, here: tuple[float, str] | None = None) -> Chart:
    """Describe an error chart: RMSE on a log scale."""
    return Chart(
        "Error of the estimate",
        f"root-mean-square, in {unit}, log scale",
        x,
        Axis("error", "log", unit=unit),
        (Panel(tuple(marks), here=here),),
    )
