"""The bundled tables hold what they say, and each can be taken in one click."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn import datasets

from privexplorer.data import ReadOptions, Source, TableColumn, bundled, inspect, read_column, read_counts, resolve
from privexplorer.data.reference import KIND_TITLES

LOADERS = {
    "iris": (lambda: datasets.load_iris(), "species"),
    "wine": (lambda: datasets.load_wine(), "cultivar"),
    "breast-cancer": (lambda: datasets.load_breast_cancer(), "diagnosis"),
    "diabetes": (lambda: datasets.load_diabetes(scaled=False), "progression"),
    "digits": (lambda: datasets.load_digits(), "digit"),
}


@pytest.mark.parametrize("table", bundled(), ids=lambda table: table.id)
def test_each_table_opens_and_reads(table):
    source = resolve(table.reference(), None)
    assert source.key == table.id
    assert source is Source.bundled(table.id)
    layout = inspect(source)
    assert layout.rows_exact
    assert layout.detected.header == "yes"
    found = read_counts(source, table.reference())
    assert found.distinct >= 2
    assert found.dropped.total == 0
    assert found.notes == ()
    assert (layout.histogram == (table.column, table.counts)) == bool(table.counts)
    for text in (table.title, table.description, table.provenance):
        assert text
    assert table.description.endswith(".")
    assert TableColumn.model_validate_json(table.reference().model_dump_json()) == table.reference()


@pytest.mark.parametrize(("name", "n", "distinct", "first"), [
    ("census-surnames", 86_080, 20_412, ("SMITH", 981)),
    ("hamlet-words", 32_053, 4_756, ("the", 1142)),
])  # fmt: skip
def test_the_histograms(name, n, distinct, first):
    table = next(table for table in bundled() if table.id == name)
    found = read_counts(Source.bundled(name), table.reference())
    assert (found.n, found.distinct) == (n, distinct)
    assert found.top(1) == [first]
    for number in (n, distinct):
        assert f"{number:,}" in table.description
    assert "NULL" in read_counts(Source.bundled("census-surnames"), bundled()[0].reference()).values


@pytest.mark.parametrize("name", LOADERS)
def test_values_are_those_of_scikit_learn(name):
    load, target = LOADERS[name]
    bunch = load()
    source = Source.bundled(name)
    names = inspect(source).names
    assert names[-1] == target
    assert len(names) == bunch.data.shape[1] + 1
    for place in range(0, bunch.data.shape[1], 1 if bunch.data.shape[1] < 20 else 9):
        column = read_column(source, TableColumn(column=names[place], kind="number"))
        np.testing.assert_array_equal(column.values, bunch.data[:, place])
    last = read_column(source, TableColumn(column=target, kind="category"))
    labels = [last.labels[place] for place in last.values]
    if name in ("diabetes", "digits"):
        np.testing.assert_array_equal(np.array(labels, dtype=float), bunch.target)
    else:
        assert labels == [str(bunch.target_names[place]) for place in bunch.target]


def test_the_first_table_is_a_histogram_and_ids_are_distinct():
    assert bundled()[0].id == "census-surnames"
    ids = [table.id for table in bundled()]
    assert len(set(ids)) == len(ids)


def test_every_choice_has_words_and_a_short_name():
    for name, info in ReadOptions.model_fields.items():
        extra = info.json_schema_extra
        assert isinstance(extra, dict)
        if name != "sheet":
            choices = info.annotation.__args__
            assert choices[0] == "auto"
            assert set(extra["titles"]) == set(choices)
    keys = [info.json_schema_extra["key"] for info in ReadOptions.model_fields.values()]
    assert keys == ["sep", "dec", "enc", "head", "quote", "sheet"]
    assert [info.json_schema_extra["key"] for info in TableColumn.model_fields.values()] == [
        "data", "column", "counts", "as", "read",
    ]  # fmt: skip
    assert set(KIND_TITLES) == {"auto", "category", "count", "number", "binary", "date", "identifier"}


def test_importing_the_package_is_light():
    """Neither pyarrow nor pandas nor openpyxl is loaded before a file is read."""
    code = (
        "import sys, privexplorer.data as d; d.bundled(); d.TableColumn(data='iris');"
        "print([m for m in ('pyarrow', 'pandas', 'openpyxl', 'sklearn', 'streamlit') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
