"""What every study of the catalogue promises: same bits everywhere, honest late fields, complete words and charts."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from record_data import faults
from small_studies import small, smaller, with_another

from privexplorer.arrays import FloatArray
from privexplorer.studies import catalogue
from privexplorer.studies.base import Study
from privexplorer.studies.chart import Area, Bars, HeatMap, Line, Points, Spread
from privexplorer.studies.result import COLUMNS, Result

STUDIES = catalogue()
each = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
AnyStudy = Study[Any]
LABEL = 18
"""Characters in one line of an end label: more than the rule of thumb, less than what pushes the curves aside."""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as one,
    ):
        yield one


@cache
def scenario_of(name: str) -> Any:
    return small(STUDIES[name])


@cache
def prepared_of(name: str) -> Any:
    return STUDIES[name].prepare(scenario_of(name), None)


@cache
def blocks_of(name: str) -> list[FloatArray]:
    study = STUDIES[name]
    return [study.run_block(prepared_of(name), block) for block in range(study.blocks(scenario_of(name)))]


@cache
def result_of(name: str) -> Result:
    study = STUDIES[name]
    return study.finish(scenario_of(name), study.assemble(scenario_of(name), prepared_of(name), blocks_of(name)))


COMMANDS = set(
    re.findall(
        r"\w+",
        """
    Big Bigl Bigr Delta Gamma Omega Phi Pi Pr Rightarrow Sigma Vert Xi alpha approx arcsin arg bar begin beta
    big bigl bigr bmod cap cdot cdots check chi cos cup deg delta dot dots ell end epsilon equiv eta forall frac
    gamma ge hat iff iint in infty int kappa lVert lambda lceil ldots le left leftarrow lfloor ln log mathbb
    mathbf mathcal mathrm max mid min mu nabla ne nu omega otimes partial perp phi pi pm prod propto psi qquad
    quad rVert rceil rfloor rho right rm setminus sigma sim sin sqrt succeq sum sup tanh tau text textstyle
    tfrac theta tilde times to top varepsilon varnothing varphi
    """,
    )
)
"""Commands that formulas use; a missing space after one makes another one of it."""


def same_bits(one: pd.DataFrame, two: pd.DataFrame) -> bool:
    """Equal columns, types and values, the sign of zero and every NaN included."""
    if list(one.columns) != list(two.columns) or list(one.dtypes) != list(two.dtypes) or len(one) != len(two):
        return False
    for name in one.columns:
        left, right = one[name].to_numpy(), two[name].to_numpy()
        equal = left.tobytes() == right.tobytes() if left.dtype.kind in "fiub" else list(left) == list(right)
        if not equal:
            return False
    return True


# --- same numbers -------------------------------------------------------------------------------------------------


@each
def test_same_bits_on_every_backend(study: AnyStudy, client: Client) -> None:
    scenario = scenario_of(study.id)
    assert study.blocks(scenario) == 0 or study.blocks(scenario) >= 3, "too few blocks to see anything"
    told: list[int] = []
    alone = study.run(scenario, progress=lambda done, total: told.append(done))
    assert told == list(range(1, study.blocks(scenario) + 1))
    for frame in (
        study.run(scenario, workers=3).frame,
        study.run(scenario, client=client).frame,
        result_of(study.id).frame,
    ):
        assert same_bits(frame, alone.frame)


@each
def test_blocks_depend_on_nothing_else(study: AnyStudy) -> None:
    """A block is a function of what was prepared and its number: no order, no state, nothing written to."""
    before = pickle.dumps(prepared_of(study.id))
    prepared, blocks = pickle.loads(before), blocks_of(study.id)  # noqa: S301
    for block in reversed(range(len(blocks))):
        again = study.run_block(prepared, block)
        assert again.dtype == np.float64
        assert again.shape == blocks[block].shape
        assert again.tobytes() == blocks[block].tobytes()
    assert pickle.dumps(prepared) == pickle.dumps(pickle.loads(before))  # noqa: S301
    assert len({part.tobytes() for part in blocks}) == len(blocks), "two blocks are the same"


@each
def test_late_fields_compute_no_block(study: AnyStudy) -> None:
    scenario, blocks = scenario_of(study.id), blocks_of(study.id)
    assert study.late <= set(type(scenario).model_fields)
    for name in sorted(study.late):
        new = with_another(study, scenario, name)
        assert new is not None, f"no other value found for {name}"
        assert study.digest(new) == study.digest(scenario), name
        if name != "trials":
            assert study.blocks(new) == len(blocks), name
        prepared = study.prepare(new, None)
        for block in range(min(len(blocks), study.blocks(new))):
            assert study.run_block(prepared, block).tobytes() == blocks[block].tobytes(), (name, block)


@each
def test_prepared_parts_serve_every_late_value(study: AnyStudy) -> None:
    """The page keeps what was prepared: a late change assembled from it equals a run from the start."""
    scenario = scenario_of(study.id)
    for name in sorted(study.late):
        new = with_another(study, scenario, name)
        if study.blocks(new) > len(blocks_of(study.id)):
            continue
        kept = study.assemble(new, prepared_of(study.id), blocks_of(study.id)[: study.blocks(new)])
        fresh = study.run(new)
        assert same_bits(kept.frame, fresh.frame), name
        assert (kept.cards, kept.shows, kept.takeaway) == (fresh.cards, fresh.shows, fresh.takeaway), name


@each
def test_other_fields_change_the_key(study: AnyStudy) -> None:
    scenario = scenario_of(study.id)
    for name in type(scenario).model_fields:
        if name not in study.late:
            new = with_another(study, scenario, name)
            assert new is not None, f"no other value found for {name}"
            assert study.digest(new) != study.digest(scenario), name


@each
def test_seed_changes_the_numbers(study: AnyStudy) -> None:
    scenario, blocks = scenario_of(study.id), blocks_of(study.id)
    if not blocks:
        return
    assert "seed" in type(scenario).model_fields, "a study that draws has a seed"
    new = scenario.model_copy(update={"seed": scenario.seed + 1})
    other = study.run_block(study.prepare(new, None), 0)
    assert other.tobytes() != blocks[0].tobytes()


@each
def test_more_trials_are_more_blocks(study: AnyStudy) -> None:
    scenario = scenario_of(study.id)
    if not blocks_of(study.id) or "trials" not in type(scenario).model_fields:
        return
    assert "trials" in study.late
    more = scenario.model_copy(update={"trials": 5_000})
    assert study.blocks(more) > study.blocks(scenario)


@each
def test_a_draft_says_how_many_runs_it_has(study: AnyStudy) -> None:
    scenario, blocks = scenario_of(study.id), blocks_of(study.id)
    whole = result_of(study.id)
    if not blocks:
        assert whole.runs == 0
        return
    draft = study.assemble(scenario, prepared_of(study.id), blocks[:1])
    assert 0 < draft.runs <= whole.runs
    assert draft.runs < whole.runs or len(draft.frame) < len(whole.frame), "a draft passes for the whole"
    assert list(draft.frame.columns) == list(whole.frame.columns)
    for view in study.views or ("",):
        assert study.chart(draft, view).marks()


# --- words --------------------------------------------------------------------------------------------------------


def test_stable_names_and_questions_are_unique() -> None:
    assert all(study.id == name for name, study in STUDIES.items())
    questions = [study.question for study in STUDIES.values()]
    assert len(set(questions)) == len(questions)
    tabs = [(study.theme, study.tab) for study in STUDIES.values() if study.tab]
    assert len(set(tabs)) == len(tabs)


@each
def test_study_introduces_itself(study: AnyStudy) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", study.id)
    assert study.question.endswith("?")
    assert study.lead.endswith((".", "?"))
    assert study.card.endswith((".", "?"))
    assert study.link
    assert study.theme
    assert study.version >= 1
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) and words for name, words in study.views.items())
    assert len(set(study.views.values())) == len(study.views)
    assert len(set(study.rows)) == len(study.rows)


@each
def test_presets_can_be_answered(study: AnyStudy) -> None:
    titles = [preset.title for preset in study.presets()]
    assert len(set(titles)) == len(titles)
    for preset in study.presets():
        assert preset.title
        assert type(preset.scenario) is study.scenario
        assert study.check(preset.scenario, None) == (), preset.title
        result = study.run(smaller(study, preset.scenario))
        sound(study, result)


def sound(study: AnyStudy, result: Result) -> None:
    """Check numbers, words and charts of one result."""
    frame = result.frame
    assert list(frame.columns[: len(COLUMNS)]) == COLUMNS
    assert set(frame.columns[len(COLUMNS) :]) <= {"low", "high", "panel"}
    assert len(frame)
    assert frame["series"].map(lambda name: isinstance(name, str) and bool(name)).all()
    y, error = frame["y"].to_numpy(dtype=float), frame["std_error"].to_numpy(dtype=float)
    assert not np.isinf(y).any()
    assert not np.isinf(error).any()
    assert not (error < 0).any()
    given = np.isfinite(y)
    if {"low", "high"} <= set(frame.columns):  # a refused interval, in a series that has intervals, has no error either
        by_series = frame.groupby([name for name in ("panel", "series") if name in frame.columns])["low"]
        given &= frame["low"].notna().to_numpy() | by_series.transform("count").eq(0).to_numpy()
    assert not np.isnan(error[given]).any(), "a number without its error"
    key = [name for name in ("panel", "series", "x") if name in frame.columns]
    assert not frame.duplicated(key).any()
    for _, rows in frame.groupby([name for name in key if name != "x"], sort=False):
        assert np.isfinite(rows["y"].to_numpy(dtype=float)).any(), "a series without a number"
    if {"low", "high"} <= set(frame.columns):
        inside = frame.dropna(subset=["low", "high"])
        assert (inside["low"] <= inside["high"]).all()

    assert result.study == study.id
    assert len(result.cards) <= 4
    for card in result.cards:
        assert card.label
        assert card.value
        assert len(card.chip) <= 18, card.chip
    assert result.shows
    assert result.takeaway.endswith(".")
    assert "**" not in result.takeaway
    for words in (result.shows, result.takeaway, *(card.value for card in result.cards)):
        assert not re.search(r"\b(nan|inf|None)\b", words), words
    for formula in result.formulas:
        assert formula.title
        assert formula.tex
        assert formula.source
        for tex in (formula.tex, formula.numbers):
            assert not set(re.findall(r"\\([A-Za-z]+)", tex)) - COMMANDS, tex
            assert tex.isprintable(), tex
    for note in result.notes:
        assert note.text.rstrip("*`").endswith((".", "?")), note.text
    assert result.provenance["study"] == study.id
    for place, view in enumerate(study.views or ("",)):  # "" is the only view of a study that names none
        sound_chart(study, result, view, first=place == 0)


def sound_chart(study: AnyStudy, result: Result, view: str, first: bool) -> None:
    """Check one chart: words, sizes, names."""
    chart = study.chart(result, view)
    assert chart.title
    assert 0 < len(chart.subtitle) <= 48, chart.subtitle
    assert chart.x.title or chart.x.scale == "category"
    assert chart.panels
    series = set(result.frame["series"]) | set(study.table(result).columns)
    for panel in chart.panels:
        assert panel.marks
        names = [(type(mark).__name__, mark.name) for mark in panel.marks]
        assert len(set(names)) == len(names), names
        for mark in panel.marks:
            assert mark.name
            if isinstance(mark, Line) and first:
                assert mark.name in series, (mark.name, series)
            if isinstance(mark, (Line, Bars, Area, Points)):
                assert len(mark.x) == len(mark.y)
                assert np.isfinite(np.asarray(mark.y, dtype=float)).any(), mark.name
            if isinstance(mark, Spread):
                assert len(mark.x) == len(mark.low) == len(mark.high)
            if isinstance(mark, HeatMap):
                assert mark.z.shape == (len(mark.y), len(mark.x))
            elif mark.label is not None:
                lines = mark.label.split("<br>")
                assert len(lines) <= 2, mark.label
                assert all(len(line) <= LABEL for line in lines), mark.label


@each
def test_result_is_sound(study: AnyStudy) -> None:
    sound(study, result_of(study.id))


@each
def test_table_has_every_series(study: AnyStudy) -> None:
    result = result_of(study.id)
    table = study.table(result)
    # as a column, or as what names the rows
    named = set(table["answer"]) if "answer" in table.columns else set()
    assert set(result.frame["series"]) <= set(table.columns) | named | {""}


@each
def test_refusals_are_sentences(study: AnyStudy) -> None:
    """What a study says to a scenario that does not fit can be read by anybody."""
    scenario = scenario_of(study.id)
    for name in type(scenario).model_fields:
        new = with_another(study, scenario, name)
        for words in study.check(new, None) if new is not None else ():
            assert not faults(words), (faults(words), words)
