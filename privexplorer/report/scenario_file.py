"""A scenario as a JSON file: written with what it takes to get the same numbers again, read strictly."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from privexplorer.errors import ParameterError
from privexplorer.records import Scenario, near, validated
from privexplorer.report.table import columns_of, rows_of
from privexplorer.studies import study as find
from privexplorer.studies.base import Study, provenance
from privexplorer.studies.result import Result

SCHEMA = 1
KNOWN = ("schema", "study", "scenario", "provenance", "columns", "rows")


def contents(study: Study[Any], scenario: Scenario, result: Result) -> dict[str, Any]:
    """Return what a scenario file says."""
    return {
        "schema": SCHEMA,
        "study": study.id,
        "scenario": scenario.model_dump(mode="json"),
        "provenance": dict(result.provenance) or provenance(study, scenario, result),
    }


def scenario_json(study: Study[Any], scenario: Scenario, result: Result) -> str:
    """Write a scenario and its provenance; :func:`read_scenario_json` reads it back.

    Parameters
    ----------
    study : Study
        The question.
    scenario : Scenario
        What was asked.
    result : Result
        What came out: its provenance goes along, its numbers do not.
    """
    return json.dumps(contents(study, scenario, result), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_json(study: Study[Any], result: Result) -> str:
    """Write scenario, provenance and numbers; a missing number is null, an infinite one the text "inf"."""
    rows = [
        [str(value) if value in (float("inf"), float("-inf")) else value for value in row] for row in rows_of(result)
    ]
    body = contents(study, result.scenario, result)
    lines = ",\n".join(f"    {json.dumps(row, ensure_ascii=False, allow_nan=False)}" for row in rows)
    head = json.dumps(body | {"columns": columns_of(result)}, indent=2, ensure_ascii=False, allow_nan=False)
    return f'{head.removesuffix("}").rstrip()},\n  "rows": [\n{lines}\n  ]\n}}\n'


def read_scenario_json(text: str) -> tuple[Study[Any], Scenario]:
    """Read a scenario file, of the forms that :func:`scenario_json` and :func:`to_json` write.

    Parameters
    ----------
    text : str
        The file's text.

    Returns
    -------
    tuple
        The study and the scenario.

    Raises
    ------
    ParameterError
        One sentence that says what is wrong: not JSON, not a scenario, an unknown study, a bad setting.
    """
    data = _parse(text)
    if not isinstance(data, dict):
        raise ParameterError(
            f"The file is not a saved scenario: it holds {_kind(data)}, not a group with “study” and “scenario”."
        )
    for name in data:
        if name not in KNOWN:
            raise ParameterError(f"The file has an entry “{name[:60]}” that is not known; {near(name, KNOWN)}.")
    schema = data.get("schema", SCHEMA)
    if isinstance(schema, bool) or schema != SCHEMA:
        raise ParameterError(
            f"The file is written in form {_shown(schema)}; this version reads form {SCHEMA}; save the scenario again."
        )
    name = data.get("study")
    if not isinstance(name, str) or not name:
        raise ParameterError("The file does not say which study it is for; “study” must be the id of a study.")
    study = find(name)
    if "scenario" not in data:
        raise ParameterError("The file holds no settings; “scenario” must be a group of them, {} for the defaults.")
    if not isinstance(data["scenario"], dict):
        raise ParameterError(f"“scenario” in the file must be a group of settings; it is {_kind(data['scenario'])}.")
    return study, validated(study.scenario, data["scenario"], "the file")


def _parse(text: str) -> Any:
    def constant(word: str) -> NoReturn:
        raise ParameterError(f"The file says {word}, which is not a number that a setting can have; write a number.")

    def group(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in pairs:
            if name in out:
                raise ParameterError(f"“{name[:60]}” stands twice in one group of the file; keep one of them.")
            out[name] = value
        return out

    if not text.strip():
        raise ParameterError("The file is empty; save a scenario from a page or the command line first.")
    try:
        return json.loads(text, parse_constant=constant, object_pairs_hook=group)
    except json.JSONDecodeError as error:
        raise ParameterError(
            f"The file is not JSON: line {error.lineno}, column {error.colno} cannot be read; save the scenario again."
        ) from None
    except RecursionError:
        raise ParameterError("The file is not a saved scenario: it is nested too deeply.") from None
    except ParameterError:
        raise
    except ValueError:
        raise ParameterError("The file holds a number with too many digits; write a shorter one.") from None


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else "a list"


def _shown(value: Any) -> str:
    return str(value)[:20] if isinstance(value, int | float) and not isinstance(value, bool) else f"“{str(value)[:20]}”"


__all__ = ["SCHEMA", "read_scenario_json", "scenario_json", "to_json"]
