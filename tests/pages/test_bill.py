"""What the private answers of a session cost together, as the page shows it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from privexplorer.privacy import PrivateAnswer, PureDP, SpentBudget


def shown(deltas: tuple[float, ...]) -> None:
    """Draw the bill of answers with these δ (runs inside the app)."""
    from types import SimpleNamespace
    from typing import Any

    from privexplorer.privacy import LocalDP, PureDP
    from privexplorer.privacy.answers import PrivateAnswer
    from privexplorer.ui import show

    answers = tuple(
        PrivateAnswer("table", "age", "release", LocalDP(0.5, delta) if delta else PureDP(0.5), seed)
        for seed, delta in enumerate(deltas)
    )
    result: Any = SimpleNamespace(extra={"answers": answers})
    show.bill(result)


@pytest.mark.parametrize(
    ("deltas", "total"),
    [((0.5, 0.25), "0.75"), ((0.5, 0.5), "1.0"), ((0.5, 0.5, 0.25), "1 (the sum is more)"), ((0.0, 0.0), None)],
)
def test_no_total_above_one_is_shown_as_a_chance(deltas: tuple[float, ...], total: str | None) -> None:
    """A δ is a chance: a sum above 1 is told as such; without any δ there is no column for it."""
    app = AppTest.from_function(shown, args=(deltas,), default_timeout=30).run()
    assert not app.exception
    frame = app.dataframe[0].value
    assert len(frame) == len(deltas) + 1
    if total is None:
        assert "δ" not in frame.columns
        return
    assert frame["δ"].iloc[-1] == total
    assert all(float(word.split()[0]) <= 1 for word in frame["δ"])
    assert float(app.expander[0].label.rpartition("δ = ")[2]) == min(1.0, sum(deltas))


def test_the_bill_fits_other_columns_as_well_as_new_draws() -> None:
    app = AppTest.from_function(shown, args=((0.0, 0.0),), default_timeout=30)
    # an answer from before, about another column
    before = PrivateAnswer("table", "town", "entropy", PureDP(1.0), 0, "Entropy, Plug-in, of “town”")
    app.session_state["_spent"] = SpentBudget().show(before)
    app.run()
    (warning,) = app.warning
    assert warning.proto.title == "Each answer spends ε"
    for words in ("another column", "question", "new draw", "the same people"):
        assert words in warning.value
    assert app.dataframe[0].value["Answer"].tolist()[:3] == [
        "Entropy, Plug-in, of “town”, ε = 1, seed 0",
        "release of age, ε = 0.5, seed 0",
        "release of age, ε = 0.5, seed 1",
    ]
