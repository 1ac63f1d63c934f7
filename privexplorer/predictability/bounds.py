"""Predictability of queries: the four curves, noise that attenuates them, and their constants.

Spec predictability, sections 1.3, 2.2 (Lem 2.9) and 2.3 (Thm 3.6, Rem 3.7, Cor 3.8); errata E1, E4, E8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.predictability._checks import (
    check_fraction,
    check_level,
    check_positive,
    check_records,
    check_tau,
)
from privexplorer.predictability.spectrum import NoiseSpectrum, noise_spectrum
from privexplorer.predictability.summary import MomentSummary

KAPPA = 1.0 + math.log(4.0)
"""Constant of the tail integration: the integral of min(1, 4 exp(-t)) over t >= 0."""

Loss: TypeAlias = Literal["squared", "log"]
NoiseScale: TypeAlias = Literal["release", "paper"]
Form: TypeAlias = Literal["printed", "corrected"]


@dataclass(frozen=True)
class AttackSize:
    """How large a sample the attacker's knowledge amounts to, and how heavy one draw of noise weighs in it.

    Attributes
    ----------
    effective : float
        n in Thm 3.6; α(1-α)N for a random shard (Cor 3.8).
    noise_multiplier : float
        ν on the release scale: n, or αN/(1-α) for a random shard (erratum E1).
    draws : float
        Records in the core knowledge.
    """

    effective: float
    noise_multiplier: float
    draws: float

    def multiplier(self, noise_scale: NoiseScale = "release") -> float:
        """Return ν: 1 on the paper's scale."""
        if noise_scale not in ("release", "paper"):
            raise ParameterError(
                f"The noise scale must be 'release' or 'paper'; it is '{noise_scale}'.", field="noise_scale"
            )
        return self.noise_multiplier if noise_scale == "release" else 1.0


def shard_size(
    compromised_fraction: float, records: int, target: Literal["unknown", "everyone"] = "unknown", exact: bool = False
) -> AttackSize:
    """Return the sizes for a random shard at a fixed compromised fraction (Cor 3.8, errata E1 and E13).

    Parameters
    ----------
    compromised_fraction : float
        α in (0, 1).
    records : int
        N, at least 2.
    target : {"unknown", "everyone"}
        What is predicted: the mean over the people outside the shard (of the target group, if there is one), with
        α(1-α)N; or the mean over all of them, with αN/(1-α).
    exact : bool
        Replace N by N - 1, which is exact for a mean at any N.

    Examples
    --------
    >>> shard_size(0.4, 20).effective
    4.8
    """
    fraction, total = check_fraction(compromised_fraction), check_records(records)
    size = total - 1 if exact else total
    everyone = fraction * size / (1.0 - fraction)
    if target == "everyone":
        effective = everyone
    elif target == "unknown":
        effective = fraction * (1.0 - fraction) * size
    else:
        raise ParameterError(f"The target must be 'unknown' or 'everyone'; it is '{target}'.", field="target")
    return AttackSize(effective, everyone, fraction * total)


def sample_attack_size(draws: float) -> AttackSize:
    """Return the sizes for n draws with replacement or along a chain, n far below N (Thm 3.6, erratum E1)."""
    size = float(draws)
    if not (math.isfinite(size) and size >= 2.0):
        raise ParameterError(f"The number of compromised records n must be at least 2; it is {size:g}.", field="draws")
    return AttackSize(size, size, size)


# --- constants of the attacker's loss ------------------------------------------------------------------------


def smoothness(loss: Loss, tau: float | None = None, form: Form = "printed") -> float:
    """Return the smoothness constant H of the attacker's loss (Lem 2.9).

    Parameters
    ----------
    loss : {"squared", "log"}
        Squared loss (unit: query squared) or log loss (nats, answers between 0 and 1).
    tau : float, optional
        Clipping level in (0, 1/2]: answers and truth lie in [τ, 1-τ]. Needed for log loss.
    form : {"printed", "corrected"}
        For log loss 1/τ², or the largest curvature on the interval, (1-τ)/τ² + τ/(1-τ)² (derived, checked in
        tests/unit/predictability/test_predictability_bounds.py). Both need clipped answers (erratum E8).

    Examples
    --------
    >>> smoothness("squared"), round(smoothness("log", 0.1), 9), round(smoothness("log", 0.1, "corrected"), 8)
    (2.0, 100.0, 90.12345679)
    """
    if loss == "squared":
        return 2.0
    if loss != "log":
        raise ParameterError(f"The loss must be 'squared' or 'log'; it is '{loss}'.", field="loss")
    if tau is None:
        raise ParameterError(
            "Log loss needs a clipping level τ for the answers; choose one above 0 and at most 0.5.", field="tau"
        )
    level = check_tau(tau)
    if form == "printed":
        return 1.0 / (level * level)
    return (1.0 - level) / (level * level) + level / ((1.0 - level) * (1.0 - level))


def loss_curvature(loss: Loss, answer: ArrayLike, truth: ArrayLike) -> FloatArray:
    """Return the second derivative of the expected loss at an answer, for a yes/no truth with this mean.

    Squared loss: 2. Log loss: truth/answer² + (1 - truth)/(1 - answer)².
    """
    at, mean = np.broadcast_arrays(np.asarray(answer, dtype=np.float64), np.asarray(truth, dtype=np.float64))
    if loss == "squared":
        return np.full(at.shape, 2.0)
    return np.asarray(mean / np.square(at) + (1.0 - mean) / np.square(1.0 - at))


def expected_loss(loss: Loss, answer: ArrayLike, truth: ArrayLike, variance: ArrayLike = 0.0) -> FloatArray:
    """Return the loss of an answer, on average over the unknown people.

    Parameters
    ----------
    loss : {"squared", "log"}
        Which loss.
    answer : array
        The attacker's answer; strictly between 0 and 1 for log loss.
    truth : array
        Mean of the query over the unknown people.
    variance : array
        Variance of the query over them, which squared loss adds whatever the answer.
    """
    at, mean = np.asarray(answer, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if loss == "squared":
        return np.asarray(np.square(at - mean) + variance)
    return np.asarray(-(mean * np.log(at) + (1.0 - mean) * np.log1p(-at)))


def product_bound(
    loss: Loss, before: ArrayLike, after: ArrayLike, truth: ArrayLike, tau: float | None = None
) -> FloatArray:
    """Return ``H |θ_C - θ₀| |θ_C - θ_CA|``, which the loss gap never exceeds (Lem 2.9).

    For log loss all three lie in [τ, 1-τ].
    """
    first, second, mean = (np.asarray(value, dtype=np.float64) for value in (before, after, truth))
    if loss == "log":
        level = check_tau(0.5 if tau is None else tau)
        if any(np.any((value < level) | (value > 1.0 - level)) for value in (first, second, mean)):
            raise ParameterError(
                f"Under log loss answers and truth must lie between τ = {level:g} and {1.0 - level:g}; clip them.",
                field="tau",
            )
    constant = smoothness(loss, tau)
    return np.asarray(constant * np.abs(first - mean) * np.abs(first - second))


# --- the four curves -----------------------------------------------------------------------------------------


def gaussian_product(r: ArrayLike) -> FloatArray:
    """Return E|XY| for standard normal X, Y with correlation r: (2/π)(√(1-r²) + r arcsin r).

    Derived, checked in tests/unit/predictability/test_predictability_bounds.py.
    """
    value = np.asarray(r, dtype=np.float64)
    return np.asarray(2.0 / math.pi * (np.sqrt(np.maximum(0.0, 1.0 - np.square(value))) + value * np.arcsin(value)))


@dataclass(frozen=True, eq=False)
class Predictability:
    """Predictability of each query, with everything it is made of.

    All arrays have one entry per query; every value in ``printed``, ``cauchy_schwarz``, ``product`` and ``gain`` has
    the unit of the loss. The numbers are those of the table at hand, depend on it, and are not safe to publish.

    Attributes
    ----------
    names : tuple of str
        The queries.
    means : float array
        What the attacker estimates, p.
    variance_before : float array
        σ₁²: V_q, or what is left of it once the weights are used (erratum E16).
    explained : float array
        σ₁² - σ₂², the part that the release explains.
    rho_cc : float array
        Canonical correlation of query and release without noise (Def 3.5), in [0, 1].
    c0 : float array
        Attenuation by noise, ρ² - r² (Thm 3.6), in [0, ρ²].
    r : float array
        √(ρ² - c₀), in [0, 1].
    size : AttackSize
        Effective sample size and noise multiplier.
    noise_multiplier : float
        ν used.
    loss : str
        The attacker's loss.
    smoothness_printed, smoothness_sharp : float arrays
        H of Lem 2.9.
    notes : tuple of str
        What a reader must know.
    """

    names: tuple[str, ...]
    means: FloatArray
    variance_before: FloatArray
    explained: FloatArray
    rho_cc: FloatArray
    c0: FloatArray
    r: FloatArray
    size: AttackSize
    noise_multiplier: float
    loss: Loss
    smoothness_printed: FloatArray
    smoothness_sharp: FloatArray
    notes: tuple[str, ...] = ()

    @property
    def variance_after(self) -> FloatArray:
        """σ₂², variance once the release is used."""
        return np.maximum(self.variance_before - self.explained, 0.0)

    @property
    def _base(self) -> FloatArray:
        return np.asarray(self.variance_before * self.r / self.size.effective)

    @property
    def printed(self) -> FloatArray:
        """Curve 1, the printed bound Hκ V_q r / n_eff (Thm 3.6, Cor 3.8)."""
        return np.asarray(self.smoothness_printed * KAPPA * self._base)

    @property
    def cauchy_schwarz(self) -> FloatArray:
        """Curve 2, H V_q r / n_eff (derived, checked in tests/unit/predictability/test_predictability_bounds.py)."""
        return np.asarray(self.smoothness_sharp * self._base)

    @property
    def product(self) -> FloatArray:
        """Curve 3, H times the mean product of the two Gaussian errors (derived, same tests): the tightest bound."""
        return np.asarray(self.smoothness_sharp * self._base * gaussian_product(self.r))

    @property
    def gain(self) -> FloatArray:
        """Curve 4, how much the loss of an efficient attacker really drops (derived, same tests).

        Squared loss V_q r² / n_eff; log loss of a yes/no query V_q r² / (2 p (1-p) n_eff).
        """
        drop = self.explained / self.size.effective
        if self.loss == "squared":
            return np.asarray(drop)
        spread = 2.0 * self.means * (1.0 - self.means)
        return np.divide(drop, spread, out=np.zeros_like(drop), where=spread > 0)

    def high_probability(self, delta: float, form: Form = "corrected") -> FloatArray:
        """Return a bound on the loss gap that holds with probability 1 - δ (Thm 3.6, first display).

        Parameters
        ----------
        delta : float
            In (0, 1).
        form : {"corrected", "printed"}
            Factor 2 log(4/δ), which the product of the two errors needs, or the printed log(4/δ) (erratum E4).
        """
        tail = math.log(4.0 / check_level(delta, "The failure probability δ", "delta"))
        factor = 2.0 * tail if form == "corrected" else tail
        return np.asarray(self.smoothness_printed * factor * self._base)

    def curves(self) -> dict[str, FloatArray]:
        """Return the four curves by name, loosest first."""
        return {
            "printed": self.printed,
            "cauchy_schwarz": self.cauchy_schwarz,
            "product": self.product,
            "gain": self.gain,
        }

    def at(self, size: AttackSize) -> Predictability:
        """Return the same numbers for another size of the attack, the noise multiplier kept.

        Only n_eff changes: one computation serves every compromised fraction on the paper's scale, or without noise
        (after Cor 3.8).
        """
        return replace(self, size=size)


def default_tau(means: ArrayLike) -> FloatArray:
    """Return min(p, 1-p), the largest clipping level that leaves the truth inside.

    Raises
    ------
    ParameterError
        If a mean lies outside [0, 1]: log loss is for yes/no queries.
    """
    values = np.atleast_1d(np.asarray(means, dtype=np.float64))
    if np.any((values < -1e-12) | (values > 1.0 + 1e-12)):
        raise ParameterError(
            "Log loss needs queries answered by yes or no; choose squared loss for queries with other values.",
            field="loss",
        )
    return np.clip(np.minimum(values, 1.0 - values), 0.0, 0.5)


def _smoothness_of(loss: Loss, summary: MomentSummary, tau: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    means = summary.query_means
    if loss == "squared":
        twos = np.full(means.shape, 2.0)
        return twos, twos
    if loss != "log":
        raise ParameterError(f"The loss must be 'squared' or 'log'; it is '{loss}'.", field="loss")
    for name, is_binary in zip(summary.query_names, summary.query_binary, strict=True):
        if not is_binary:
            raise ParameterError(
                f"Log loss needs queries answered by yes or no; '{name}' has other answers, so choose squared loss or "
                "turn the query into a condition.",
                field="loss",
            )
    usual = default_tau(means)
    levels = usual if tau is None else np.broadcast_to(np.asarray(tau, dtype=np.float64), means.shape)
    printed, sharp = np.zeros(means.shape), np.zeros(means.shape)
    for place, level in enumerate(levels):
        if tau is None and level <= 0.0:
            continue  # a constant query: nothing is multiplied by H
        if check_tau(float(level)) > usual[place] + 1e-12:
            raise ParameterError(
                f"The clipping level τ = {float(level):g} leaves out the truth of a query with mean "
                f"{float(means[place]):.4g}; choose at most {float(usual[place]):.4g}.",
                field="tau",
            )
        printed[place], sharp[place] = smoothness("log", float(level)), smoothness("log", float(level), "corrected")
    return printed, sharp


def predictability(
    summary: MomentSummary,
    size: AttackSize,
    covariance: ArrayLike | None = None,
    *,
    noise_scale: NoiseScale = "release",
    loss: Loss = "squared",
    tau: ArrayLike | None = None,
) -> Predictability:
    """Return the predictability of every query of a summary (Thm 3.6, spec 3.3).

    Parameters
    ----------
    summary : MomentSummary
        Of queries and release.
    size : AttackSize
        Of the attacker.
    covariance : (d, d) array, optional
        Covariance Σ of the noise that the release really adds; none if left out.
    noise_scale : {"release", "paper"}
        Whether the shared draw of noise weighs ν times (corrected) or once (as printed); erratum E1.
    loss : {"squared", "log"}
        The attacker's loss; log loss needs yes/no queries.
    tau : float or array, optional
        Clipping level for log loss; min(p, 1-p) if left out.

    Returns
    -------
    Predictability

    Examples
    --------
    >>> from privexplorer.predictability.moments import moment_summary
    >>> x = np.arange(1.0, 9.0)
    >>> summary = moment_summary([0, 0, 0, 1, 0, 1, 1, 1], x - x.mean())
    >>> predictability(summary, shard_size(0.25, 8), [[2.0]], noise_scale="paper").printed
    array([0.51697769])
    """
    multiplier = size.multiplier(noise_scale)
    if summary.weight_moment:
        return _with_known_weights(summary, size, covariance, multiplier, loss, tau)
    spectrum = noise_spectrum(summary, covariance, multiplier)
    return from_spectrum(summary, spectrum, size, multiplier, loss=loss, tau=tau)


def from_spectrum(
    summary: MomentSummary,
    spectrum: NoiseSpectrum,
    size: AttackSize,
    multiplier: float,
    *,
    level: float = 1.0,
    loss: Loss = "squared",
    tau: ArrayLike | None = None,
) -> Predictability:
    """Return the predictability at one level of a noise whose spectrum is known."""
    r2 = spectrum.r2(level)
    printed, sharp = _smoothness_of(loss, summary, tau)
    r = np.sqrt(r2)
    return Predictability(
        names=summary.query_names,
        means=summary.query_means,
        variance_before=spectrum.variance,
        explained=spectrum.variance * r2,
        rho_cc=np.sqrt(spectrum.rho2),
        c0=spectrum.c0(level),
        r=r,
        size=size,
        noise_multiplier=multiplier,
        loss=loss,
        smoothness_printed=printed,
        smoothness_sharp=sharp,
        notes=(*summary.notes, *_notes(summary, r, size)),
    )


def _with_known_weights(
    summary: MomentSummary,
    size: AttackSize,
    covariance: ArrayLike | None,
    multiplier: float,
    loss: Loss,
    tau: ArrayLike | None,
) -> Predictability:
    """Let the attacker use the mean of the weights in both estimates (erratum E16)."""
    both = noise_spectrum(summary, covariance, multiplier)
    clean = noise_spectrum(summary)
    alone = noise_spectrum(summary.select(moments=[summary.moments - 1]))
    before = np.maximum(both.variance * (1.0 - alone.rho2), 0.0)
    explained = np.maximum(both.variance * (both.r2() - alone.rho2), 0.0)
    without_noise = np.maximum(both.variance * (clean.rho2 - alone.rho2), 0.0)
    share = np.divide(explained, before, out=np.zeros_like(before), where=before > 1e-14 * both.variance)
    full = np.divide(without_noise, before, out=np.zeros_like(before), where=before > 1e-14 * both.variance)
    printed, sharp = _smoothness_of(loss, summary, tau)
    r = np.sqrt(np.minimum(share, 1.0))
    return Predictability(
        names=summary.query_names,
        means=summary.query_means,
        variance_before=before,
        explained=explained,
        rho_cc=np.sqrt(np.minimum(full, 1.0)),
        c0=np.maximum(full - share, 0.0),
        r=r,
        size=size,
        noise_multiplier=multiplier,
        loss=loss,
        smoothness_printed=printed,
        smoothness_sharp=sharp,
        notes=(*summary.notes, *_notes(summary, r, size)),
    )


def _notes(summary: MomentSummary, r: FloatArray, size: AttackSize) -> tuple[str, ...]:
    notes: list[str] = []
    constant = [name for name, flat in zip(summary.query_names, summary.is_constant, strict=True) if flat]
    if constant:
        notes.append(
            f"Everybody has the same answer to {_listed(constant)}, so there is nothing to predict: predictability 0."
        )
    spread = np.square(summary.root).sum(axis=0)
    if summary.rank == 0 or not np.all(spread > 0.0):
        notes.append("A released number is the same for every person, so by itself it tells nothing about anybody.")
    if size.draws < summary.moments + 2:
        notes.append(
            f"The attacker holds {size.draws:g} records and the release has {summary.moments} moments: too few for "
            "large-sample formulas, which need many more records than moments."
        )
    weak = [
        name
        for name, flat, value in zip(summary.query_names, summary.is_constant, r, strict=True)
        if not flat and 0.0 < value < math.sqrt(summary.rank / size.draws)
    ]
    if weak:
        notes.append(
            f"For {_listed(weak)} the correlation is so weak that a real attacker, who must estimate its own weights, "
            "may gain nothing at all."
        )
    return tuple(notes)


def _listed(names: list[str]) -> str:
    shown = ", ".join(name if '"' in name else f"'{name}'" for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


# --- sweeps --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sweep:
    """Curves over many noise levels or compromised fractions; arrays of shape ``(points, queries)``.

    Attributes
    ----------
    level : (points,) float array
        What varies.
    r, printed, cauchy_schwarz, product, gain : (points, queries) float arrays
        As in :class:`Predictability`.
    """

    level: FloatArray
    r: FloatArray
    printed: FloatArray
    cauchy_schwarz: FloatArray
    product: FloatArray
    gain: FloatArray


def noise_sweep(
    summary: MomentSummary,
    size: AttackSize,
    covariance: ArrayLike,
    levels: ArrayLike,
    *,
    noise_scale: NoiseScale = "release",
    loss: Loss = "squared",
    tau: ArrayLike | None = None,
    spectrum: NoiseSpectrum | None = None,
) -> Sweep:
    """Return the curves at noise covariance ``level · Σ`` for many levels, from one decomposition (spec 3.2).

    Parameters
    ----------
    levels : (points,) array
        At least 0; for instance variances σ² with Σ the identity.
    spectrum : NoiseSpectrum, optional
        Of ``covariance`` with the noise multiplier of ``noise_scale``, if it is at hand.
    """
    grid = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    if not np.all(np.isfinite(grid) & (grid >= 0.0)):
        raise ParameterError("Noise levels must be numbers of at least 0.", field="levels")
    found = spectrum or noise_spectrum(summary, covariance, size.multiplier(noise_scale))
    printed, sharp = _smoothness_of(loss, summary, tau)
    return _sweep(grid, found.r2(grid), found.variance, summary.query_means, size.effective, loss, printed, sharp)


def fraction_sweep(
    summary: MomentSummary,
    records: int,
    compromised_fractions: ArrayLike,
    covariance: ArrayLike | None = None,
    *,
    noise_scale: NoiseScale = "release",
    loss: Loss = "squared",
    tau: ArrayLike | None = None,
) -> Sweep:
    """Return the curves of a random shard over many compromised fractions (after Cor 3.8, R9)."""
    grid = np.atleast_1d(np.asarray(compromised_fractions, dtype=np.float64))
    sizes = [shard_size(float(fraction), records) for fraction in grid]
    spectrum = noise_spectrum(summary, covariance)
    multipliers = np.array([size.multiplier(noise_scale) for size in sizes])
    effective = np.array([size.effective for size in sizes])
    printed, sharp = _smoothness_of(loss, summary, tau)
    return _sweep(
        grid, spectrum.r2(multipliers), spectrum.variance, summary.query_means, effective[:, None], loss, printed, sharp
    )


def _sweep(
    grid: FloatArray,
    r2: FloatArray,
    variance: FloatArray,
    means: FloatArray,
    effective: float | FloatArray,
    loss: Loss,
    printed: FloatArray,
    sharp: FloatArray,
) -> Sweep:
    r = np.sqrt(r2)
    base = variance * r / effective
    gain = variance * r2 / effective
    if loss == "log":
        spread = 2.0 * means * (1.0 - means)
        gain = np.divide(gain, spread, out=np.zeros_like(gain), where=np.broadcast_to(spread, gain.shape) > 0)
    return Sweep(
        level=grid,
        r=r,
        printed=printed * KAPPA * base,
        cauchy_schwarz=sharp * base,
        product=sharp * base * gaussian_product(r),
        gain=np.asarray(gain),
    )


def noise_level_for(spectrum: NoiseSpectrum, fraction: float, query: int = 0) -> float:
    """Return the level of noise ``level · Σ`` that multiplies r of one query by a factor (spec 3.8).

    Parameters
    ----------
    spectrum : NoiseSpectrum
        Of the noise at level 1.
    fraction : float
        Wanted r over ρ, in (0, 1]. For calibrated noise the answer is 1/fraction² - 1 (Lem 4.3).
    query : int
        Which query.

    Returns
    -------
    float
        0 if ρ is 0 (every level works); infinity if this noise cannot reach it because it leaves a direction bare.
    """
    wanted = float(fraction)
    if not 0.0 < wanted <= 1.0:
        raise ParameterError(
            f"The factor on the noiseless value must be above 0 and at most 1; it is {wanted:g}.", field="fraction"
        )
    parts, ratios = np.square(spectrum.parts[:, query]), spectrum.ratios
    total = float(parts.sum())
    if total == 0.0 or wanted == 1.0 or float(spectrum.variance[query]) == 0.0:
        return 0.0
    share = parts / total
    goal = wanted * wanted
    if float(share[ratios == 0.0].sum()) >= goal:
        return math.inf

    def kept(log_level: float) -> float:
        return float((share / (1.0 + math.exp(log_level) * ratios)).sum())

    used = ratios[(ratios > 0.0) & (share > 0.0)]
    low, high = -math.log(float(used.max())) - 1.0, -math.log(float(used.min())) + 1.0
    while kept(low) <= goal:
        low -= 10.0
    while kept(high) > goal:
        high += 10.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if kept(middle) > goal:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


def noise_level_for_bound(
    summary: MomentSummary,
    size: AttackSize,
    covariance: ArrayLike,
    target: float,
    *,
    curve: Literal["printed", "cauchy_schwarz", "product", "gain"] = "printed",
    query: int = 0,
    noise_scale: NoiseScale = "release",
    loss: Loss = "squared",
    tau: ArrayLike | None = None,
) -> float:
    """Return the level of noise ``level · Σ`` at which a curve of one query equals a target γ.

    Parameters
    ----------
    target : float
        Wanted predictability, above 0, in the unit of the loss.

    Returns
    -------
    float
        0 if the release without noise is below the target already; infinity if this noise cannot reach it.
    """
    goal = check_positive(target, "The target predictability γ", "target")
    multiplier = size.multiplier(noise_scale)
    spectrum = noise_spectrum(summary, covariance, multiplier)
    clean = from_spectrum(summary, spectrum, size, multiplier, level=0.0, loss=loss, tau=tau)
    start = float(clean.curves()[curve][query])
    if start <= goal:
        return 0.0
    fraction = goal / start
    if curve == "gain":
        fraction = math.sqrt(fraction)
    elif curve == "product":
        rho = float(clean.r[query])
        low, high = 0.0, 1.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            there = middle * float(gaussian_product(middle * rho)) / float(gaussian_product(rho))
            low, high = (middle, high) if there < fraction else (low, middle)
        fraction = high
    return noise_level_for(spectrum, fraction, query)


__all__ = [
    "KAPPA",
    "AttackSize",
    "Form",
    "Loss",
    "NoiseScale",
    "Predictability",
    "Sweep",
    "default_tau",
    "expected_loss",
    "fraction_sweep",
    "from_spectrum",
    "gaussian_product",
    "loss_curvature",
    "noise_level_for",
    "noise_level_for_bound",
    "noise_sweep",
    "predictability",
    "product_bound",
    "sample_attack_size",
    "shard_size",
    "smoothness",
]
