"""The ledger adds up digit for digit; sharper totals agree with the exact sum of binomial losses."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.privacy import (
    ZCDP,
    ApproxDP,
    Ledger,
    LocalDP,
    PureDP,
    TotalVariation,
    compose,
    pure_to_zcdp,
    zcdp_to_approx,
)

levels = st.one_of(
    st.floats(1e-9, 50, allow_nan=False),
    st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 0.7, 1e-7, 2.5]),
)
slacks = st.one_of(st.just(0.0), st.floats(1e-15, 1e-3, allow_nan=False), st.sampled_from([1e-6, 1e-9, 1 / 3e5]))


def ledger_of(*guarantees):
    ledger = Ledger()
    for number, guarantee in enumerate(guarantees):
        ledger = ledger.add(f"release {number}", guarantee)
    return ledger


def exact_slack(epsilon, count, total):
    """δ of ``count`` binary randomised responses at ε = total: the sum over how many of them came out true."""
    i = np.arange(count + 1)
    log_choose = gammaln(count + 1) - gammaln(i + 1) - gammaln(count - i + 1)
    log_p = log_choose + i * epsilon - count * math.log1p(math.exp(epsilon))
    loss = (2 * i - count) * epsilon
    return float(np.sum(np.where(loss > total, np.exp(log_p) * -np.expm1(np.minimum(total - loss, 0.0)), 0.0)))


@given(st.lists(st.tuples(levels, slacks), min_size=1, max_size=12), st.integers(2, 6))
def test_rows_add_up_to_the_total_digit_for_digit(releases, digits):
    ledger = ledger_of(*(ApproxDP(epsilon, slack) for epsilon, slack in releases))
    table = ledger.table(digits)
    # as numbers, and as the strings that people read
    for column in ("epsilon", "delta"):
        shown = [Fraction(str(getattr(row, column))) for row in table.rows]
        assert sum(shown) == Fraction(str(getattr(table.total, column)))
    # every line is rounded up, by less than one unit of its last digit
    for row, (epsilon, slack) in zip(table.rows, releases, strict=True):
        for got, exact in ((row.epsilon, Decimal(f"{epsilon:.15g}")), (row.delta, Decimal(f"{slack:.15g}"))):
            unit = Decimal(1).scaleb(got.as_tuple().exponent)
            assert Fraction(0) <= Fraction(got) - Fraction(exact) < Fraction(unit)
    # the computed total (levels are read to 15 digits) is the exact decimal sum, and never above the one shown
    total = ledger.basic()
    exact_sum = sum(Fraction(f"{epsilon:.15g}") for epsilon, _ in releases)
    assert Fraction(repr(total.epsilon)) >= exact_sum
    assert Fraction(repr(math.nextafter(total.epsilon, 0))) < exact_sum
    assert Fraction(repr(total.epsilon)) <= Fraction(str(table.total.epsilon)) or math.isclose(
        total.epsilon, float(table.total.epsilon), rel_tol=1e-15
    )


def test_short_decimals_are_shown_as_they_are():
    table = ledger_of(PureDP(0.1), PureDP(0.2), PureDP(1.0)).table()
    assert [str(row.epsilon) for row in table.rows] == ["0.1", "0.2", "1.0"]
    assert str(table.total.epsilon) == "1.3"
    assert ledger_of(*[PureDP(0.1)] * 10).basic() == PureDP(1.0)
    assert str(ledger_of(PureDP(3 * 0.1)).table().total.epsilon) == "0.3"
    tiny = ledger_of(ApproxDP(1.0, 1e-12), ApproxDP(1.0, 1e-6)).table()
    assert tiny.total.delta == Decimal("0.000001000001")
    assert str(Ledger().table().total.epsilon) == "0"
    assert Ledger().basic() == PureDP(0.0)


def test_total_keeps_type_neighbours_and_model():
    assert compose([PureDP(0.5), PureDP(0.25)]) == PureDP(0.75)
    assert compose([PureDP(0.5), ApproxDP(0.25, 1e-6)]) == ApproxDP(0.75, 1e-6)
    assert compose([LocalDP(0.5), LocalDP(0.25)]) == PureDP(0.75, model="local")
    assert compose([PureDP(0.5, neighbours="add-remove")] * 2) == PureDP(1.0, neighbours="add-remove")
    assert compose([ApproxDP(0.5, 0.7)] * 2) == ApproxDP(1.0, 1.0)


def test_disjoint_parts_cost_the_largest():
    ledger = (
        Ledger()
        .add("all", PureDP(0.5))
        .add("north, mean", PureDP(0.3), group="region", part="north")
        .add("south, mean", PureDP(0.4), group="region", part="south")
        .add("north, count", PureDP(0.2), group="region", part="north")
    )
    assert ledger.basic() == PureDP(1.0)
    table = ledger.table()
    assert [row.counted for row in table.rows] == [True, True, False, True]
    assert sum(row.epsilon for row in table.rows) == table.total.epsilon == Decimal("1.0")
    assert "other people" in table.rows[2].note
    assert ledger.concentrated().rho == pytest.approx(pure_to_zcdp(0.5) + pure_to_zcdp(0.4))


def test_parts_by_value_need_a_guarantee_for_added_and_removed_records():
    with pytest.raises(UnsupportedCombination, match="can leave one part and enter another"):
        Ledger().add("a", PureDP(1.0), group="income", part="low", split_by="value")
    added = PureDP(1.0, neighbours="add-remove")
    ledger = Ledger().add("a", added, group="income", part="low", split_by="value")
    assert ledger.add("b", added, group="income", part="high", split_by="value").basic().epsilon == 1.0


def test_what_does_not_add_up_is_refused():
    ledger = Ledger().add("entropy", PureDP(1.0))
    with pytest.raises(UnsupportedCombination, match="same neighbours and model"):
        ledger.add("coverage", PureDP(1.0, neighbours="add-remove"))
    with pytest.raises(UnsupportedCombination, match="same neighbours and model"):
        ledger.add("coverage", LocalDP(1.0))
    with pytest.raises(UnsupportedCombination, match="'sum' is stated as zero-concentrated"):
        ledger.add("sum", ZCDP(0.1)).basic()
    with pytest.raises(UnsupportedCombination, match="stated as total-variation"):
        ledger.add("sum", TotalVariation(0.1, model="central")).table()
    with pytest.raises(UnsupportedCombination, match="no finite ρ"):
        ledger.add("sum", ApproxDP(0.1, 1e-6)).concentrated()
    with pytest.raises(ParameterError, match="both the split and the part"):
        ledger.add("sum", PureDP(0.1), group="region")
    mixed = (
        Ledger()
        .add("a", ApproxDP(1.0, 1e-9), group="region", part="north")
        .add("b", ApproxDP(0.5, 1e-6), group="region", part="south")
    )
    with pytest.raises(UnsupportedCombination, match="no single part is the costliest"):
        mixed.basic()
    for rule in (mixed.advanced, mixed.tight):
        with pytest.raises(UnsupportedCombination, match="leave out the split"):
            rule(1e-6)
        with pytest.raises(ParameterError, match="strictly between 0 and 1"):
            rule(0.0)


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 100), (0.5, 10), (1.0, 3), (0.01, 2000)])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_tight_composition_is_the_exact_sum_of_binomial_losses(epsilon, count, delta):
    ledger = ledger_of(*[PureDP(epsilon)] * count)
    tight = ledger.tight(delta)
    assert tight.delta == delta
    assert exact_slack(epsilon, count, tight.epsilon) == pytest.approx(delta, rel=2e-3)
    assert exact_slack(epsilon, count, 0.97 * tight.epsilon) > 1.02 * delta
    # the simpler rules say less, but never something wrong
    concentrated = zcdp_to_approx(ledger.concentrated().rho, delta)
    for bound in (ledger.advanced(delta).epsilon, ledger.basic().epsilon, concentrated):
        assert bound >= tight.epsilon * (1 - 1e-6)
        assert exact_slack(epsilon, count, bound) <= delta


def test_advanced_composition_beats_the_basic_one_where_it_should():
    many = ledger_of(*[PureDP(0.05)] * 400)
    expected = 400 * 0.05 * math.tanh(0.025) + math.sqrt(2 * 400 * 0.0025 * math.log(1e6))
    assert many.advanced(1e-6).epsilon == pytest.approx(expected, rel=1e-12)
    assert expected < many.basic().epsilon / 2
    few = ledger_of(PureDP(1.0))
    assert few.advanced(1e-6).epsilon == 1.0


def test_slack_of_the_releases_is_carried_along():
    ledger = ledger_of(*[ApproxDP(0.1, 1e-8)] * 50)
    advanced = ledger.advanced(1e-6)
    assert advanced.delta == pytest.approx(1 - (1 - 1e-6) * (1 - 1e-8) ** 50, rel=1e-9)
    tight = ledger.tight(advanced.delta)
    assert tight.epsilon <= advanced.epsilon
    assert tight.epsilon > ledger_of(*[PureDP(0.1)] * 50).tight(advanced.delta).epsilon
    with pytest.raises(UnsupportedCombination, match="own slack is more than δ"):
        ledger.tight(1e-7)


def test_mixed_levels_compose_tightly():
    # 0.3 and 0.2: four combinations of losses, by hand
    ledger = ledger_of(PureDP(0.3), PureDP(0.2))
    p, q = (math.exp(level) / (1 + math.exp(level)) for level in (0.3, 0.2))
    at = 0.25
    delta = p * q * -math.expm1(at - 0.5)
    assert ledger.tight(delta).epsilon == pytest.approx(at, abs=1e-7)
    awkward = ledger_of(PureDP(0.3 + 1e-13), PureDP(0.2))  # no common step
    assert awkward.tight(delta).epsilon == pytest.approx(at, abs=1e-5)
