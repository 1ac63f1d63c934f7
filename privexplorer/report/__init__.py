"""A result to take away: numbers as CSV, the scenario as JSON, a Python script, a report in one HTML file."""

from __future__ import annotations

from pathlib import Path

from privexplorer.errors import ParameterError
from privexplorer.report.page import to_html
from privexplorer.report.scenario_file import read_scenario_json, scenario_json, to_json
from privexplorer.report.script import snippet
from privexplorer.report.table import file_stem, number_texts, table_texts, to_csv
from privexplorer.report.theme import theme_colours
from privexplorer.studies import study as find
from privexplorer.studies.result import Result

ENDINGS = (".csv", ".json", ".html")


def write(result: Result, path: str | Path) -> None:
    """Write a result to a file: numbers (.csv), scenario and numbers (.json), or a report (.html).

    Parameters
    ----------
    result : Result
        What a study's ``run`` gave back.
    path : str or Path
        Where to; its ending chooses the form.

    Raises
    ------
    ParameterError
        For another ending: one sentence.
    OSError
        If the file cannot be written.
    """
    where = Path(path)
    ending = where.suffix.lower()
    if ending == ".csv":
        text = to_csv(result)
    elif ending == ".json":
        text = to_json(find(result.study), result)
    elif ending == ".html":
        text = to_html(result, find(result.study))
    else:
        raise ParameterError(
            f"The name of the output must end in .csv, .json or .html; it is “{where.name[:100]}”.", field="out"
        )
    where.write_text(text, encoding="utf-8", newline="\n")


__all__ = [
    "ENDINGS",
    "file_stem",
    "number_texts",
    "read_scenario_json",
    "scenario_json",
    "snippet",
    "table_texts",
    "theme_colours",
    "to_csv",
    "to_html",
    "to_json",
    "write",
]
