"""What the page says about the cost of privacy: the noise, and the smoother estimate that keeps it small."""

from __future__ import annotations

import pytest

from privexplorer.studies import study


def words(**settings: object) -> str:
    question = study("entropy-error")
    return str(question.run(question.scenario.model_validate({"trials": 64, **settings})).shows)


def test_a_difference_that_is_not_noise_is_named() -> None:
    """Uniform law: the private estimate is off by five times as much although its noise adds next to nothing."""
    said = words(distribution={"kind": "uniform"})
    assert "The noise itself adds 0.0" in said
    assert "Most of that difference is not noise" in said


@pytest.mark.parametrize("settings", [{}, {"estimators": [{"kind": "plug-in"}]}])
def test_nothing_is_named_where_both_are_alike(settings: dict[str, object]) -> None:
    assert "that difference" not in words(**settings)
