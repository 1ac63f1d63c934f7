"""Numbers in tables: one notation per column, few digits, 0 for exact zeros; files keep all digits."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest

from privexplorer.report import number_texts, table_texts, to_csv
from privexplorer.studies import study
from privexplorer.ui.show import readable, seen_table

POWER = re.compile(r"×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+$")


def notations(texts: list[str]) -> set[object]:
    """Return ``"power"`` or the count of decimals of each text; an exact 0 and what is missing fit anywhere."""
    plain = [text.lstrip("<>−") for text in texts if text not in ("0", "–")]
    return {"power" if POWER.search(text) else len(text.partition(".")[2]) for text in plain}


@pytest.mark.parametrize(
    "values",
    [
        [51.9549, 0.397, 0.116, 0.0961, 0.00552, 9.7e-4, 1e-7],
        [0.00001259, 0.001, 0.1, 10.0],
        [0.9154, 0.855, 0.02, 3e-12, 0.0],
        [1.795, 1.8244, 2.5e4, 8.1e9, 3e14],
        [-3.0, 2.0, 7.0],
        [0.25, 0.5, 0.75],
        [1e-300, 1e300],
        [float("nan"), 4.2],
    ],
)
def test_one_notation_per_column(values: list[float]) -> None:
    for places in (False, True):
        texts = number_texts(values, places=places)
        assert len(notations(texts)) == 1
        for value, text in zip(values, texts, strict=True):
            assert (text == "0") == (value == 0)
            assert "e" not in text
            assert len(re.sub(r"\D", "", POWER.sub("", text))) <= 9


def test_digits_are_few_but_tell_the_numbers() -> None:
    assert number_texts([51.9549, 0.397, 0.116, 0.0961, 0.00552]) == ["51.955", "0.397", "0.116", "0.096", "0.006"]
    assert number_texts([0.5, 0.25, 1e-7]) == ["0.50", "0.25", "<0.01"] or "<" in number_texts([0.5, 0.25, 1e-7])[2]
    assert number_texts([900, 20_000]) == ["900", "20,000"]
    assert number_texts([-1.5, 2.25]) == ["−1.50", "2.25"]
    assert number_texts([0.0102, 0.0035, 2.1e-19], doubt=True)[2] == "0", "rounding is no doubt"
    assert number_texts([float("inf"), 1.0, None]) == ["∞", "1", "–"]


def test_places_on_an_axis_are_all_told() -> None:
    grid = np.geomspace(1e-5, 10, 13)
    texts = number_texts(grid.tolist(), places=True)
    assert len(set(texts)) == grid.size
    assert not any("<" in text for text in texts)


@pytest.mark.parametrize("name", ["coefficient-explosion", "regimes", "support-size", "degree-dial"])
def test_tables_of_studies_mix_no_notations_and_files_keep_all_digits(name: str) -> None:
    asked = study(name)
    changes = {"trials": 16} if "trials" in type(asked).scenario.model_fields else {}
    result = asked.run(asked.scenario(**changes))
    frame = asked.table(result)
    texts = table_texts(frame)
    assert texts
    assert all(len(notations(column)) <= 1 for column in texts.values())
    read = [float(row["y"] or "nan") for row in csv.DictReader(io.StringIO(to_csv(result)))]
    np.testing.assert_array_equal(read, result.frame["y"].to_numpy(dtype=np.float64))


def test_an_estimate_that_never_varies_has_no_variance() -> None:
    """A polynomial of degree 1 gives the same answer for every sample of one size."""
    asked = study("degree-dial")
    rows = asked.run(asked.scenario(trials=32)).series("variance", asked.views["dial"])
    assert rows["y"].iloc[0] == 0
    assert (rows["y"].iloc[1:] > 0).all()


def test_parts_of_an_error_stand_in_the_notation_of_their_total() -> None:
    asked = study("degree-dial")
    frame = seen_table(asked, asked.run(asked.scenario(trials=32)), "dial")
    texts = table_texts(frame)
    assert notations(texts["bias²"]) != {"power"}
    assert notations(texts["total"]) != {"power"}


def test_headings_leave_room_for_the_other_columns() -> None:
    asked = study("unseen-in-data")
    frame = seen_table(asked, asked.run(), "coverage")
    assert list(frame.columns) == ["look-ahead t", "answer", "distinct values", "19 of 20 from", "to"]
    assert list(seen_table(asked, asked.run(), "entropy").columns)[:3] == ["n", "answer", "entropy"]


def test_the_table_on_screen_keeps_its_numbers() -> None:
    """Only what is shown is rounded: sorting and the table's own download work with the numbers."""
    frame = pd.DataFrame({"x": [1, 2], "y": [0.123456789, 0.0], "z": [np.nan, 3.5]})
    shown = readable(frame)
    pd.testing.assert_frame_equal(shown.data, frame)
    cells = {match for match in re.findall(r"<td[^>]*>([^<]*)</td>", shown.to_html())}
    assert {"0.1235", "0", "–", "3.5"} <= cells
