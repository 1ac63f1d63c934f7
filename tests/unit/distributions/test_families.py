from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from privexplorer.data import Source, TableColumn
from privexplorer.distributions import (
    Dirichlet,
    DiscreteDistribution,
    Empirical,
    Geometric,
    TwoStep,
    Typed,
    Uniform,
    Zipf,
    figure_families,
)
from privexplorer.errors import DataError


def test_weights_of_each_family() -> None:
    np.testing.assert_allclose(Uniform(k=4).law().probabilities, [0.25] * 4)
    np.testing.assert_allclose(TwoStep(k=4).law().probabilities, np.array([1, 1, 3, 3]) / 8)
    np.testing.assert_allclose(TwoStep(k=5).law().probabilities, np.array([1, 1, 3, 3, 3]) / 11)
    np.testing.assert_allclose(Zipf(k=3).law().probabilities, np.array([6, 3, 2]) / 11)
    np.testing.assert_allclose(Zipf(k=2, exponent=0.5).law().probabilities, np.array([1, 0.5**0.5]) / (1 + 0.5**0.5))
    np.testing.assert_allclose(Geometric(k=3, ratio=0.5).law().probabilities, np.array([4, 2, 1]) / 7)
    np.testing.assert_allclose(Typed(probabilities=(0.9, 0.1)).law().probabilities, [0.9, 0.1])


def test_zipf_flag_leaves_out_the_last_symbol() -> None:
    law = Zipf(k=100, drop_last=True).law()
    assert law.k == 99
    np.testing.assert_allclose(law.probabilities, Zipf(k=99).law().probabilities)


@pytest.mark.parametrize("concentration", [0.5, 1.0, 5.0])
def test_dirichlet_draws_have_the_right_moments(concentration: float) -> None:
    k = 4000
    p = Dirichlet(k=k, concentration=concentration).law().probabilities
    # k p is close to gamma(c)/c: mean 1, variance 1/c
    assert k * np.sqrt(k) * abs(p.mean() - 1 / k) < 1e-6
    error = np.sqrt((6 / concentration**3 + 2 / concentration**2) / k)
    assert (k * p).var() == pytest.approx(1 / concentration, abs=4 * error)
    assert abs((k * p).var() - 1.5 / concentration) > 4 * error


def test_dirichlet_draw_number_decides_alone() -> None:
    first = Dirichlet(k=50, draw=3).law().probabilities
    assert np.array_equal(first, Dirichlet(k=50, draw=3).law().probabilities)
    assert not np.array_equal(first, Dirichlet(k=50, draw=4).law().probabilities)


def test_a_very_small_concentration_still_sums_to_one() -> None:
    p = Dirichlet(k=1000, concentration=0.01).law().probabilities
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert p.max() > 0.05


def test_the_panels_of_the_figures() -> None:
    panels = figure_families(500, draw=2)
    assert list(panels) == ["Uniform", "Two-step", "Zipf(1/2)", "Zipf(1)", "Dirichlet(1)", "Dirichlet(1/2)"]
    assert all(panel.law().k == 500 for panel in panels.values())
    assert all(panel.law().probabilities.sum() == pytest.approx(1.0, abs=1e-12) for panel in panels.values())
    assert figure_families(500, zipf_drop_last=True)["Zipf(1/2)"].law().k == 499


@pytest.mark.parametrize(
    "bad",
    [
        {"kind": "uniform", "k": 0},
        {"kind": "zipf", "exponent": -0.1},
        {"kind": "geometric", "ratio": 1.0},
        {"kind": "dirichlet", "concentration": 0.0},
        {"kind": "typed", "probabilities": [0.5, 0.4]},
        {"kind": "typed", "probabilities": [1.5, -0.5]},
        {"kind": "typed", "probabilities": []},
        {"kind": "unknown"},
    ],
)
def test_bad_settings_do_not_validate(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(DiscreteDistribution).validate_python(bad)


def test_every_kind_round_trips_through_json() -> None:
    adapter = TypeAdapter(DiscreteDistribution)
    for record in (Uniform(), TwoStep(k=7), Zipf(exponent=0.3), Dirichlet(draw=5), Geometric(), Empirical(), Typed()):
        assert adapter.validate_json(record.model_dump_json()) == record
        assert record.title
        assert record.formula
        assert record.source
        assert record.label


def test_bundled_surnames_are_a_population() -> None:
    law = Empirical().law()
    assert (law.k, law.population_size) == (20_412, 86_080)
    assert law.population is not None
    assert [int((law.population == count).sum()) for count in (1, 2, 3)] == [12_042, 3075, 1444]
    assert Empirical().law() is law


def test_an_uploaded_column_is_read_each_time() -> None:
    source = Source.from_bytes("pets.csv", b"pet\ncat\ncat\ndog\ncat\n")
    record = Empirical(table=TableColumn(data=source.digest, column="pet"))
    law = record.law({source.digest: source})
    np.testing.assert_allclose(np.sort(law.probabilities), [0.25, 0.75])
    assert law.population_size == 4
    assert record.law({source.digest: source}) is not law
    with pytest.raises(DataError):
        record.law({})
