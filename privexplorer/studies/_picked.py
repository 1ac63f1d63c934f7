"""Leaks without a large-sample theory: people picked by hand, or everybody but one (predictability, Def 2.1, §2.1).

The attacker is that of the simulated attacks, who treats its records as a random shard of the same size. There is one
leak (or one per person left out) and the noise is averaged in closed form, so nothing is drawn and all is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray, IntArray
from privexplorer.privacy import PureDP
from privexplorer.studies import _leaks as leaking
from privexplorer.studies.result import Formula

MOST_LEFT_OUT = 5_000
"""Most people who are left out in turn; among more, every k-th person is."""
WHY_PICKED = (
    "No large-sample theory applies to people picked by hand (Assumption 3.1 fails: not everybody has a chance to "
    "leak), so no bound is drawn; shown instead is the exact gain of the attacker who treats its records as a random "
    "shard, which may be below 0."
)
WHY_ONE = (
    "No large-sample theory applies where one person only is unknown, so no bound is drawn; shown instead is the exact "
    "gain of the best linear answer about that person, averaged over the people left out in turn. The compromised "
    "fraction plays no part. Thm A.9 bounds the gain under log loss by the ε of pure differential privacy."
)

NEITHER = "For this leak there is no formula either; choose another release or leak."


@dataclass(frozen=True, eq=False)
class Exact:
    """What an attacker gains at some leaks and noises, for one question.

    Attributes
    ----------
    drop, before, after : (cases,) float arrays
        Drop of the loss, and mean squared errors without and with the release.
    """

    drop: FloatArray
    before: FloatArray
    after: FloatArray


def exact_sums(leaks: leaking.Leaks, counts: IntArray) -> tuple[leaking.Leaks, FloatArray]:
    """Return the leaks and their sums ``(trials, numbers, points)``: one trial, or one per person left out.

    Parameters
    ----------
    leaks : Leaks
        Whose process always picks the same people, or everybody but one.
    counts : (points,) int array
        Numbers of picked people, increasing; not used for everybody but one.
    """
    if not isinstance(leaks.process, pr.AllButOneProcess):
        now = replace(leaks, counts=counts, block_trials=1)
        return now, leaking.run_leaks(now, 0)
    people, k = leaks.people, leaks.questions
    out = np.arange(0, people, math.ceil(people / MOST_LEFT_OUT))
    moments = leaks.rows[1 + k :]
    products = np.einsum("in,jn->ij", leaks.rows, moments)
    left = leaks.rows[:, out]
    parts = [
        leaks.rows.sum(axis=1) - left.T,
        (products - np.einsum("in,jn->nij", left, left[1 + k :])).reshape(out.size, -1),
    ]
    if leaks.design is not None:
        some = leaks.design[:, out][:, :, None]
        one = leaks.release.jacobian_at(
            some, np.broadcast_to(leaks.parameters, (out.size, leaks.parameters.size)), None
        )
        parts.append((people * leaks.jacobian - one).reshape(out.size, -1))
    now = replace(leaks, counts=np.array([people - 1]))
    return now, np.concatenate(parts, axis=1)[:, :, None]


def exact_attacks(leaks: leaking.Leaks, sums: FloatArray, place: int) -> leaking.Attacks:
    """Return the attacks on one question; errors are about the people left, whom nobody drew at random."""
    found = leaking.unpack(leaks, sums, place)
    factor = 1.0 / (1.0 - found.share * leaks.counts[:, None] / leaks.people)
    return replace(found, factor=factor, is_shard=True)


def exact_gain(
    attacks: leaking.Attacks,
    points: IntArray,
    covariances: FloatArray,
    people: int,
    loss: Literal["squared", "log"],
    tau: float | None = None,
) -> Exact:
    """Return the gain at each leak and noise Σ ``(cases, d, d)``, averaged over the people left out."""
    multipliers = np.array(
        [pr.shard_size(float(attacks.counts[at] / people), people).noise_multiplier for at in points]
    )
    log = loss == "log" and 0.0 < attacks.mean < 1.0
    drops, errors = leaking.loss_drops(attacks, points, covariances, multipliers, "log" if log else "squared", tau=tau)
    drops = np.where(np.abs(drops) > 1e-13 * (errors[0] + errors[1]), drops, 0.0)  # rounding is no gain
    return Exact(drops.mean(axis=1), errors[0].mean(axis=1), errors[1].mean(axis=1))


def gains_of(
    leaks: leaking.Leaks,
    sums: FloatArray,
    points: IntArray,
    covariances: FloatArray,
    loss: Any,
    tau: float | None = None,
) -> Callable[[int], Exact]:
    """Return the gains of any question at these leaks and noises."""

    def of(place: int) -> Exact:
        return exact_gain(exact_attacks(leaks, sums, place), points, covariances, leaks.people, loss, tau)

    return of


def formulas(
    leaks: leaking.Leaks,
    sums: FloatArray,
    place: int,
    here: int,
    found: tuple[float, float, float],
    loss: str,
    law: pr.NoiseLaw,
) -> tuple[Formula, ...]:
    """Write the exact errors and the gain ``found`` (before, after, drop) with the present numbers."""
    attacks = exact_attacks(leaks, sums, place)
    start, end, gain = found
    told = rf"{start:.4g}-{end:.4g}={start - end:.4g}"
    if loss == "log":
        told += rf",\quad\text{{drop of the log loss: }}{gain:.4g}"
    if isinstance(leaks.process, pr.AllButOneProcess):
        out = [
            Formula(
                "Error about the one unknown person",
                r"\frac1N\sum_i(\bar q_{-i}-q_i)^2=\frac{N}{N-1}\cdot\frac{N}{N-1}V_q",
                f"{start:.6g}",
                "exact",
                "before Def 2.6",
            ),
            Formula(
                "Gain of the best linear answer",
                r"\frac1N\sum_i\left[(\bar q_{-i}-q_i)^2-E_\Delta(\hat\theta_i-q_i)^2\right]",
                told,
                "exact",
                "Def 2.3, for this attacker",
            ),
        ]
        if isinstance(law.guarantee, PureDP):
            out.append(
                Formula(
                    "What differential privacy says",
                    r"\gamma\le\varepsilon\quad\text{(log loss)}",
                    rf"\varepsilon={law.guarantee.epsilon:.4g}",
                    "bound",
                    "Thm A.9",
                )
            )
        return tuple(out)
    missed = float(attacks.before[here, 0])
    known = attacks.mean + missed
    left = round(attacks.mean - missed * (float(attacks.factor[here, 0]) - 1.0), 12) + 0.0
    return (
        Formula(
            "Error without the release",
            r"(\bar q_C-p_U)^2",
            rf"({known:.4g}-{left:.4g})^2={start:.4g}",
            "exact",
            "Def 2.1",
        ),
        Formula(
            "Gain of this attacker",
            r"(\bar q_C-p_U)^2-E_\Delta(\hat\theta_{C,A}-p_U)^2",
            told,
            "exact",
            "Def 2.3, for this attacker; Assumption 3.1 fails",
        ),
    )


def picked_order(liked: Sequence[Any] | FloatArray) -> IntArray:
    """Return people in the order in which they are picked: those who are liked first, in table order.

    Examples
    --------
    >>> picked_order([0, 1, 0, 1])
    array([1, 3, 0, 2])
    """
    return np.argsort(-np.asarray(liked, dtype=np.float64), kind="stable").astype(np.int64)


__all__ = [
    "MOST_LEFT_OUT", "NEITHER", "WHY_ONE", "WHY_PICKED", "Exact", "exact_attacks", "exact_gain", "exact_sums",
    "formulas", "gains_of", "picked_order",
]  # fmt: skip
