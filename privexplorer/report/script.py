"""A scenario as a Python script that gives the same digits."""

from __future__ import annotations

import pprint
from collections.abc import Iterator
from typing import Any

import privexplorer
from privexplorer.data import TableChoice, TableColumn, bundled
from privexplorer.records import Record, Scenario
from privexplorer.studies.base import Study

PLACE = "PATH/TO/YOUR/TABLE.csv"


def tables_named(record: Any) -> Iterator[str]:
    """Names of the tables, bundled ones left out, that a record refers to."""
    if isinstance(record, (TableColumn, TableChoice)):
        if record.data and all(record.data != table.id for table in bundled()):
            yield record.data
        return
    if isinstance(record, Record):
        for name in type(record).model_fields:
            yield from tables_named(getattr(record, name))
    elif isinstance(record, tuple):
        for item in record:
            yield from tables_named(item)


def snippet(study: Study[Any], scenario: Scenario) -> str:
    """Write a script that answers the question again, to the last digit.

    Parameters
    ----------
    study : Study
        The question.
    scenario : Scenario
        What is asked. If it names a table that does not come with the program, the script reads that table from a
        path that the reader fills in; it never contains data.

    Returns
    -------
    str
        Python source; it prints the numbers as CSV.
    """
    names = list(dict.fromkeys(tables_named(scenario)))
    settings = pprint.pformat(scenario.model_dump(mode="json"), sort_dicts=False, width=100)
    lines = [
        f"# {study.question}",
        f"# The same digits as on the page: privexplorer {privexplorer.__version__}, study version {study.version}.",
        "from privexplorer import report",
    ]
    if names:
        lines += ["from privexplorer.data import Source", "from privexplorer.errors import DataError"]
    lines += [
        "from privexplorer.studies import study",
        "",
        f"question = study({study.id!r})",
        "scenario = question.scenario.model_validate(",
        *(f"    {line}" for line in settings.splitlines()),
        ")",
    ]
    if names:
        lines += ["", "tables = {}", "for wanted, path in ("]
        lines += [f"    ({name!r}, {PLACE!r}),  # fill in the path of the file" for name in names]
        lines += [
            "):",
            "    try:",
            "        table = Source.from_path(path)",
            "    except DataError as error:",
            "        raise SystemExit(str(error)) from None",
            "    if table.key != wanted:",
            '        raise SystemExit(f"{path} is another file: its SHA-256 begins with {table.key}, not {wanted}.")',
            "    tables[wanted] = table",
            "result = question.run(scenario, tables)",
        ]
    else:
        lines.append("result = question.run(scenario)")
    lines += ["", 'print(report.to_csv(result), end="")', ""]
    return "\n".join(lines)


__all__ = ["snippet"]
