"""Errata of locally private inference that change a number: as printed, and corrected (spec section 4)."""

from __future__ import annotations

import math

import numpy as np

from privexplorer.causal import (
    ATE,
    ATT,
    LAW_A,
    LAW_B,
    AlphaIdentity,
    GaussianNoise,
    RandomisedResponse,
    UniformNoise,
    constant_under_raw_density,
    decomposition,
    efficiency_bound,
    extension_bound,
    inverse_variance_bounds,
    kernel_regression,
    ltv_of_ldp,
    offset_root,
    private_influence,
    second_moment,
    squared_kernel_mean,
    squared_loss_gradient,
    uniform_levels,
)
from privexplorer.causal.operators import invert, mix
from privexplorer.studies._effect_claims import SIX_SHOWN
from privexplorer.studies._geometric import Slope, regression
from privexplorer.studies._reproduced import Erratum

BESIDE_EXACT = frozenset({"E3", "E8"})
"""Bounds that are shown beside the exact number, which is no bound itself."""
WITHOUT_NUMBER = (
    ("E7", "Ex. 7 and 8 ask for a consistent regression; it cancels, so none is needed."),
    ("E12", "The range of γ must not hold 0, where the effect on the treated is singular."),
    ("E13", "Ex. 9 needs additivity and a sum over all regressions."),
    ("E14", "A wrong sign, a missing 1/n and two wrong subscripts in proofs."),
    ("E15", "Unbiasedness of the cell mean holds given that the cell is not empty."),
    ("E17", "α = 1 is left out of (15); it is the case without privacy."),
    ("E18", "Ex. 2 and 3 print capital X and D inside functions of (v, x), where small letters are meant."),
    ("E19", "“Smaller α is stricter” speaks of total variation only; see the privacy profile."),
    ("E20", "Assumption 2 asks more of general mechanisms than is needed."),
    ("E21", "The exponent of n is multiplied by 2a; “a loss of n²ᵃ” is printed."),
    ("E22", "A compact operator need be neither injective nor have a bounded inverse."),
)
"""Errata that change words, not numbers."""


def errata() -> tuple[Erratum, ...]:
    """Return all of them that have a number, printed beside corrected."""
    return (
        _sign(), *_levels(), _loose(), _off_the_data(), _root(), _gradient(), _factor(), *_constants(), _square(),
        _bounded(), _thirds(),
    )  # fmt: skip


def _sign() -> Erratum:
    target = ATT()
    value = target.value(LAW_A)
    printed, corrected = (
        value + LAW_A.mean(h) for h in (target.influence(LAW_A, printed=True), target.influence(LAW_A))
    )
    return Erratum("E1", "Ex. 3", "one-step at the true nuisances (truth 0.18)", printed, corrected)


def _levels() -> tuple[Erratum, ...]:
    return (
        Erratum(
            "E2", "after Ex. 1", "level of randomised response, J = 5, ε = 0.5", math.expm1(0.5),
            RandomisedResponse(5, 0.5).ltv(),
        ),
        Erratum(
            "E2b", "Lemma 6", "level from (ε, δ) = (1, 0.05); 1 says nothing", math.e - 1 + 0.05, ltv_of_ldp(1.0, 0.05)
        ),
    )  # fmt: skip


def _loose() -> Erratum:
    parts = decomposition(LAW_A, ATE(), uniform_levels(3))
    at = np.array(0.2)
    return Erratum(
        "E3",
        "(18)",
        "upper bound on the variance, and that variance, α = 0.2",
        float(parts.printed_band(at)[1]),
        float(parts.variance(at)),
    )


def _off_the_data() -> Erratum:
    joint = np.concatenate([LAW_B.joint, np.zeros((2, 2, 1))], axis=2)
    mechanism = AlphaIdentity(0.5, uniform_levels(3))
    h = np.concatenate([ATE().influence(LAW_B), np.zeros((2, 2, 1))], axis=2)
    extended = second_moment(private_influence(h, mechanism), mix(mechanism, joint))
    return Erratum(
        "E4", "Lemma 1(iii), Thm 2", "bound, noise on a value nobody has (score 0 there)", extended,
        extension_bound(h, joint, mechanism).bound,
    )  # fmt: skip


def _root() -> Erratum:
    form, error = offset_root(1e6, 0.3)
    return Erratum("E5", "Prop. 2", "√n × (form, said to vanish; error), n = 10⁶", form, error)


def _gradient() -> Erratum:
    one = (np.array([1.0]), np.array([0.5]), np.ones((1, 1)))
    return Erratum(
        "E6", "Cor. 2", "slope of (1 − θ)² at θ = ½", float(squared_loss_gradient(*one, printed=True)[0, 0]),
        float(squared_loss_gradient(*one)[0, 0]),
    )  # fmt: skip


def _factor() -> Erratum:
    mechanism = AlphaIdentity(0.2, uniform_levels(3))
    h = ATE().influence(LAW_A)
    shown = LAW_A.privatised(mechanism)
    square = float(np.sum(shown * h**2))
    inverse = invert(mechanism, h)
    variance = float(np.sum(shown * inverse**2) - np.sum(shown * inverse) ** 2)
    if variance > inverse_variance_bounds(AlphaIdentity(0.2, UniformNoise(0.0, 1.0)))[0] * square:
        raise ArithmeticError("The variance exceeds its bound.")
    return Erratum("E8", "Ex. 12", "bound on a variance, and that variance", square, variance)


def _constants() -> tuple[Erratum, ...]:
    narrow = AlphaIdentity(0.3, GaussianNoise(0.0, 0.5))
    wide = AlphaIdentity(0.6, GaussianNoise(0.0, 1.0))
    both = [
        float(
            kernel_regression(
                SIX_SHOWN, np.ones(6), wide, (-2.0, 2.0), at=[0.2], bandwidth=0.5, density=form
            ).regression[0]
        )
        for form in ("printed", "smoothed")
    ]  # fmt: skip
    return (
        Erratum(
            "E9", "Ex. 11", "curve at 0 where the outcome is always 1",
            constant_under_raw_density(0.0, narrow, 0.3), 1.0,
        ),
        Erratum("E9b", "Ex. 11", "the same at 1", constant_under_raw_density(1.0, narrow, 0.3), 1.0),
        Erratum("E9c", "(23)–(24)", "the same, six points", *both),
    )  # fmt: skip


def _square() -> Erratum:
    exact, printed, _ = squared_kernel_mean(0.3, 0.4)
    return Erratum("E10", "Ex. 11", "mean of a squared kernel", printed, exact)


def _bounded() -> Erratum:
    mu, average = regression("bowl"), Slope(law="uniform", step=0.2)
    return Erratum(
        "E11", "Ex. 4", "average slope of x² on [0, 1] by its weights", average.weighted(mu), average.value(mu)
    )


def _thirds() -> Erratum:
    bound = efficiency_bound(LAW_A, ATE(), AlphaIdentity(0.5, uniform_levels(3)))
    return Erratum("E16", "Cor. 1", "n × variance, three thirds used once or in turn", 3 * bound, bound)


__all__ = ["BESIDE_EXACT", "WITHOUT_NUMBER", "errata"]
