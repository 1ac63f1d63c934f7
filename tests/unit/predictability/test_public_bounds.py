"""Noise for differential privacy is refused where the people break the public bounds that it rests on."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.errors import ParameterError, PrivExplorerError
from privexplorer.predictability import (
    Formula,
    LaplaceForPrivacy,
    Mean,
    NoNoise,
    PenalisedLogisticRegression,
    RandomShard,
    analyse,
    query_set,
    refuse_outside,
)

TABLE = {"x": np.arange(60.0), "ill": np.arange(60) % 4 == 0, "y": (np.arange(60) % 3 == 0).astype(float)}


@pytest.mark.parametrize(
    "release", [Mean(columns=("x",)), Formula(text="x * 1"), PenalisedLogisticRegression(features=("x",), target="y")]
)
def test_values_outside_are_counted_and_refused(release: Mean) -> None:
    name = "x * 1" if isinstance(release, Formula) else "x"
    with pytest.raises(ParameterError, match="58 of 60 values") as found:
        refuse_outside(release, TABLE, {name: (10.0, 11.0)})
    assert found.value.field == "bounds"
    refuse_outside(release, TABLE, {name: (0.0, 59.0)})
    refuse_outside(release, [TABLE, TABLE], {"other": (0.0, 1.0)})


def test_an_epsilon_is_not_promised_for_them() -> None:
    """The noise for bounds 10 to 11 would be 59 times too small for people between 0 and 59."""
    queries, noise = query_set(["ill"], TABLE), [LaplaceForPrivacy(epsilon=1.0)]
    with pytest.raises(PrivExplorerError, match=r"lie outside its public bounds 10 to 11.*clip\(x, 10, 11\)"):
        analyse(TABLE, queries, Mean(columns=("x",)), RandomShard(), noise, bounds={"x": (10.0, 11.0)})
    wide = analyse(TABLE, queries, Mean(columns=("x",)), RandomShard(), noise, bounds={"x": (0.0, 59.0)})
    assert float(np.sqrt(wide.noise.covariance[0, 0] / 2)) == pytest.approx(59 / 60)
    clipped = Formula(text="clip(x, 10, 11)")
    tight = analyse(TABLE, queries, clipped, RandomShard(), noise, bounds={"clip(x, 10, 11)": (10.0, 11.0)})
    assert float(np.sqrt(tight.noise.covariance[0, 0] / 2)) == pytest.approx(1 / 60)
    analyse(TABLE, queries, Mean(columns=("x",)), RandomShard(), [NoNoise()], bounds={"x": (10.0, 11.0)})
