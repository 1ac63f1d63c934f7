from __future__ import annotations

import numpy as np
import pytest

from privexplorer.causal.bench import BenchRow, identity_bench
from privexplorer.causal.laws import LAW_A, FiniteLaw
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism, FiniteNoise, uniform_levels
from privexplorer.causal.targets import ATE, ATT, CAUSAL_TARGETS, TimeDiscount, two_regressions

SKEW = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])


@pytest.mark.parametrize("target", [*CAUSAL_TARGETS, TimeDiscount(lambda x: x), two_regressions()])
def test_every_row_holds_on_random_laws(target: object) -> None:
    rng = np.random.default_rng(1)
    for _ in range(6):
        law = FiniteLaw.random(rng, 3, 2, 3.0)
        noise = FiniteNoise(rng.dirichlet(np.ones(3)))
        for mechanism in (SKEW, AlphaIdentity(rng.uniform(0.1, 1.0), noise)):
            failing = [row for row in identity_bench(law, target, mechanism, rng) if not row.holds]
            assert failing == []


def test_rows_are_named_once() -> None:
    rows = identity_bench(LAW_A, ATT(), AlphaIdentity(0.5, uniform_levels(3)), np.random.default_rng(0))
    assert len({row.name for row in rows}) == len(rows)


def test_a_wrong_transpose_turns_rows_red() -> None:
    slipped = FiniteMechanism(SKEW.matrix, SKEW.inverse.T)
    rows = {row.name: row for row in identity_bench(LAW_A, ATE(), slipped, np.random.default_rng(0))}
    red = {name for name, row in rows.items() if not row.holds}
    assert {
        "Operator undoes its inverse",
        "Signed weights add up to one",
        "Change of measure",
        "Private influence function is centred",
    } <= red
    assert "Influence function is centred" not in red


def test_what_counts_as_true() -> None:
    assert BenchRow("", "", "identity", 1.0, 1.0, 1e-10).holds
    assert not BenchRow("", "", "identity", 1.0, 1.0, 1e-8).holds
    assert BenchRow("", "", "difference quotient", 1.0, 1.0, 1e-8).holds
    assert not BenchRow("", "", "inequality", 2.0, 1.0, -1.0).holds
