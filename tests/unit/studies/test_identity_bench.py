"""The bench: everything holds on random laws, slips stand out, gold values."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.causal import LAW_A, BenchRow, FiniteMechanism
from privexplorer.errors import ParameterError
from privexplorer.figures import draw
from privexplorer.records import apply
from privexplorer.studies._effects import LawA, OwnLaw, PointNoise
from privexplorer.studies.identity_bench import (
    ERROR,
    SKEW,
    SLACK,
    TARGET_TITLES,
    IdentityBench,
    IdentityBenchScenario,
    KeptOrNoise,
    OwnMatrix,
    RandomLaw,
    RandomMatrix,
    more_rows,
    slips,
    target_of,
)

study = IdentityBench()


@pytest.mark.parametrize("target", TARGET_TITLES)
@pytest.mark.parametrize(
    "mechanism", [RandomMatrix(), KeptOrNoise(keep_probability=0.2), KeptOrNoise(noise=PointNoise())]
)
def test_everything_holds_whatever_the_law(target, mechanism):
    for seed in range(4):
        result = study.run(IdentityBenchScenario(target=target, mechanism=mechanism, seed=seed))
        rows = result.extra["equal"] + result.extra["less"]
        assert [row.name for row in rows if not row.holds] == []
        assert len(rows) >= 33
        assert "Nothing fails" in result.shows


def test_a_wrong_statement_turns_red(monkeypatch):
    # the same bench with a target whose influence function is off by a tenth
    target = target_of("ate")
    kind = type(target)
    honest = kind.influence
    monkeypatch.setattr(kind, "influence", lambda self, law, nuisances=None: 1.1 * honest(self, law, nuisances) + 0.01)
    result = study.run(IdentityBenchScenario(target="ate"))
    failing = {row.name for row in result.extra["equal"] if not row.holds}
    assert {"Influence function is centred", "Derivative along a path", "Exact bias at wrong nuisances"} <= failing
    names = {mark.name for mark in study.chart(result, "identities").panels[0].marks}
    assert names == {"holds", "fails"}
    assert "These fail" in result.shows


def test_slips_give_the_known_numbers():
    # E1: twice the effect; L-L3c: -0.028 and -0.087 under the lopsided matrix
    skew = FiniteMechanism(np.array(SKEW))
    rng = np.random.default_rng(0)
    att = {slip.name: slip for slip in slips(LAW_A, target_of("att"), skew, rng)}
    assert att["Mean of the printed influence function (ATT)"].size == pytest.approx(0.360869565, rel=1e-6)
    assert att["Mean of the private score, matrix transposed"].size == pytest.approx(0.087, abs=5e-4)
    ate = {slip.name: slip for slip in slips(LAW_A, target_of("ate"), skew, rng)}
    assert ate["Mean of the private score, matrix transposed"].size == pytest.approx(0.028, abs=5e-4)
    for slip in (*att.values(), *ate.values()):
        assert slip.right < 1e-9 < 1e-3 < slip.size


def test_dimensions_of_lemma_one():
    # G27: a singular matrix of rank 2 leaves 7 of 11; so does one category that nobody has
    rows = more_rows(LAW_A, target_of("ate"), FiniteMechanism(np.array(SKEW)), np.random.default_rng(1))
    found = {row.name: (row.left, row.right) for row in rows}
    assert found["Dimension left by a singular matrix"] == (7.0, 7.0)
    assert found["Dimension with noise outside the data"] == (7.0, 7.0)


def test_two_regressions_have_the_gold_value():
    # G29
    scenario = IdentityBenchScenario(law=LawA(), mechanism=KeptOrNoise(), target="two")
    result = study.run(scenario)
    assert "−0.320" in result.shows
    assert "116.019" in result.formulas[2].numbers or "116.02" in result.formulas[2].numbers


def test_seed_changes_law_and_trial_functions():
    one, two = study.run(), study.run(IdentityBenchScenario(seed=1))
    assert not np.array_equal(one.frame["y"].to_numpy(), two.frame["y"].to_numpy())
    assert np.array_equal(one.frame["y"].to_numpy(), study.run().frame["y"].to_numpy())


def test_table_has_every_statement_with_its_source():
    result = study.run()
    table = study.table(result)
    assert {"statement", "source", "holds", ERROR, SLACK} <= set(table.columns)
    assert len(table) == sum(len(result.extra[name]) for name in ("equal", "less", "slips"))
    assert (table["source"].str.len() > 0).all()


def test_marks_turn_at_the_limit_of_their_kind():
    """View 7.13: 1e-9 for identities, 1e-7 for derivatives by differences; in the chart and in the table."""
    result = study.run()
    kinds = ("identity", "difference quotient")
    sizes = {"identity": (0.9e-9, 1.1e-9), "difference quotient": (0.9e-7, 1.1e-7)}
    rows = [BenchRow(f"{kind} {size}", "x", kind, size, 0.0, size) for kind in kinds for size in sizes[kind]]
    result.extra["equal"] = rows
    chart = study.chart(result, "identities")
    groups = {mark.name: mark for mark in chart.marks()}
    assert list(groups["holds"].x) == [0.9e-9, 0.9e-7]
    assert list(groups["fails"].x) == [1.1e-9, 1.1e-7]
    assert groups["holds"].role != groups["fails"].role
    assert study.table(result)["holds"].tolist()[:4] == ["yes", "no", "yes", "no"]
    for compact in (False, True):
        shapes = [shape for shape in draw(chart, compact=compact).layout.shapes if shape.x0 == shape.x1]
        assert sorted(shape.x0 for shape in shapes) == [1e-9, 1e-7]


@pytest.mark.parametrize("view", study.views)
def test_rows_have_their_names_beside_them_and_numbers_on_a_phone(view):
    result = study.run()
    rows = result.extra[{"identities": "equal", "inequalities": "less", "slips": "slips"}[view]]
    chart = study.chart(result, view)
    heights = dict(zip((row.at for row in chart.y.rows), rows, strict=True))
    for mark in chart.marks():
        for at, text in zip(mark.y, mark.text or (), strict=False):
            assert text.startswith(heights[at].name), "a dot beside another's name"
    wide, narrow = draw(chart), draw(chart, compact=True)
    shown = [text.replace("<br>", " ").replace("\u00a0", " ").split("  ") for text in wide.layout.yaxis.ticktext]
    assert [name.removesuffix(", by differences") for name, _ in shown] == [row.name for row in rows]
    assert [number for _, number in shown] == list(narrow.layout.yaxis.ticktext)
    places = list(wide.layout.yaxis.tickvals)
    assert places == sorted(places, reverse=True), "the first of the table stands on top"
    for layout in (wide.layout, narrow.layout):
        assert not [words for words in layout.annotations if (words.name or "").startswith("point ")]


def test_both_sides_are_written_alike():
    table = study.table(study.run())
    shown = table.dropna(subset=["left"])
    texts = [*shown["left"], *shown["right"]]
    assert len({len(text) for text in texts}) == 1
    values = [text.strip("\u2007") for text in texts]
    assert all(len(value.split(".")[1]) == 6 for value in values)
    assert not [value for value in values if "e" in value or "×" in value or "−0.000000" in value]
    rows = [row for name in ("equal", "less") for row in study.run().extra[name]]
    left = [float(value.replace("−", "-").replace(",", "")) for value in values[: len(rows)]]
    np.testing.assert_allclose(left, [row.left for row in rows], atol=5.1e-7)
    # the bench draws what rounds to nothing as well
    assert any(0 < abs(row.left) < 1e-12 for row in rows)


def test_what_does_not_fit_is_said():
    assert "4 categories" not in "".join(study.check(IdentityBenchScenario(law=LawA(), mechanism=OwnMatrix()), None))
    words = study.check(IdentityBenchScenario(law=RandomLaw(levels=4), mechanism=OwnMatrix()), None)
    assert "3 categories" in words[0]
    singular = OwnMatrix(entries=(0.5, 0.5, 0.5, 0.5))
    assert (
        "cannot be inverted" in study.check(IdentityBenchScenario(law=RandomLaw(levels=2), mechanism=singular), None)[0]
    )
    certain = OwnLaw(outcome_treated=(1.0, 0.6, 0.75))
    assert "positive cells" in study.check(IdentityBenchScenario(law=certain), None)[0]
    for entries, cause in (((0.5, 0.5, 0.2, 0.3, 0.5), "square number"), ((0.5, 0.5, 0.2, 0.9), "must add up to one")):
        spoilt = IdentityBenchScenario(law=LawA(), mechanism=OwnMatrix(entries=entries))
        words = study.check(spoilt, None)
        assert len(words) == 1
        assert cause in words[0]
        assert "categories" not in words[0]
        with pytest.raises(ParameterError, match=cause):
            study.run(spoilt)


def test_rows_in_place_of_columns_are_named_and_nothing_else_is_blamed():
    # also where the number of categories does not fit, and from a link, which builds what it can
    turned = tuple(np.array(SKEW).T.ravel().tolist())
    for law in (LawA(), RandomLaw(levels=4)):
        words = study.check(IdentityBenchScenario(law=law, mechanism=OwnMatrix(entries=turned)), None)
        assert len(words) == 1
        assert "exchange rows and columns" in words[0]
    pairs = [("mech", "own"), ("mech.own.entries", ",".join(map(str, turned)))]
    assert study.check(apply(IdentityBenchScenario(), pairs), None) == words


def test_every_view_is_drawn():
    for scenario in (preset.scenario for preset in study.presets()):
        result = study.run(scenario)
        for view in study.views:
            assert draw(study.chart(result, view)).data
