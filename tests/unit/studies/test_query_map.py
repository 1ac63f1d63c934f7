"""The query map: gold values of the twenty people under four releases, and the question freed of the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privexplorer.errors import PrivExplorerError
from privexplorer.studies import study
from privexplorer.studies._predictability import TwentyPeople
from privexplorer.studies._release_choices import OneCondition
from privexplorer.studies.query_map import RELEASES, QueryMapScenario

STUDY: Any = study("query-map")
TWENTY: dict[str, Any] = {
    "data": TwentyPeople(), "outcome": "y", "features": ("x1", "x2"), "intercept": False, "also": (),
    "question": OneCondition(column="q"), "compromised": 0.4,
}  # fmt: skip


def twenty(steps: int, step_size: float = 0.02) -> Any:
    people = TwentyPeople().table()
    gram = np.einsum("ni,nj->ij", *(2 * [np.column_stack([people["x1"], people["x2"]])])) / 20
    pace = step_size * float(np.linalg.eigvalsh(gram)[-1]) / 2
    scenario = QueryMapScenario(**TWENTY, steps=steps, pace=pace)
    return scenario, STUDY.prepare(scenario, None)


def r_of(prepared: Any, release: str, place: int = 0) -> float:
    summary = prepared.summaries[release]
    return float(np.sqrt(np.square(summary.scores[:, place]).sum() / summary.query_variance[place]))


@pytest.mark.parametrize(("steps", "last"), [(1, 0.574488), (5, 0.594679), (50, 0.574649)])
def test_gradient_descent_of_the_twenty_people(steps: int, last: float) -> None:
    _, prepared = twenty(steps)
    assert r_of(prepared, "last") == pytest.approx(last, abs=1e-6)
    if steps >= 3:
        assert r_of(prepared, "path") == pytest.approx(0.798154, abs=1e-6)
    assert r_of(prepared, "fit") == pytest.approx(0.5747588535, rel=1e-8)


def test_a_question_free_of_the_loss_still_leaks() -> None:
    _, prepared = twenty(3)
    assert prepared.loss_correlation[0] == pytest.approx(0.0575313, abs=1e-7)
    assert prepared.loss_correlation[1] == pytest.approx(0.0, abs=1e-12)
    assert r_of(prepared, "fit", 1) == pytest.approx(0.5680289714, rel=1e-8)


def test_the_mean_is_a_plain_correlation() -> None:
    people = TwentyPeople().table()
    _, prepared = twenty(3)
    assert r_of(prepared, "mean") == pytest.approx(abs(np.corrcoef(people["q"], people["y"])[0, 1]), rel=1e-9)


@pytest.fixture(scope="module")
def default() -> Any:
    return STUDY.run()


def test_dots_and_bars_say_the_same(default: Any) -> None:
    dots = STUDY.numbers(default, "map").set_index("series")
    bars = STUDY.numbers(default, "bars")
    mine = bars[bars["series"] == RELEASES["fit"][0]]["y"].to_numpy()
    names = [default.extra["names"][place] for place in default.extra["order"]]
    np.testing.assert_allclose(mine, dots.loc[names, "x"].to_numpy())
    path, last = (bars[bars["series"] == RELEASES[name][0]]["y"].to_numpy() for name in ("path", "last"))
    assert np.all(path >= last - 1e-9)  # the path holds the last step


def test_noise_moves_every_dot_left(default: Any) -> None:
    prepared = STUDY.prepare(QueryMapScenario(), None)
    noisy = STUDY.assemble(QueryMapScenario(noise=0.5), prepared, [])
    before, after = (STUDY.numbers(result, "map")["x"].to_numpy() for result in (default, noisy))
    assert np.all(after < before)
    printed = STUDY.assemble(QueryMapScenario(noise=0.5, noise_scale="paper"), prepared, [])
    assert np.all(STUDY.numbers(printed, "map")["x"].to_numpy() > after)


def test_words_cards_and_charts(default: Any) -> None:
    assert "pressure \\> 125* is given away most (r = 0.63)" in default.shows
    assert "7 of 13" in default.shows
    assert all(len(card.chip) <= 18 for card in default.cards)
    for view in STUDY.views:
        assert STUDY.chart(default, view).marks()


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"features": ("age", "height")}, "no column “height”"),
        ({"features": ("age", "ward")}, "ward"),
        ({"features": ("age", "age")}, "age"),
    ],
)
def test_refusals(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(PrivExplorerError) as caught:
        STUDY.run(QueryMapScenario(**choices))
    assert words in str(caught.value)
