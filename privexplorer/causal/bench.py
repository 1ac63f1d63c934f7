"""Every identity and inequality of sections 1.1 to 1.6 of locally_private_inference on one law and one mechanism.

For the identity bench (view 13): a row per statement with its live error, or its slack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.causal import operators
from privexplorer.causal.laws import FiniteLaw, table_regression
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteNoise, ltv_of_ldp, posterior
from privexplorer.causal.operators import Finite
from privexplorer.causal.targets import Target
from privexplorer.causal.theory import (
    bias_expansion,
    decompose,
    gateaux_check,
    private_influence,
    second_moment,
)

Kind = Literal["identity", "difference quotient", "inequality"]

TOLERANCE: dict[Kind, float] = {"identity": 1e-9, "difference quotient": 1e-7, "inequality": 1e-12}
"""Relative error up to which a row counts as true."""

_EPSILONS = (0.1, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class BenchRow:
    """One statement, checked.

    Attributes
    ----------
    name, source : str
        What it says, and its label in locally_private_inference.
    kind : str
        "identity", "difference quotient" or "inequality".
    left, right : float
        Both sides at the draw; for statements about many numbers, those farthest apart.
    size : float
        Relative error of an identity, relative slack of an inequality (negative if it fails).
    """

    name: str
    source: str
    kind: Kind
    left: float
    right: float
    size: float

    @property
    def holds(self) -> bool:
        """Whether the statement is true up to rounding."""
        return self.size >= -TOLERANCE[self.kind] if self.kind == "inequality" else self.size <= TOLERANCE[self.kind]


def _equal(
    name: str, source: str, left: object, right: object, kind: Kind = "identity", scale: float = 1.0
) -> BenchRow:
    first, second = np.broadcast_arrays(np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64))
    gap = np.abs(first - second).reshape(-1)
    worst = int(np.argmax(gap))
    size = float(gap[worst]) / max(1.0, scale, float(np.abs(second).max()))
    return BenchRow(name, source, kind, float(first.reshape(-1)[worst]), float(second.reshape(-1)[worst]), size)


def _least(name: str, source: str, left: float, right: float) -> BenchRow:
    return BenchRow(name, source, "inequality", left, right, (right - left) / max(abs(right), 1e-300))


def identity_bench(law: FiniteLaw, target: Target, mechanism: Finite, rng: np.random.Generator) -> tuple[BenchRow, ...]:
    """Check every statement that applies to a positive law, a target and a mechanism over its categories.

    Parameters
    ----------
    law : FiniteLaw
        With positive cells.
    target : Target
        Any target that is defined on categories.
    mechanism : AlphaIdentity or FiniteMechanism
        Over the categories of the law.
    rng : Generator
        Draws the functions and wrong nuisances that statements "for all" are tried on.

    Examples
    --------
    >>> from privexplorer.causal.laws import LAW_A
    >>> from privexplorer.causal.mechanisms import uniform_levels
    >>> from privexplorer.causal.targets import ATE
    >>> rows = identity_bench(LAW_A, ATE(), AlphaIdentity(0.5, uniform_levels(3)), np.random.default_rng(0))
    >>> len(rows), all(row.holds for row in rows)
    (46, True)
    """
    h, k = rng.standard_normal((2, *law.joint.shape))
    return (
        *_of_the_target(law, target, rng),
        *_of_the_operator(law, mechanism, h, k),
        *_of_the_private_score(law, target, mechanism, rng),
        *_of_the_levels(mechanism),
        *_of_the_norms(law, mechanism, h, k),
    )


def _random_tables(target: Target, law: FiniteLaw, rng: np.random.Generator) -> list[FloatArray]:
    return [rng.standard_normal((2 if arms else 1, law.levels)) for arms in target.on_arms()]


def _of_the_target(law: FiniteLaw, target: Target, rng: np.random.Generator) -> list[BenchRow]:
    truth = target.nuisances(law)
    tables = _random_tables(target, law, rng)
    others = _random_tables(target, law, rng)
    by_f = target.mean_integrand(law, tables, truth.gammas)
    by_r = sum(
        float(np.sum((law.p_dx if len(table) > 1 else law.p_x) * r * table))
        for r, table in zip(truth.representers, tables, strict=True)
    )
    both = [2.0 * first - 3.0 * second for first, second in zip(tables, others, strict=True)]
    apart = 2.0 * by_f - 3.0 * target.mean_integrand(law, others, truth.gammas)
    h = target.influence(law)
    size = float(np.abs(h).max())
    residual = [
        law.mean((m - table_regression(mu)(law.points)) * table_regression(t)(law.points))
        for m, mu, t in zip(target.moments(law.points), truth.regressions, tables, strict=True)
    ]
    rows = [
        _equal("Target from the integrand and from the representer", "(10)", by_f, by_r, scale=size),
        _equal("Integrand is linear in the regression", "(5)", target.mean_integrand(law, both, truth.gammas), apart),
        _equal("Residuals are orthogonal to functions of (v, x)", "(36)", residual, 0.0),
        _equal("Influence function is centred", "Prop. 1", law.mean(h), 0.0, scale=size),
    ]
    if len(tables) == 1:
        wide = tables[0] if len(tables[0]) > 1 else tables[0][0]
        weights = law.p_dx if len(tables[0]) > 1 else law.p_x
        r = truth.representers[0] if len(tables[0]) > 1 else truth.representers[0][0]
        gain = target.representer_loss(law, tables[0]) - target.representer_loss(law, truth.representers[0])
        rows.append(
            _equal(
                "Excess loss of a wrong representer", "(31)", gain, float(np.sum(weights * (wide - r) ** 2)), scale=size
            )
        )
    along = gateaux_check(law, target, rng.uniform(-1.0, 1.0, law.joint.shape))
    rows.append(
        _equal(
            "Derivative along a path",
            "Prop. 1, (35)",
            along.difference,
            along.inner_product,
            "difference quotient",
            size,
        )
    )
    wrong = truth.replaced(
        regressions=tables,
        representers=others,
        gammas=truth.gammas * 1.2 + 0.05,
        shares=truth.shares * 0.9,
        slopes=truth.slopes + 0.3,
        value=0.7,
    )
    bias = bias_expansion(law, target, wrong)
    rows.append(_equal("Exact bias at wrong nuisances", "Thm 1", bias.error, bias.total))
    rows.append(_least("Product of the errors against their norms", "section 6", abs(bias.product), bias.product_limit))
    return rows


def _of_the_operator(law: FiniteLaw, mechanism: Finite, h: FloatArray, k: FloatArray) -> list[BenchRow]:
    p, shown = law.joint, law.privatised(mechanism)
    undone = operators.invert(mechanism, h)
    scale = float(np.abs(undone).max())
    joint = law.with_shown(mechanism)
    flat = np.broadcast_to(h[..., :1], h.shape)
    rows = [
        _equal("Law of what is shown adds up to one", "(11)", shown.sum(), 1.0),
        _equal("Published columns keep their law", "(11)", shown.sum(axis=2), law.p_v),
        _equal("Law is recovered from what is shown", "(14)", operators.unmix(mechanism.finite().matrix, shown), p),
        _equal("Joint law has both margins", "(50)", [joint.sum(axis=3), joint.sum(axis=2)], [p, shown]),
        _equal("Posterior of the true value adds up to one", "Lem 4", posterior(mechanism, p).sum(axis=-1), 1.0),
        _equal("Operator undoes its inverse", "Lem 3", operators.apply(mechanism, undone), h, scale=scale),
        _equal("Functions of what is published stay", "Lem 3", operators.invert(mechanism, flat), flat, scale=scale),
        _equal("Signed weights add up to one", "Lem 3", mechanism.finite().inverse.sum(axis=0), 1.0, scale=scale),
        _equal("Change of measure", "(22)", float(np.sum(shown * undone)), law.mean(h), scale=scale),
        _equal(
            "Adjoint",
            "Lem 3(ii)",
            law.mean(operators.apply(mechanism, k) * h),
            float(np.sum(shown * k * operators.adjoint(mechanism, h, p))),
        ),
    ]
    if isinstance(mechanism, AlphaIdentity):
        rows.append(
            _equal(
                "Adjoint by the posterior of keeping",
                "Lem 4(vii)",
                operators.adjoint_by_posterior(mechanism, h, p),
                operators.adjoint(mechanism, h, p),
            )
        )
    dimension = law.joint.size - 1
    rank = operators.tangent_rank(mechanism.finite().matrix, p)
    rows.append(_equal("Dimension of the tangent space", "Lem 1", rank, dimension))
    return rows


def _of_the_private_score(
    law: FiniteLaw, target: Target, mechanism: Finite, rng: np.random.Generator
) -> list[BenchRow]:
    h = target.influence(law)
    psi, shown = private_influence(h, mechanism), law.privatised(mechanism)
    size = float(np.abs(psi).max())
    along = gateaux_check(law, target, rng.uniform(-1.0, 1.0, law.joint.shape), mechanism)
    variance = second_moment(psi, shown)
    rows = [
        _equal("Private influence function is centred", "Thm 2", float(np.sum(shown * psi)), 0.0, scale=size),
        _equal(
            "Derivative along a path of what is shown",
            "Thm 2",
            along.difference,
            along.inner_product,
            "difference quotient",
            size,
        ),
        _equal("Variance from both laws", "(17)", law.mean(operators.apply(mechanism, psi**2)), variance),
    ]
    if isinstance(mechanism, AlphaIdentity) and isinstance(mechanism.noise, FiniteNoise):
        keep = mechanism.keep_probability
        parts = decompose(h, law.joint, mechanism.noise.probabilities)
        rows.append(_equal("Variance in three parts", "derived", float(parts.variance(keep)), variance))
        for words, source, band in (
            ("Printed bounds", "(18)", parts.printed_band(keep)),
            ("Tight bounds", "derived", parts.tight_band(keep)),
        ):
            rows.append(_least(f"{words}: from below", source, float(band[0]), variance))
            rows.append(_least(f"{words}: from above", source, variance, float(band[1])))
    return rows


def _of_the_levels(mechanism: Finite) -> list[BenchRow]:
    level = mechanism.ltv()
    deltas = [mechanism.ldp_delta(epsilon) for epsilon in _EPSILONS]
    promised = min(ltv_of_ldp(epsilon, min(1.0, delta)) for epsilon, delta in zip(_EPSILONS, deltas, strict=True))
    rows = [
        _least("Slack never exceeds the total-variation level", "Lem 6", max(deltas), level),
        _least("Total variation from local privacy", "Lem 6, E2", level, promised),
    ]
    if isinstance(mechanism, AlphaIdentity):
        finite = mechanism.finite()
        rows.append(
            _equal("Slack by formula and by enumeration", "derived", deltas, [finite.ldp_delta(e) for e in _EPSILONS])
        )
    return rows


def _of_the_norms(law: FiniteLaw, mechanism: Finite, h: FloatArray, k: FloatArray) -> list[BenchRow]:
    def flat(table: FloatArray) -> FloatArray:
        return table.reshape(-1, law.levels)

    found = operators.inequalities(mechanism, flat(law.joint), flat(h), flat(k))
    return [_least(one.name, one.source, float(one.left), float(one.right)) for one in found]


__all__ = ["TOLERANCE", "BenchRow", "Kind", "identity_bench"]
