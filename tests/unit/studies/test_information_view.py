"""Information view: gold values of the conversions, of the toy and of fixed queries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.predictability import AllButOneProcess, fixed_query_information, mi_dp_level, mutual_information
from privexplorer.studies.information_view import (
    FIXED,
    GAP,
    INFORMATION,
    LINE_,
    MEAN_GAP,
    PANELS,
    RESPONSE,
    SCALED,
    SHIFT,
    SLACK_EPSILON,
    SLACK_EXACT,
    SLACK_INFORMATION,
    WHOLE,
    InformationScenario,
    InformationView,
    exact_slack,
    fixed_query_level,
    response_channel,
)
from privexplorer.studies.words import significant

STUDY = InformationView()
make = InformationScenario


@pytest.mark.parametrize(("epsilon", "nats"), [(0.1, 0.0012484), (0.5, 0.03030), (1.0, 0.11094), (3.0, 0.50228)])
def test_one_answer_stays_below_epsilon(epsilon: float, nats: float) -> None:
    """Ledger P-TA.9, P-D2.6 (R6)."""
    result = STUDY.run(make(epsilon=epsilon))
    assert result.cards[0].value == f"{significant(nats)}\u00a0nats"
    answer, line = (result.series(name, PANELS["answer"])["y"].to_numpy() for name in (RESPONSE, LINE_))
    assert np.all(answer < line)
    flat = STUDY.run(make(prior=0.3)).series(RESPONSE, PANELS["answer"])["y"].to_numpy()
    assert np.all(flat < answer), "the worst chance beforehand is one half"


def test_prior_of_three_tenths() -> None:
    """Gold value G12: 0.093761246 at ε = 1."""
    rows = STUDY.run(make(prior=0.3)).series(RESPONSE, PANELS["answer"])
    at = np.interp(0.0, np.log(rows["x"]), rows["y"])
    assert at == pytest.approx(0.0938, rel=0.03)
    assert "0.09376" in STUDY.run(make(prior=0.3)).formulas[0].numbers


def test_promise_is_empty_from_one_half() -> None:
    """Ledger P-X8 (R4), and the promise is never below the exact δ."""
    result = STUDY.run(make())
    from_epsilon, from_nats, exact = (
        result.series(name, PANELS["slack"]) for name in (SLACK_EPSILON, SLACK_INFORMATION, SLACK_EXACT)
    )
    x = from_epsilon["x"].to_numpy()
    assert np.all(from_epsilon["y"].to_numpy()[x >= 0.5] == 1.0)
    assert np.all(from_epsilon["y"].to_numpy()[x < 0.49] < 1.0)
    assert np.all(from_nats["y"].to_numpy() >= exact["y"].to_numpy() - 1e-12)
    law = response_channel(2, 1.3)
    assert exact_slack(1.3) == pytest.approx(float(np.abs(law[:, 0] - law[:, 1]).sum() / 2), rel=1e-12)
    assert not STUDY.run(make(epsilon=0.4)).notes
    assert STUDY.run(make(epsilon=0.5)).notes


def test_toy_of_four_people() -> None:
    """Ledger P-T2.4, P-T2.4pf, P-D2.3 (R5): per count, on average, and at the worst count."""
    result = STUDY.run(make(people=4, known=2, width=1))
    gaps = result.series(GAP, PANELS["toy"])["y"].to_numpy()
    np.testing.assert_allclose(gaps, [0.28768, 0.41849, 0.46210, 0.41849, 0.28768], atol=5e-6)
    for name in (MEAN_GAP, INFORMATION):
        assert result.series(name, PANELS["toy"])["y"].iloc[0] == pytest.approx(0.3748900964, rel=1e-9)
    assert result.extra["toy"].divergence == pytest.approx(0.3748900964, rel=1e-9)
    assert result.cards[3].value.startswith("0.375")
    assert result.cards[3].chip == "worst: 0.462"


def test_a_coarser_count_tells_less() -> None:
    fine, coarse, none = (STUDY.run(make(people=20, known=5, width=width)).extra["toy"].average for width in (1, 5, 20))
    assert fine > coarse > none > 0


def test_fixed_queries_and_whole_record() -> None:
    """Ledger P-T2.7 (E9): ln 2 against ln 4 for four equiprobable values, and ⌈log₂⌉ times as much always suffices."""
    assert fixed_query_level(4, 50.0) == pytest.approx(math.log(2), rel=1e-6)
    result = STUDY.run(make(record_values=4))
    whole, fixed, scaled = (result.series(name, PANELS["query"])["y"].to_numpy() for name in (WHOLE, FIXED, SCALED))
    assert whole[-1] == pytest.approx(math.log(4), rel=1e-5)
    assert np.all(fixed < whole)
    rng = np.random.default_rng(4)
    for k in (2, 3, 5, 8):
        law = response_channel(k, 1.0)
        assert np.allclose(law.sum(axis=0), 1.0)
        level = fixed_query_level(k, 1.0)
        found = [fixed_query_information(law, rng.dirichlet(np.full(k, 0.3))) for _ in range(15)]
        assert max(found) <= level + 1e-12
        worst = np.zeros(k)
        worst[:2] = 0.5
        assert fixed_query_information(law, worst) == pytest.approx(level, rel=1e-12)
        rows = STUDY.run(make(record_values=k))
        assert np.all(rows.series(SCALED)["y"].to_numpy() >= rows.series(WHOLE)["y"].to_numpy() - 1e-12)
        assert mi_dp_level(law)[0] == pytest.approx(mutual_information(law, np.full(k, 1 / k)), rel=1e-9)
    assert np.all(scaled >= whole - 1e-12)


def test_belief_shift_at_twenty() -> None:
    """Ledger P-X1 (R1)."""
    assert STUDY.run(make()).series(SHIFT)["y"].iloc[-1] == pytest.approx(485165195.4, rel=1e-9)


def test_worst_case_knows_all_but_one() -> None:
    """Ledger P-X7: N = 3 gives two known people and one unknown."""
    process = AllButOneProcess(3)
    draws = process.sample(50, np.random.default_rng(0))
    assert draws.shape == (50, 2)
    assert all(process.unknown(draw).size == 1 for draw in draws)
    assert "knows everybody but one person" in STUDY.run(make()).assumptions[0]


def test_what_does_not_go_together() -> None:
    assert "must be unknown" in STUDY.check(make(people=4, known=4), None)[0]
    assert "down to 0" in STUDY.check(make(people=4, known=2, width=5), None)[0]
    assert STUDY.check(make(), None) == ()
