from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.figures import draw
from privexplorer.studies._effects import LawA, LawB
from privexplorer.studies.noise_designer import NoiseDesigner, NoiseScenario, noise_law

study = NoiseDesigner()


def test_same_level_other_variance():
    # spec 7.7: law A, α = 0.2
    result = study.run(NoiseScenario(population=0, point=0))
    values = result.extra["variances"]
    assert values["all categories alike"] == pytest.approx(19.3683196932, rel=1e-9)
    assert values["your noise"] == pytest.approx(values["all categories alike"], rel=1e-12)
    rounded = {name: float(f"{value:.3g}") for name, value in values.items()}
    assert rounded["like the population"] == 15.2
    assert (rounded["always 0"], rounded["always 1"], rounded["always 2"]) == (3.26, 2.14, 14.4)
    cards = {card.label: card.value for card in result.cards}
    assert cards["Level (variation)"] == "0.200"
    assert cards["Your noise costs"] == "18× the people"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"population": 0, "point": 0}, [1 / 3, 1 / 3, 1 / 3]),
        ({"population": 1, "point": 0}, [0.5, 0.3, 0.2]),
        ({"population": 0.3, "point": 1, "code": 2}, [0, 0, 1]),
        ({"population": 1, "point": 0.5, "code": 7}, [0.25, 0.15, 0.6]),
    ],
)
def test_noise_between_the_corners(changes, expected):
    np.testing.assert_allclose(noise_law(NoiseScenario(**changes), LawA().law()), expected, rtol=1e-12)


def test_profile():
    # δ(0) = α for every noise; then it falls as far as the least likely category allows
    result = study.run(NoiseScenario(keep_probability=0.4, population=1, point=0))
    for name in ("your noise", "all categories alike", "like the population", "always one category"):
        rows = result.series(name, "profile")
        delta = rows["y"].to_numpy()
        assert delta[0] == pytest.approx(0.4)
        assert np.all(delta <= 0.4 + 1e-15)
    x = result.series("your noise", "profile")["x"].to_numpy(dtype=float)
    delta = result.series("your noise", "profile")["y"].to_numpy()
    np.testing.assert_allclose(delta, np.maximum(0.4 - np.expm1(x) * 0.6 * 0.2, 0), rtol=1e-9, atol=1e-12)
    # G5 has min 0.2 as well: δ(1) = 0.193806180585, ε = 1.46633706879
    assert delta[np.flatnonzero(np.isclose(x, 1.0))[0]] == pytest.approx(0.193806180585, rel=1e-9)
    assert result.extra["epsilon"] == pytest.approx(1.46633706879, rel=1e-9)
    np.testing.assert_allclose(result.series("always one category", "profile")["y"], 0.4)


def test_erasure_has_no_epsilon():
    result = study.run(NoiseScenario(point=1.0, code=1))
    assert math.isinf(result.extra["epsilon"])
    assert {card.label: card.value for card in result.cards}["Pure ε"] == "none"
    assert "no finite ε" in result.shows
    assert any(note.level == "warning" for note in result.notes)


def test_levels():
    # G25 and E2
    result = study.run(NoiseScenario(law=LawB(), delta=0.05))
    rows = result.series("tight promise", "levels")
    at = np.flatnonzero(np.isclose(rows["x"].to_numpy(dtype=float), 1.0))[0]
    assert rows["y"].to_numpy()[at] == pytest.approx(0.489011299397, rel=1e-9)
    printed = result.series("printed promise", "levels")
    finite = printed["y"].to_numpy()
    x = printed["x"].to_numpy(dtype=float)
    assert np.isnan(finite[x > math.log(1.95) + 0.01]).all()
    np.testing.assert_allclose(finite[x < 0.66], np.expm1(x[x < 0.66]) + 0.05, rtol=1e-12)
    response = result.series("randomised response", "levels")["y"].to_numpy()
    np.testing.assert_allclose(response, np.tanh(x / 2), rtol=1e-9)
    tight = rows["y"].to_numpy()
    assert np.all(response <= tight)
    assert np.all((tight <= finite) | np.isnan(finite))
    # five categories at ε = 0.5: 0.11484, printed 0.64872
    from privexplorer.studies._effects import OwnLaw

    five = OwnLaw(
        shares=(0.2,) * 5, treated=(0.5,) * 5, outcome_untreated=(0.2, 0.3, 0.4, 0.5, 0.6),
        outcome_treated=(0.4, 0.5, 0.6, 0.7, 0.8),
    )  # fmt: skip
    other = study.run(NoiseScenario(law=five))
    rows = other.series("randomised response", "levels")
    at = np.flatnonzero(np.isclose(rows["x"].to_numpy(dtype=float), 0.5))[0]
    assert rows["y"].to_numpy()[at] == pytest.approx(0.11484, abs=5e-6)
    assert other.series("printed promise", "levels")["y"].to_numpy()[at] == pytest.approx(0.64872, abs=5e-6)


def test_noise_in_the_tails_grows():
    # L-X5, G17
    result = study.run(NoiseScenario(keep_probability=0.5))
    rows = result.series("bound at this spread of the noise", "tails")
    prices = rows["y"].to_numpy()
    assert np.all(np.diff(prices) > 0)
    at = np.flatnonzero(np.isclose(rows["x"].to_numpy(dtype=float), 1.2))[0]
    assert prices[at] * 1.13610166675 == pytest.approx(105.977330406, rel=1e-9)


def test_what_is_shown_is_the_mixture():
    # (15): and simulated people agree within four standard errors
    result = study.run(NoiseScenario(keep_probability=0.4))
    shown = result.series("shown", "shown")["y"].to_numpy()
    law = LawA().law()
    noise = noise_law(NoiseScenario(keep_probability=0.4), law)
    np.testing.assert_allclose(shown, 0.4 * law.p_x + 0.6 * noise, rtol=1e-12)
    rng = np.random.default_rng(2)
    size = 100_000
    x = rng.choice(3, size, p=law.p_x)
    from privexplorer.causal import AlphaIdentity, FiniteNoise

    kept, drawn = AlphaIdentity(0.4, FiniteNoise(noise)).draw(size, rng)
    assert abs(kept.mean() - 0.4) < 3 * math.sqrt(0.24 / size)
    seen = np.bincount(np.where(kept, x, drawn), minlength=3) / size
    assert np.all(np.abs(seen - shown) < 4 * np.sqrt(shown * (1 - shown) / size))


def test_charts():
    four = ["your noise", "all categories alike", "like the population", "always one category"]
    expected = {
        "design": four * 2,
        "corners": ["corners", "your noise"],
        "shown": ["population", "noise", "shown"],
        "levels": ["printed promise", "tight promise", "randomised response"],
        "tails": ["bound at this spread of the noise"],
    }
    for scenario in (NoiseScenario(), NoiseScenario(keep_probability=1.0), NoiseScenario(point=1.0)):
        result = study.run(scenario)
        for view, names in expected.items():
            chart = study.chart(result, view)
            assert [mark.name for mark in chart.marks()] == names
            draw(chart)
