"""From one guarantee to another, and to groups of people: every valid conversion with its source.

Holds lower_bounds Lem 2 (group privacy) and Lem 8; markov_random_fields Lem 45 (zCDP) and its inverse;
locally_private_inference Lem 6 (total variation, printed and tight). "Tight" means: some mechanism attains it.
The worst mechanism with (ε, δ)-privacy tells everything with probability δ and otherwise answers by binary
randomised response, so its curve

    δ(x) = δ + (1 - δ) (e^ε - e^x)⁺ / (1 + e^ε)

holds for all; the tight forms below are values of it (checked in tests/unit/privacy/test_conversions.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, cast

from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.privacy._roots import bisect
from privexplorer.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    Guarantee,
    LocalDP,
    Model,
    Neighbours,
    PureDP,
    TotalVariation,
    check_delta,
    check_epsilon,
)

Rule = Literal["tight", "printed"]
GuaranteeT = TypeVar("GuaranteeT", bound=Guarantee)

_SLACK = 1e-12  # relative rounding that a comparison of two levels forgives


# --- levels: pure and approximate ---------------------------------------------------------------------------


def approx_delta_at(epsilon: float, delta: float, at_epsilon: float) -> float:
    """Smallest δ that (ε, δ)-privacy promises at another ε; tight.

    Parameters
    ----------
    epsilon, delta : float
        What is promised: epsilon >= 0, delta in [0, 1].
    at_epsilon : float
        Where the slack is asked for, >= 0.

    Returns
    -------
    float
        δ in [0, 1]; ``delta`` itself from ``epsilon`` on. Derived, checked in tests/unit/privacy/test_conversions.py;
        at 0 it is the tight form of locally_private_inference, Lem 6.

    Examples
    --------
    >>> approx_delta_at(1.0, 0.0, 1.0), round(approx_delta_at(1.0, 0.0, 0.0), 6)
    (0.0, 0.462117)
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_epsilon(at_epsilon)
    if at_epsilon >= epsilon:
        return delta
    # (e^ε - e^x) / (1 + e^ε) with the large exponential taken out
    lost = -math.expm1(at_epsilon - epsilon) / (1.0 + math.exp(-epsilon))
    return delta + (1.0 - delta) * lost


def approx_epsilon_at(epsilon: float, delta: float, at_delta: float) -> float:
    """Smallest ε that (ε, δ)-privacy promises with another, larger slack; tight inverse of ``approx_delta_at``.

    Raises
    ------
    UnsupportedCombination
        If ``at_delta`` is below ``delta``: no ε makes up for that.

    Examples
    --------
    >>> round(approx_epsilon_at(1.0, 0.0, 0.1), 6)
    0.852905
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_delta(at_delta)
    if at_delta < delta:
        raise UnsupportedCombination(
            f"A slack of δ = {delta:g} cannot be lowered to {at_delta:g} by any ε; ask for at least {delta:g}.",
            field="delta",
        )
    if delta == 1.0:
        return epsilon
    spent = (at_delta - delta) / (1.0 - delta) * (1.0 + math.exp(-epsilon))
    if spent >= -math.expm1(-epsilon):
        return 0.0
    return epsilon + math.log1p(-spent)


def pure_to_approx(epsilon: float, at_epsilon: float) -> float:
    """δ of an ε-private mechanism at a smaller ε: (e^ε - e^x) / (1 + e^ε); tight (derived, see ``approx_delta_at``)."""
    return approx_delta_at(epsilon, 0.0, at_epsilon)


def pure_sum_to_approx(total_epsilon: float, epsilon: float) -> float:
    """δ such that (ε + δ)-pure privacy gives (ε, δ): the difference (lower_bounds, Lem 8).

    Raises
    ------
    ParameterError
        If ``epsilon`` is above ``total_epsilon``.
    """
    check_epsilon(total_epsilon)
    check_epsilon(epsilon)
    if epsilon > total_epsilon:
        raise ParameterError(
            f"The ε to keep must be at most the total {total_epsilon:g}; it is {epsilon:g}.", field="epsilon"
        )
    return min(1.0, total_epsilon - epsilon)


def approx_test_to_pure(epsilon: float, delta: float, mixing: float) -> float:
    """ε of a yes/no test after its answer is mixed with a fair toss (lower_bounds, Lem 9 with explicit constant).

    The acceptance probability f becomes ``mixing + (1 - 2 mixing) f``: each error grows by at most ``mixing``, and
    the test is purely private with ε + δ (1 - 2 mixing) / mixing.

    Raises
    ------
    ParameterError
        If ``mixing`` lies outside (0, 1/2).

    Examples
    --------
    >>> approx_test_to_pure(1.0, 0.5, 0.05)
    10.0
    """
    check_epsilon(epsilon)
    check_delta(delta)
    if not 0 < mixing < 0.5:
        raise ParameterError(
            f"The share of fair tosses must lie strictly between 0 and 1/2; it is {mixing:g}.", field="mixing"
        )
    return epsilon + delta * (1.0 - 2.0 * mixing) / mixing


# --- levels: zCDP -------------------------------------------------------------------------------------------


def pure_to_zcdp(epsilon: float, rule: Rule = "tight") -> float:
    """Level ρ of an ε-private mechanism.

    Parameters
    ----------
    epsilon : float
        Pure privacy loss, >= 0.
    rule : {"tight", "printed"}
        ``"printed"``: ε²/2 (markov_random_fields, Lem 45). ``"tight"``: ε·tanh(ε/2), which no formula in ε beats.

    Returns
    -------
    float
        ρ >= 0.

    Notes
    -----
    Reason for the tight form. Binary randomised response is the worst ε-private mechanism for every Rényi order
    a, and (a - 1) D_a = ln cosh((a - 1/2) ε) - ln cosh(ε/2). As a function of s = (a - 1/2)² the first term is
    concave (tanh(u)/u falls), so it lies below its tangent at s = 1/4, whose slope is ε·tanh(ε/2); and
    s - 1/4 = a (a - 1). Equality as a → 1. Checked in tests/unit/privacy/test_conversions.py.

    Examples
    --------
    >>> pure_to_zcdp(1.0, "printed"), round(pure_to_zcdp(1.0), 6)
    (0.5, 0.462117)
    """
    check_epsilon(epsilon)
    return epsilon * epsilon / 2.0 if rule == "printed" else epsilon * math.tanh(epsilon / 2.0)


def laplace_to_zcdp(epsilon: float) -> float:
    """Level ρ of the Laplace mechanism: ε - 1 + e^(-ε), the mean privacy loss (derived, checked numerically).

    Smaller than ``pure_to_zcdp`` since the Laplace mechanism is not the worst ε-private one.

    Examples
    --------
    >>> round(laplace_to_zcdp(1.0), 6)
    0.367879
    """
    check_epsilon(epsilon)
    if epsilon < 1e-3:  # the series keeps the digits that the difference loses
        return epsilon * epsilon * (1 / 2 - epsilon * (1 / 6 - epsilon / 24))
    return epsilon + math.expm1(-epsilon)


def bounded_range_to_zcdp(epsilon: float) -> float:
    """Level ρ where the log ratio of the probabilities has range at most ε: ε²/8 (markov_random_fields, section 1).

    Holds for the exponential mechanism, which is four times better than its pure guarantee says.
    """
    check_epsilon(epsilon)
    return epsilon * epsilon / 8.0


def zcdp_delta_at(rho: float, epsilon: float) -> float:
    """Bound on δ that ρ-zCDP gives at ε: best Rényi order, standard fact (tighter than the printed Lem 45).

    δ = min over a > 1 of exp((a - 1)(aρ - ε)) (1 - 1/a)^a / (a - 1), at most 1. Every order is valid, so rounding
    of the best one does no harm. The logarithm is convex in a.

    Examples
    --------
    >>> zcdp_delta_at(0.0, 0.0), f"{zcdp_delta_at(0.1, 2.0):.6e}"
    (0.0, '4.325211e-06')
    """
    _check_rho(rho)
    check_epsilon(epsilon)
    if rho == 0:
        return 0.0

    def slope(log_excess: float) -> float:
        excess = math.exp(log_excess)  # a - 1
        return (2.0 * excess + 1.0) * rho - epsilon + log_excess - math.log1p(excess)

    low, high = -(rho + 2.0), math.log((epsilon + 1.0) / (2.0 * rho) + 1.0)
    while slope(low) >= 0:
        low -= 1.0 + abs(low)
    best, _ = bisect(slope, low, high)
    excess = math.exp(best)
    log_delta = excess * ((1.0 + excess) * rho - epsilon) - best + (1.0 + excess) * (best - math.log1p(excess))
    return min(1.0, math.exp(log_delta)) if log_delta < 0 else 1.0


def zcdp_to_approx(rho: float, delta: float, rule: Rule = "tight") -> float:
    """ε that ρ-zCDP gives with slack δ.

    Parameters
    ----------
    rho : float
        Level, >= 0.
    delta : float
        Slack in (0, 1].
    rule : {"tight", "printed"}
        ``"printed"``: ρ + 2·sqrt(ρ ln(1/δ)) (markov_random_fields, Lem 45). ``"tight"``: best Rényi order, see
        ``zcdp_delta_at``; never larger.

    Raises
    ------
    UnsupportedCombination
        If ``delta`` is 0 while ``rho`` is not: Gaussian-like tails have no pure guarantee.

    Examples
    --------
    >>> round(zcdp_to_approx(0.1, 1e-6, "printed"), 6), round(zcdp_to_approx(0.1, 1e-6), 6)
    (2.450788, 2.141939)
    """
    _check_rho(rho)
    check_delta(delta)
    if rho == 0:
        return 0.0
    if delta == 0:
        raise UnsupportedCombination(
            "zCDP with ρ above 0 gives no pure guarantee, so δ must be above 0; try 1e-6.", field="delta"
        )
    printed = rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))
    if rule == "printed":
        return printed
    if delta == 1:
        return 0.0
    log_inverse = -math.log(delta)
    # order a = 1 + x gives aρ + (ln(1/δ) - ln a)/x + ln(1 - 1/a), least where ρx² = ln(1/δ) - ln a

    def slope(log_excess: float) -> float:
        excess = math.exp(log_excess)
        return rho * excess * excess + math.log1p(excess) - log_inverse

    high = math.log(log_inverse / rho) / 2.0 + 1.0
    low = min(high, math.log(math.expm1(min(log_inverse, 700.0)))) - 1.0
    while slope(low) >= 0:
        low -= 1.0
    while slope(high) < 0:
        high += 1.0
    log_excess, _ = bisect(slope, low, high)
    excess = math.exp(log_excess)
    lost = math.log1p(excess)
    epsilon = max(0.0, (1.0 + excess) * rho + (log_inverse - lost) / excess + log_excess - lost)
    while zcdp_delta_at(rho, epsilon) > delta:  # end on the safe side of the rounding
        epsilon = epsilon * (1.0 + 1e-14) + 1e-300
    return min(epsilon, printed)


def zcdp_for_approx(epsilon: float, delta: float, rule: Rule = "tight") -> float:
    """Largest ρ whose zCDP gives (ε, δ): the budget that an (ε, δ) promise leaves.

    ``"printed"``: (sqrt(L + ε) - sqrt(L))² with L = ln(1/δ) (markov_random_fields, inverse of Lem 45).
    ``"tight"``: inverse of ``zcdp_delta_at``; never smaller.

    Examples
    --------
    >>> round(zcdp_for_approx(1.0, 1e-6, "printed"), 6), round(zcdp_for_approx(1.0, 1e-6), 6)
    (0.017469, 0.024356)
    """
    check_epsilon(epsilon)
    if not 0 < delta < 1:
        raise ParameterError(f"δ must lie strictly between 0 and 1; it is {delta:g}.", field="delta")
    log_inverse = math.log(1.0 / delta)
    printed = (epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))) ** 2
    if rule == "printed":
        return printed
    target = math.log(delta)

    def excess(log_rho: float) -> float:
        return math.log(max(zcdp_delta_at(math.exp(log_rho), epsilon), 5e-324)) - target

    low = math.log(max(printed, 1e-300))
    high = low + 1.0
    while excess(high) < 0:
        high += 1.0
    while excess(low) > 0:
        low -= 1.0
    return math.exp(bisect(excess, low, high)[0])


def zcdp_to_total_variation(rho: float) -> float:
    """Bound on the total-variation level of ρ-zCDP: min(sqrt(ρ/2), sqrt(1 - e^(-ρ))).

    The mean privacy loss (relative entropy) is at most ρ; first form lower_bounds, Lem 4 (corrected), second form the
    standard bound for large relative entropy.
    """
    _check_rho(rho)
    return min(math.sqrt(rho / 2.0), math.sqrt(-math.expm1(-rho)))


# --- levels: total variation --------------------------------------------------------------------------------


def pure_to_total_variation(epsilon: float) -> float:
    """Total-variation level of an ε-private mechanism: tanh(ε/2); tight (locally_private_inference, after Lem 6).

    Examples
    --------
    >>> round(pure_to_total_variation(0.5), 12)
    0.244918662404
    """
    check_epsilon(epsilon)
    return math.tanh(epsilon / 2.0)


def approx_to_total_variation(epsilon: float, delta: float, rule: Rule = "tight") -> float:
    """Total-variation level of an (ε, δ)-private mechanism, at most 1.

    ``"printed"``: e^ε - 1 + δ (locally_private_inference, Lem 6). ``"tight"``: (e^ε - 1 + 2δ) / (e^ε + 1), attained
    (derived there); never larger.

    Examples
    --------
    >>> round(approx_to_total_variation(1.0, 0.05), 12)
    0.489011299397
    """
    if rule == "tight":
        return approx_delta_at(epsilon, delta, 0.0)
    check_epsilon(epsilon)
    check_delta(delta)
    return 1.0 if epsilon > 1 else min(1.0, math.expm1(epsilon) + delta)


def total_variation_to_approx(level: float, epsilon: float = 0.0) -> float:
    """δ at any ε of a mechanism with this total-variation level: the level itself (locally_private_inference, Lem 6).

    Tight for every ε: a mechanism that shows the record with probability ``level`` and otherwise nothing attains it.
    """
    _check_level(level)
    check_epsilon(epsilon)
    return level


def total_variation_to_pure(level: float) -> float:
    """ε with the same total variation under binary randomised response: 2·artanh(level). Not a guarantee.

    Only a way to read the level on the ε axis: total variation alone promises no finite ε.

    Raises
    ------
    ParameterError
        If ``level`` is 1 or outside [0, 1].
    """
    _check_level(level)
    if level == 1:
        raise ParameterError("A total-variation level of 1 promises nothing and matches no ε.", field="level")
    return 2.0 * math.atanh(level)


# --- neighbours ---------------------------------------------------------------------------------------------


def add_remove_to_substitution(guarantee: GuaranteeT) -> GuaranteeT:
    """Guarantee for replacing a record, from the one for adding or removing a record.

    A replacement is a removal and an addition, so this is group privacy for two (lower_bounds, Lem 2): ε doubles,
    δ becomes δ (1 + e^ε), ρ is multiplied by four, a total-variation level doubles.

    Raises
    ------
    UnsupportedCombination
        If the guarantee is for substitution already.
    """
    if guarantee.neighbours != "add-remove":
        raise UnsupportedCombination(
            "The guarantee is for replaced records already; there is nothing to convert.", field="neighbours"
        )
    return replace(group_privacy(guarantee, 2), neighbours="substitution")


# --- groups -------------------------------------------------------------------------------------------------


def group_epsilon(epsilon: float, size: int) -> float:
    """ε for a group of ``size`` people: size·ε (lower_bounds, Lem 2)."""
    check_epsilon(epsilon)
    _check_size(size)
    return size * epsilon


def group_delta(epsilon: float, delta: float, size: int, rule: Rule = "tight") -> float:
    """δ for a group of ``size`` people under (ε, δ)-privacy, at most 1.

    ``"printed"``: δ·t·e^(ε(t-1)) (lower_bounds, Lem 2). ``"tight"``: δ (e^(tε) - 1)/(e^ε - 1), the sum that the proof
    has before its last step; never larger.

    Examples
    --------
    >>> round(group_delta(0.5, 0.001, 4, "printed"), 11), round(group_delta(0.5, 0.001, 4), 12)
    (0.01792675628, 0.009848692169)
    """
    check_epsilon(epsilon)
    check_delta(delta)
    _check_size(size)
    if delta == 0 or size == 0:
        return 0.0
    if rule == "printed":
        log_delta = math.log(delta * size) + epsilon * (size - 1)
    elif epsilon == 0:
        log_delta = math.log(delta * size)
    else:
        shrink = math.expm1(-epsilon * size) / math.expm1(-epsilon)
        log_delta = math.log(delta) + epsilon * (size - 1) + math.log(shrink)
    return 1.0 if log_delta >= 0 else math.exp(log_delta)


def group_rho(rho: float, size: int) -> float:
    """ρ for a group of ``size`` people: size²·ρ (standard fact of zCDP; exact for Gaussian noise)."""
    _check_rho(rho)
    _check_size(size)
    return size * size * rho


def group_total_variation(level: float, size: int) -> float:
    """Total-variation level for a group of ``size`` people: min(1, size·level) (triangle inequality)."""
    _check_level(level)
    _check_size(size)
    return min(1.0, size * level)


def group_privacy(guarantee: GuaranteeT, size: int, rule: Rule = "tight") -> GuaranteeT:
    """Guarantee for a group of people who may all change their records.

    Parameters
    ----------
    guarantee : Guarantee
        What one person is promised.
    size : int
        People in the group, >= 0.
    rule : {"tight", "printed"}
        Form of the slack of approximate privacy, see ``group_delta``.

    Returns
    -------
    Guarantee
        Of the same type, neighbours and model (lower_bounds, Lem 2 = Lem 7).

    Examples
    --------
    >>> print(group_privacy(ApproxDP(0.5, 0.001), 4))
    ε = 2, δ = 0.009849
    """
    if isinstance(guarantee, PureDP):
        return replace(guarantee, epsilon=group_epsilon(guarantee.epsilon, size))
    if isinstance(guarantee, (ApproxDP, LocalDP)):
        return replace(
            guarantee,
            epsilon=group_epsilon(guarantee.epsilon, size),
            delta=group_delta(guarantee.epsilon, guarantee.delta, size, rule),
        )
    if isinstance(guarantee, ZCDP):
        return replace(guarantee, rho=group_rho(guarantee.rho, size))
    if isinstance(guarantee, TotalVariation):
        return replace(guarantee, level=group_total_variation(guarantee.level, size))
    raise UnsupportedCombination(f"Group privacy is not known for '{guarantee.title}'.")


# --- between types ------------------------------------------------------------------------------------------


def convert(
    guarantee: Guarantee,
    to: type[GuaranteeT],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Neighbours | None = None,
    model: Model | None = None,
) -> GuaranteeT:
    """Return what a guarantee says in the words of another type, as sharply as this package knows.

    Parameters
    ----------
    guarantee : Guarantee
        What is promised.
    to : type
        ``PureDP``, ``ApproxDP``, ``ZCDP``, ``LocalDP`` or ``TotalVariation``.
    epsilon, delta : float, optional
        For an approximate target: give one, the other follows. From zCDP one of them is needed.
    neighbours : {"substitution", "add-remove"}, optional
        Wanted relation; the same as before if left out.
    model : {"central", "local"}, optional
        Wanted model; the same as before if left out, local for ``LocalDP``.

    Returns
    -------
    Guarantee
        Of type ``to``.

    Raises
    ------
    UnsupportedCombination
        If no such statement follows; the sentence says why.
    ParameterError
        If both or, where needed, neither of ``epsilon`` and ``delta`` are given.

    Examples
    --------
    >>> convert(PureDP(0.5), TotalVariation).level == math.tanh(0.25)
    True
    >>> print(convert(ZCDP(0.1), ApproxDP, delta=1e-6))
    ε = 2.142, δ = 1e-06
    """
    if epsilon is not None and delta is not None:
        raise ParameterError("Give either ε or δ for the converted guarantee, not both; the other one follows.")
    start = _to_neighbours(guarantee, neighbours)
    target_model: Model = "local" if to is LocalDP else (model or start.model)
    if to is LocalDP and model == "central":
        raise UnsupportedCombination(
            "Local differential privacy belongs to the local model; ask for pure or approximate differential privacy "
            "in the central model.",
            field="model",
        )
    if target_model == "local" and start.model == "central":
        raise UnsupportedCombination(
            "A central guarantee says nothing about the single reports, which a trusted curator sees unchanged; "
            "only a local mechanism has a local guarantee.",
            field="model",
        )
    relation = start.neighbours
    result: Guarantee
    if to is PureDP:
        result = PureDP(_pure_level(start), neighbours=relation, model=target_model)
    elif to is ApproxDP:
        result = ApproxDP(*_approx_levels(start, epsilon, delta), neighbours=relation, model=target_model)
    elif to is LocalDP:
        result = LocalDP(*_approx_levels(start, epsilon, delta), neighbours=relation)
    elif to is ZCDP:
        rho = start.rho if isinstance(start, ZCDP) else pure_to_zcdp(_pure_level(start))
        result = ZCDP(rho, neighbours=relation, model=target_model)
    elif to is TotalVariation:
        result = TotalVariation(_total_variation_level(start), neighbours=relation, model=target_model)
    else:
        raise UnsupportedCombination("This kind of guarantee is not known here.")
    return cast("GuaranteeT", result)


def implies(first: Guarantee, second: Guarantee) -> bool:
    """Return whether every mechanism with the first guarantee has the second, as far as ``convert`` can tell.

    ``True`` is right up to rounding (relative 1e-12).

    Examples
    --------
    >>> implies(LocalDP(1.0), PureDP(1.0)), implies(PureDP(1.0), LocalDP(1.0))
    (True, False)
    """
    wanted = {"epsilon": second.epsilon} if isinstance(second, (ApproxDP, LocalDP)) else {}
    try:
        if isinstance(second, (ApproxDP, LocalDP)) and second.delta == 0:
            # no slack: compare the pure levels
            reached = _pure_level(convert(first, type(second), neighbours=second.neighbours, model=second.model))
            return reached <= second.epsilon * (1 + _SLACK)
        result = convert(first, type(second), neighbours=second.neighbours, model=second.model, **wanted)
    except (UnsupportedCombination, ParameterError):
        return False
    promised = second.levels()
    return all(level <= promised.get(symbol, 0.0) * (1 + _SLACK) for symbol, level in result.levels().items())


def _to_neighbours(guarantee: Guarantee, neighbours: Neighbours | None) -> Guarantee:
    if neighbours is None or neighbours == guarantee.neighbours:
        return guarantee
    if neighbours == "add-remove":
        raise UnsupportedCombination(
            "A guarantee for replaced records treats their number as public, so it says nothing about adding or "
            "removing one; choose a mechanism with a guarantee for added and removed records.",
            field="neighbours",
        )
    return add_remove_to_substitution(guarantee)


def _pure_level(guarantee: Guarantee) -> float:
    """Return the ε that holds without slack, or say why there is none."""
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon
    if isinstance(guarantee, (ApproxDP, LocalDP)):
        if guarantee.delta == 0:
            return guarantee.epsilon
        raise UnsupportedCombination(
            f"With slack δ = {guarantee.delta:g} a record may be shown in full with that probability, so no finite ε "
            "(and no finite ρ) holds without slack."
        )
    if isinstance(guarantee, ZCDP):
        if guarantee.rho == 0:
            return 0.0
        raise UnsupportedCombination(
            f"zCDP with ρ = {guarantee.rho:g} has Gaussian-like tails, so no finite ε holds without slack; ask for "
            "approximate differential privacy with a small δ."
        )
    if isinstance(guarantee, TotalVariation) and guarantee.level == 0:
        return 0.0
    raise UnsupportedCombination(
        "A total-variation level above 0 allows that a record is shown in full with that probability, so no finite ε "
        "(and no finite ρ) holds without slack; ask for approximate differential privacy."
    )


def _approx_levels(guarantee: Guarantee, epsilon: float | None, delta: float | None) -> tuple[float, float]:
    if isinstance(guarantee, ZCDP):
        if guarantee.rho == 0:
            return epsilon or 0.0, delta or 0.0
        if epsilon is not None:
            return epsilon, zcdp_delta_at(guarantee.rho, epsilon)
        if delta is not None:
            return zcdp_to_approx(guarantee.rho, delta), delta
        raise ParameterError(
            "zCDP gives a whole curve of ε and δ; give one of the two, for instance δ = 1e-6.", field="delta"
        )
    if isinstance(guarantee, TotalVariation):
        level = guarantee.level
        start_epsilon, start_delta = 0.0, level
    elif isinstance(guarantee, PureDP):
        start_epsilon, start_delta = guarantee.epsilon, 0.0
    elif isinstance(guarantee, (ApproxDP, LocalDP)):
        start_epsilon, start_delta = guarantee.epsilon, guarantee.delta
    else:
        raise UnsupportedCombination("This kind of guarantee is not known here.")
    if epsilon is not None:
        return epsilon, approx_delta_at(start_epsilon, start_delta, epsilon)
    if delta is not None:
        return approx_epsilon_at(start_epsilon, start_delta, delta), delta
    return start_epsilon, start_delta


def _total_variation_level(guarantee: Guarantee) -> float:
    if isinstance(guarantee, TotalVariation):
        return guarantee.level
    if isinstance(guarantee, ZCDP):
        return min(zcdp_to_total_variation(guarantee.rho), zcdp_delta_at(guarantee.rho, 0.0))
    return approx_to_total_variation(*_approx_levels(guarantee, None, None))


def _check_rho(rho: float) -> None:
    if not (math.isfinite(rho) and rho >= 0):
        raise ParameterError(f"ρ must be a number of at least 0; it is {rho:g}.", field="rho")


def _check_level(level: float) -> None:
    if not 0 <= level <= 1:
        raise ParameterError(f"The total-variation level must lie between 0 and 1; it is {level:g}.", field="level")


def _check_size(size: int) -> None:
    if size != int(size) or size < 0:
        raise ParameterError(f"The size of a group must be a whole number of at least 0; it is {size:g}.", field="size")


# --- the list that pages show -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conversion:
    """One line of the table of conversions: from, to, formula (TeX), where it stands, and how sharp it is."""

    start: str
    end: str
    formula: str
    source: str
    status: Literal["exact", "bound"]


CONVERSIONS: tuple[Conversion, ...] = (
    Conversion(
        "pure", "approximate", r"\delta(x)=\frac{(e^{\varepsilon}-e^{x})_+}{1+e^{\varepsilon}}",
        "derived, checked in tests/unit/privacy/test_conversions.py", "exact",
    ),
    Conversion(
        "pure", "approximate", r"(\varepsilon+\delta,0)\Rightarrow(\varepsilon,\delta)", "lower_bounds, Lem 8", "bound"
    ),
    Conversion("pure", "zcdp", r"\rho=\varepsilon^2/2", "markov_random_fields, Lem 45", "bound"),
    Conversion(
        "pure", "zcdp", r"\rho=\varepsilon\tanh(\varepsilon/2)",
        "derived, checked in tests/unit/privacy/test_conversions.py", "exact",
    ),
    Conversion(
        "zcdp", "approximate", r"\varepsilon=\rho+2\sqrt{\rho\ln(1/\delta)}", "markov_random_fields, Lem 45", "bound"
    ),
    Conversion(
        "zcdp", "approximate",
        r"\delta=\min_{a>1}\frac{e^{(a-1)(a\rho-\varepsilon)}}{a-1}\Bigl(1-\frac1a\Bigr)^{a}",
        "standard fact", "bound",
    ),
    Conversion(
        "pure", "total-variation", r"\tau=\tanh(\varepsilon/2)", "locally_private_inference, after Lem 6", "exact"
    ),
    Conversion(
        "approximate", "total-variation", r"\tau=e^{\varepsilon}-1+\delta", "locally_private_inference, Lem 6", "bound"
    ),
    Conversion(
        "approximate", "total-variation", r"\tau=\frac{e^{\varepsilon}-1+2\delta}{e^{\varepsilon}+1}",
        "locally_private_inference, after Lem 6", "exact",
    ),
    Conversion(
        "total-variation", "approximate", r"(\varepsilon,\tau)\ \text{for every}\ \varepsilon\ge0",
        "locally_private_inference, Lem 6", "exact",
    ),
    Conversion(
        "zcdp", "total-variation", r"\tau=\min\{\sqrt{\rho/2},\sqrt{1-e^{-\rho}}\}",
        "lower_bounds, Lem 4 (corrected)", "bound",
    ),
    Conversion("local", "pure", r"\varepsilon=\varepsilon", "locally_private_inference, Def 2", "exact"),
)  # fmt: skip


__all__ = [
    "CONVERSIONS",
    "Conversion",
    "Rule",
    "add_remove_to_substitution",
    "approx_delta_at",
    "approx_epsilon_at",
    "approx_test_to_pure",
    "approx_to_total_variation",
    "bounded_range_to_zcdp",
    "convert",
    "group_delta",
    "group_epsilon",
    "group_privacy",
    "group_rho",
    "group_total_variation",
    "implies",
    "laplace_to_zcdp",
    "pure_sum_to_approx",
    "pure_to_approx",
    "pure_to_total_variation",
    "pure_to_zcdp",
    "total_variation_to_approx",
    "total_variation_to_pure",
    "zcdp_delta_at",
    "zcdp_for_approx",
    "zcdp_to_approx",
    "zcdp_to_total_variation",
]
