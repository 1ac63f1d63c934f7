"""The command line: the page's digits, one sentence for bad input, and quiet ends."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import openpyxl
import psutil
import pytest
from record_data import faults

from privexplorer import cli
from privexplorer.records import Grid
from privexplorer.studies import catalogue, study

SMALL = ["--set", "trials=16", "--set", "n.high=400", "--set", "n.points=3"]
RUN = ["run", "entropy-error", *SMALL]
TABLE = "city,age\nOslo,30\nBergen,41\nOslo,52\nTromsø,30\nOslo,67\n"
Capture = pytest.CaptureFixture[str]


def command(*words: str) -> list[str]:
    """Words to start the command line in a process of its own."""
    return [sys.executable, "-m", "privexplorer", *words]


def run(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """Run in this process: exit code, standard output, standard error."""
    code = cli.main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(here: Path) -> str:
    (here / "people.csv").write_text(TABLE, "utf-8")
    return "people.csv"


# --- list and show ------------------------------------------------------------------------------------------------


def test_list(capsys: Capture) -> None:
    code, out, err = run(capsys, "list")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == list(catalogue())
    assert lines[0].endswith(catalogue()["entropy-error"].question)


def test_list_as_json(capsys: Capture) -> None:
    code, out, _ = run(capsys, "list", "--json")
    assert code == 0
    rows = json.loads(out)
    assert [(row["id"], row["question"]) for row in rows] == [(s.id, s.question) for s in catalogue().values()]


@pytest.mark.parametrize("name", list(catalogue()))
def test_show_names_every_setting_and_preset(capsys: Capture, name: str) -> None:
    code, out, err = run(capsys, "show", name)
    assert (code, err) == (0, "")
    shown = catalogue()[name]
    assert shown.question in out
    for line in cli.described(shown.scenario, shown.late):
        mark = " *" if line.path.split(".")[0] in shown.late else ""
        assert f"\n  {line.path} = {line.default}{mark}\n" in out
    for preset in shown.presets():
        assert f"\n  {preset.title}\n" in out


def test_show_in_full(capsys: Capture) -> None:
    _, out, _ = run(capsys, "show", "entropy-error")
    assert "\n  epsilon = 1 *\n      Privacy loss ε: a number from 0.000001 to 50." in out
    assert "Link name: eps." in out
    assert "\n  distribution.kind = zipf\n" in out
    assert "\n  estimators = poly\n" in out
    assert "exact: exact sensitivity" in out
    assert "distribution.k is distribution.uniform.k." in out
    assert "\n  Privacy hurts\n      eps=0.1\n" in out


def test_what_show_prints_can_be_set(capsys: Capture) -> None:
    """Every path and link name with its default is accepted and changes nothing."""
    from privexplorer.records import apply

    for one in catalogue().values():
        start = one.scenario()
        plain = [line for line in cli.described(one.scenario) if line.path.count(".") < 2 and line.default != "(empty)"]
        top = {line.path.split(".")[0] for line in plain if line.path.endswith(".kind")}
        for line in plain:
            if line.path.endswith(".kind") or line.path.split(".")[0] not in top:
                assert apply(start, [(line.path, line.default)]) == start
                assert apply(start, [(line.name, line.default)]) == start


# --- run ----------------------------------------------------------------------------------------------------------


def test_run_prints_the_numbers_of_the_study(capsys: Capture) -> None:
    code, out, err = run(capsys, *RUN, "--set", "epsilon=0.5", "--set", "dist.zipf.exponent=1.5")
    assert (code, err) == (0, "")
    asked = study("entropy-error")
    scenario: Any = asked.scenario(
        trials=16, epsilon=0.5, n=Grid(low=100, high=400, points=3), distribution={"kind": "zipf", "exponent": 1.5}
    )
    frame = asked.run(scenario).frame
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0])[:4] == ["series", "x", "y", "std_error"]
    assert [row["series"] for row in rows] == list(frame["series"])
    for name in ("x", "y", "std_error"):
        assert [float(row[name]) for row in rows] == frame[name].astype(float).tolist()


def test_paths_and_link_names_say_the_same(capsys: Capture) -> None:
    by_path = run(
        capsys,
        *RUN,
        "--set",
        "distribution.kind=geometric",
        "--set",
        "distribution.ratio=0.9",
        "--set",
        "estimators=plug-in",
    )
    by_name = run(capsys, *RUN, "--set", "dist=geometric", "--set", "dist.geometric.ratio=0.9", "--set", "est=plug-in")
    assert by_path == by_name
    assert by_path[0] == 0


def test_saved_scenario_gives_the_same_digits(capsys: Capture, here: Path) -> None:
    _, out, _ = run(capsys, *RUN, "--set", "epsilon=0.1")
    assert run(capsys, *RUN, "--set", "epsilon=0.1", "--out", "saved.json") == (0, "", "Wrote saved.json.\n")
    assert run(capsys, "run", "saved.json") == (0, out, "")
    assert run(capsys, "run", "saved.json", "--out", "again.csv")[0] == 0
    assert (here / "again.csv").read_bytes().decode("utf-8") == out
    changed = run(capsys, "run", "saved.json", "--set", "epsilon=1")
    assert changed == run(capsys, *RUN)
    (here / "bom.json").write_bytes(b"\xef\xbb\xbf" + (here / "saved.json").read_bytes())
    assert run(capsys, "run", "bom.json") == (0, out, "")


def test_workers_give_the_same_digits(capsys: Capture) -> None:
    words = ["run", "entropy-error", "--set", "trials=200", "--set", "n.points=3"]
    assert run(capsys, *words, "--workers", "3") == run(capsys, *words)


def test_presets(capsys: Capture) -> None:
    by_preset = run(capsys, *RUN, "--preset", "privacy HURTS")
    assert by_preset == run(capsys, *RUN, "--set", "eps=0.1")
    assert by_preset[0] == 0


def test_report(capsys: Capture, here: Path) -> None:
    assert run(capsys, "report", "entropy-error", *SMALL) == (0, "", "Wrote entropy-error.html.\n")
    assert run(capsys, *RUN, "--out", "other.HTML") == (0, "", "Wrote other.HTML.\n")
    for name in ("entropy-error.html", "other.HTML"):
        assert (here / name).read_text("utf-8").lstrip().lower().startswith("<!doctype html>")


def test_notes_go_to_standard_error(capsys: Capture) -> None:
    code, out, err = run(capsys, *RUN, "--set", "noise_rule=paper_code")
    assert code == 0
    assert out.startswith("series,x,y,std_error\n")
    assert err.startswith(("Warning: ", "Not private: ", "Note: "))
    assert "**" not in err


# --- tables -------------------------------------------------------------------------------------------------------


def test_table_by_path(capsys: Capture, table: str) -> None:
    code, out, err = run(capsys, *RUN, "--data", table, "--set", "table.column=city")
    assert code == 0
    assert "Not private" in err
    spelled = ["--set", "distribution.kind=empirical", "--set", "distribution.table.column=city"]
    assert run(capsys, *RUN, "--data", table, *spelled, "--set", "dist.empirical.table.counts=")[:2] == (0, out)


def test_scenario_never_contains_the_table(capsys: Capture, here: Path, table: str) -> None:
    code, _, _ = run(capsys, *RUN, "--data", table, "--set", "table.column=city", "--out", "saved.json")
    assert code == 0
    saved = json.loads((here / "saved.json").read_text("utf-8"))["scenario"]["distribution"]["table"]
    import hashlib

    assert saved["data"] == hashlib.sha256(TABLE.encode()).hexdigest()[:16]
    assert saved["column"] == "city"
    assert "Oslo" not in (here / "saved.json").read_text("utf-8")
    code, _, err = run(capsys, "run", "saved.json")
    assert code == 2
    assert err == f"The scenario names a table ({saved['data']}) that is not here; give its file with “--data”.\n"
    assert run(capsys, "run", "saved.json", "--data", table)[0] == 0
    (here / "other.csv").write_text(TABLE + "Oslo,3\n", "utf-8")
    code, _, err = run(capsys, "run", "saved.json", "--data", "other.csv")
    assert code == 0
    assert err.startswith(
        f"Note: the scenario was saved with another table ({saved['data']}); it is answered with “other.csv”.\n"
    )


def test_histogram_and_single_column_need_no_choice(capsys: Capture, here: Path) -> None:
    (here / "counts.csv").write_text("word,count\nto,3\nbe,2\nor,1\n", "utf-8")
    (here / "words.csv").write_text("word\nto\nto\nto\nbe\nbe\nor\n", "utf-8")
    one = run(capsys, *RUN, "--data", "counts.csv")
    two = run(capsys, *RUN, "--data", "words.csv")
    assert one[0] == two[0] == 0
    assert one[1] == two[1]
    assert one[2].startswith("Note: “counts.csv” is read as a histogram: “word”, so many times as “count” says.\n")
    code, _, err = run(capsys, *RUN, "--data", "counts.csv", "--set", "table.column=word")
    assert code == 0
    assert err.startswith(
        "Note: each row of “counts.csv” counts as one record; “--set table.counts=count” reads it as a histogram.\n"
    )


def test_columns_that_a_table_needs_are_listed(capsys: Capture, here: Path) -> None:
    """A table without its columns is refused with the settings to give; what was given or is there is not asked for."""
    (here / "wide.csv").write_text("age,b,c,d\n" + "1,2,3,4\n2,1,4,3\n" * 20, "utf-8")
    ask = ["run", "query-map", "--set", "data=table"]
    keys = "“--set outcome=NAME”, “--set features=NAMES”, “--set also=NAMES” and “--set question.one.column=NAME”"
    assert run(capsys, *ask) == (
        2,
        "",
        f"Give your table with “--data FILE” and name its columns with {keys}; without a file it is “diabetes”, which "
        "has other columns than the defaults name.\n",
    )
    for words in (ask, ["run", "query-map"]):
        code, _, err = run(capsys, *words, "--data", "wide.csv")
        assert (code, err) == (2, f"Name the columns of “wide.csv” with {keys}; it has age, b, c, d.\n")
    given = ["--data", "wide.csv", "--set", "outcome=d", "--set", "also=none", "--set", "features=age,b"]
    code, _, err = run(capsys, *ask, *given)
    assert err == "Name the columns of “wide.csv” with “--set question.one.column=NAME”; it has age, b, c, d.\n"
    for key in ("ask.column", "question.one.column"):
        code, _, err = run(capsys, *ask, *given, "--set", f"{key}=cc")
        assert (code, err) == (2, "The table has no column “cc”; the nearest is “c”.\n")
    for name, key in (("private-effect", "private=NAMES"), ("descent-tape", "outcome=NAME")):
        code, _, err = run(capsys, "run", name, "--set", "data=table")
        assert (code, err.startswith("Give your table with “--data FILE” and name"), key in err) == (2, True, True)
        assert not faults(err.strip())


def test_many_columns_are_asked_for_by_their_titles(capsys: Capture, here: Path) -> None:
    (here / "wide.csv").write_text("a,b,c,d\n" + "1,2,3,4\n2,1,4,3\n" * 20, "utf-8")
    for words in (["--set", "data.kind=table"], ["--data", "wide.csv"]):
        code, _, err = run(capsys, "run", "composition-ledger", *words)
        assert code == 2
        assert "“Second release, Outcome”" in err
        assert err.count("--set ") == 1, "one path is an example of the others"
        assert not faults(err.strip())


def test_sheets_that_are_left_out_are_named(capsys: Capture, here: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "first"
    for sheet, cells in ((book.active, "aab"), (book.create_sheet("second"), "cdd")):
        sheet.append(["v"])
        for cell in cells * 5:
            sheet.append([cell])
    book.save(here / "two.xlsx")
    ask = [*RUN, "--data", "two.xlsx", "--set", "table.column=v"]
    code, first, err = run(capsys, *ask)
    assert code == 0
    said = "Note: The sheet “first” was read; “second” was not; choose one with “--set table.read.sheet=NAME”."
    assert err.splitlines().count(said) == 1
    code, second, err = run(capsys, *ask, "--set", "table.read.sheet=second")
    assert (code, "sheet" in err, first == second) == (0, False, True)


def test_bundled_table(capsys: Capture) -> None:
    code, out, _ = run(capsys, *RUN, "--set", "table.data=iris")
    assert code == 0
    spelled = [
        "dist=empirical",
        "dist.empirical.table.data=iris",
        "dist.empirical.table.column=species",
        "dist.empirical.table.counts=",
    ]
    assert run(capsys, *RUN, *(word for pair in spelled for word in ("--set", pair)))[1] == out


# --- bad input ----------------------------------------------------------------------------------------------------


LONG = "X" * 300
BAD: dict[str, tuple[list[str], str]] = {
    "command": (["lst"], "There is no command “lst”; the nearest is list."),
    "option": (["list", "--jsn"], "There is no option “--jsn”; the nearest is --json."),
    "option of run": ([*RUN, "--worker", "3"], "There is no option “--worker”; the nearest are --workers"),
    "short option": (["-p"], "There is no option “-p”; the nearest is"),
    "too many words": (["show", "entropy-error", "now"], "“now” is one word too many; `privexplorer show --help`"),
    "no study": (["run"], "Say which study is meant; `privexplorer run STUDY`"),
    "study": (["run", "entropy-eror"], "There is no study called “entropy-eror”; the nearest are entropy-error"),
    "study to show": (["show", "entropy-eror"], "There is no study called “entropy-eror”"),
    "value missing": ([*RUN, "--set"], "“--set” needs a value after it."),
    "no equals sign": ([*RUN, "--set", "epsilon"], "“--set” needs KEY=VALUE, such as epsilon=0.5"),
    "key": ([*RUN, "--set", "epsilom=1"], "There is no setting called “epsilom”; the nearest are epsilon"),
    "value": (
        [*RUN, "--set", "epsilon=0"],
        "“Privacy loss ε” must be a number from 0.000001 to 50; the command line says “0”.",
    ),
    "empty value": ([*RUN, "--set", "epsilon="], "the command line says nothing there."),
    "the same key twice": (
        [*RUN, "--set", "epsilon=0.5", "--set", "epsilon=0.7"],
        "The command line sets “epsilon” to “0.5” and “0.7”; leave one of them out.",
    ),
    "a setting by two names": (
        [*RUN, "--set", "eps=0.5", "--set", "epsilon=0.7"],
        "sets “eps” and “epsilon”, which are one setting, to “0.5” and “0.7”; leave one of them out.",
    ),
    "column of the table twice": (
        [*RUN, "--data", "people.csv", "--set", "table.column=city", "--set", "table.column=age"],
        "to “city” and “age”; leave one of them out.",
    ),
    "group": ([*RUN, "--set", "n=5"], "“n” is a group of settings; set one of n.low, n.high, n.points."),
    "kind": ([*RUN, "--set", "distribution.kind=banana"], "“Distribution” must be one of uniform"),
    "of another kind": (
        [*RUN, "--set", "distribution.uniform.k=5"],
        "“distribution.uniform.k” has no effect with the other choices; choose “distribution.kind=uniform” as well.",
    ),
    "grid": (
        [*RUN, "--set", "n.low=5000"],
        "must not start above its end; the command line has it run from 5,000 to 400",
    ),
    "preset": ([*RUN, "--preset", "banana"], "There is no preset called “banana”; choose “Privacy is almost free”"),
    "workers": ([*RUN, "--workers", "0"], "“--workers” must be a whole number from 1 to 256; it is “0”."),
    "workers below": ([*RUN, "--workers=-3"], "it is “-3”."),
    "workers in words": ([*RUN, "--workers", "two"], "it is “two”."),
    "workers and cluster": ([*RUN, "--workers", "2", "--cluster", "x"], "cannot be given together; choose one."),
    "cluster": ([*RUN, "--cluster", "banana"], "No cluster answers at “banana”; give the address of a Dask scheduler"),
    "ending": ([*RUN, "--out", "x.txt"], "The name of the output must end in .csv, .json or .html; it is “x.txt”."),
    "no ending": ([*RUN, "--out", "x"], "it is “x”."),
    "ending of a report": (["report", "entropy-error", "--out", "x.csv"], "The name of the output must end in .html"),
    "folder of the output": ([*RUN, "--out", "no/x.csv"], "There is no folder “no” to write in; make it first."),
    "output is a folder": ([*RUN, "--out", "folder.csv"], "“folder.csv” is a folder; name a file in it."),
    "no such scenario": (["run", "no.json"], "There is no file “no.json”; check the path."),
    "scenario is a folder": (["run", "folder.csv"], "“folder.csv” is a folder; name a saved scenario in it."),
    "scenario is not JSON": (["run", "bad.json"], "The file is not JSON: line 1, column 2 cannot be read"),
    "scenario is no text": (["run", "binary.json"], "“binary.json” is not a saved scenario: it is not text"),
    "scenario is too deep": (["run", "deep.json"], "The file is not a saved scenario: it is nested too deeply."),
    "scenario with a huge number": (["run", "digits.json"], "too many digits"),
    "scenario with a bad value": (
        ["run", "value.json"],
        "“Seed” must be a whole number from 0 to 4,294,967,295; the file says −1.",
    ),
    "scenario of no study": (["run", "nobody.json"], "There is no study called “nobody”"),
    "scenario is a table": (["run", "people.csv"], "The file is not JSON"),
    "scenario and preset": (["run", "value.json", "--preset", "x"], "A saved scenario says everything already"),
    "no such table": ([*RUN, "--data", "no.csv"], "There is no file “no.csv”; check the path."),
    "table is a folder": ([*RUN, "--data", "folder.csv"], "“folder.csv” is a folder"),
    "table is none": ([*RUN, "--data", "binary.json"], "“binary.json” contains zero bytes"),
    "no column": (
        [*RUN, "--data", "people.csv"],
        "Choose a column with “--set table.column=NAME”; “people.csv” has city, age.",
    ),
    "column": ([*RUN, "--data", "people.csv", "--set", "table.column=town"], "The table has no column “town”"),
    "key of the table": ([*RUN, "--data", "people.csv", "--set", "table.colum=city"], "There is no setting called"),
    "table not used": (
        [*RUN, "--data", "people.csv", "--set", "dist=zipf"],
        "A table is used only with “distribution.kind=empirical”",
    ),
    "study without table": (["run", "twins", "--data", "people.csv"], "This study reads no table; leave “--data” out."),
    "alias without table": (
        ["run", "twins", "--set", "table.column=x"],
        "This study reads no table; leave “table.column” out.",
    ),
    "no table chosen": (
        [*RUN, "--set", "table.data="],
        "No table is chosen; give one with “--data FILE”, or set “table.data” to",
    ),
    "two tables": (
        [*RUN, "--data", "people.csv", "--set", "table.data=iris", "--set", "table.column=city"],
        "“--data” and “table.data” name two tables; leave one of them out.",
    ),
    "two tables in full": (
        [*RUN, "--data", "people.csv", "--set", "dist=empirical", "--set", "dist.empirical.table.data=iris"],
        "“--data” and “table.data” name two tables; leave one of them out.",
    ),
    "long name of a study": (["run", LONG], f"There is no study called “{LONG[:60]}”; there are, for example,"),
    "long name of a scenario": (["run", f"{LONG}.json"], f"“…{LONG[:54]}.json” cannot be opened (File name too long)"),
    "long name of an output": (
        ["run", "twins", "--out", f"{LONG}.csv"],
        f"“…{LONG[:55]}.csv” cannot be written (File name too long); choose another place.",
    ),
    "long name of a report": (
        ["report", "twins", "--out", f"{LONG}.html"],
        f"“…{LONG[:54]}.html” cannot be written (File name too long); choose another place.",
    ),
    "long folder of an output": (["run", "twins", "--out", f"{LONG}/x.csv"], f"There is no folder “…{LONG[:59]}” to"),
    "long ending of an output": (["run", "twins", "--out", f"x.{LONG}"], f"it is “…{LONG[:59]}”."),
    "long name of a table": ([*RUN, "--data", LONG * 16], f"“…{LONG[:59]}” cannot be opened (File name too long)"),
    "table of nobody": (
        [*RUN, "--data", "~nobody-here/x.csv"],
        "There is no file “~nobody-here/x.csv”; check the path.",
    ),
    "line break in a value": ([*RUN, "--set", "epsilon=a\nb"], "the command line says “a\\nb”."),
    "line break in a key": ([*RUN, "--set", "eps\r\nilon=1"], "There is no setting called “eps\\r\\nilon”"),
    "line break in a study": (["run", "twi\nns"], "There is no study called “twi\\nns”"),
    "line break in a command": (["li\u2028st"], "There is no command “li\\u2028st”"),
    "line break in a path": (["run", "a\nb.json"], "There is no file “a\\nb.json”; check the path."),
    "turning the line around": ([*RUN, "--set", "epsilon=a\u202eb"], "the command line says “a\\u202eb”."),
    "steering the terminal": (["run", "twi\x1b[2Jns"], "There is no study called “twi\\x1b[2Jns”"),
    "word after app": (["app", "now"], "“now” is one word too many; `privexplorer app --help`"),
    "cluster of the app": (["app", "--cluster"], "“--cluster” needs a value after it."),
    "option of the server": (["--server.prt", "5"], "There is no option “--server.prt”; the nearest are --server.port"),
    "value of the server": (["app", "--server.port"], "Option “--server.port” requires an argument; `privexplorer"),
}


@pytest.mark.parametrize(("words", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(capsys: Capture, table: str, here: Path, words: list[str], said: str) -> None:
    (here / "folder.csv").mkdir()
    (here / "bad.json").write_text("{,")
    (here / "binary.json").write_bytes(b"\x00\xff\xfe" * 50)
    (here / "deep.json").write_text("[" * 200_000)
    (here / "digits.json").write_text('{"study": "entropy-error", "scenario": {"seed": ' + "1" * 5000 + "}}")
    (here / "value.json").write_text('{"study": "entropy-error", "scenario": {"seed": -1}}')
    (here / "nobody.json").write_text('{"study": "nobody", "scenario": {}}')
    before = sorted(here.iterdir())
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not faults(err.strip()), (faults(err.strip()), err)
    assert sorted(here.iterdir()) == before, "nothing may be written"


def test_output_that_cannot_be_written(capsys: Capture, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("privexplorer.report.write", full)
    code, _, err = run(capsys, *RUN, "--out", "x.csv")
    assert (code, err) == (2, "“x.csv” cannot be written (No space left on device); choose another place.\n")


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="an administrator may write everywhere")
def test_output_without_permission(capsys: Capture, here: Path) -> None:
    (here / "closed").mkdir(mode=0o500)
    code, _, err = run(capsys, *RUN, "--out", "closed/x.csv")
    assert (code, err) == (2, "“closed/x.csv” cannot be written (permission denied); choose another place.\n")


def test_a_bug_stays_visible(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is meant for a visitor becomes a sentence; anything else is a bug and must be seen."""

    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "_answer", broken)
    with pytest.raises(ZeroDivisionError):
        cli.main(RUN)


# --- the app ------------------------------------------------------------------------------------------------------


def test_app_is_found_in_the_checkout_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import privexplorer

    assert cli.find_app() == Path(privexplorer.__file__).parents[1] / "serve.py"
    package = tmp_path / "site" / "privexplorer"
    (package / "_app").mkdir(parents=True)
    (package / "_app" / "serve.py").touch()
    (tmp_path / "site" / "serve.py").touch()  # somebody else's
    monkeypatch.setattr(privexplorer, "__file__", str(package / "__init__.py"))
    assert cli.find_app() == package / "_app" / "serve.py"
    (package / "_app" / "serve.py").unlink()
    with pytest.raises(cli.DataError, match=r"lacks the app; install the package again\.$"):
        cli.find_app()


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        ([], []),
        (["app"], []),
        (["app", "--server.port", "9000"], ["--server.port", "9000"]),
        (["--server.port=9000"], ["--server.port=9000"]),
    ],
)
def test_app_is_handed_over(words: list[str], passed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit.web.cli as server

    called: list[Any] = []
    monkeypatch.setattr(server, "main", lambda args, **_: called.append(args))
    monkeypatch.setattr(os, "environ", {**os.environ})
    assert cli.main(words) == 0
    assert called == [["run", str(cli.find_app()), *passed]]
    assert os.environ["STREAMLIT_SERVER_ADDRESS"] == "127.0.0.1"
    assert os.environ["STREAMLIT_SERVER_SHOW_EMAIL_PROMPT"] == "false"
    assert "PRIVEXPLORER_CLUSTER" not in os.environ


@pytest.mark.parametrize(
    ("ends", "code", "said"),
    [
        (SystemExit(3), 3, ""),
        (SystemExit("no port"), 1, "no port\n"),
        (SystemExit(), 0, ""),
        ("Abort", 130, "Stopped.\n"),
    ],
)
def test_how_the_server_ends(ends: Any, code: int, said: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import click
    import streamlit.web.cli as server

    def end(*_: Any, **__: Any) -> None:
        raise click.Abort if ends == "Abort" else ends

    monkeypatch.setattr(server, "main", end)
    monkeypatch.setattr(os, "environ", {**os.environ})
    assert run(capsys, "app") == (code, "", said)


def test_address_of_the_user_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit.web.cli as server

    monkeypatch.setattr(server, "main", lambda args, **_: None)
    monkeypatch.setattr(os, "environ", {**os.environ, "STREAMLIT_SERVER_ADDRESS": "0.0.0.0"})  # noqa: S104
    assert cli.main(["app"]) == 0
    assert os.environ["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0"  # noqa: S104


@pytest.mark.parametrize(
    "words", [["--help"], ["help"], ["app", "--help"], ["run", "--help"], ["list", "--help"], ["--version"]]
)
def test_help(capsys: Capture, words: list[str]) -> None:
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert "privexplorer" in out
    if words[0] != "--version":
        assert out.lower().startswith("usage: privexplorer")


# --- a cluster ----------------------------------------------------------------------------------------------------


def test_cluster_gives_the_same_digits(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit.web.cli as server
    from distributed import LocalCluster

    words = ["run", "entropy-error", "--set", "trials=200", "--set", "n.points=3"]
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", protocol="tcp"
    ) as cluster:
        address = cluster.scheduler_address
        assert run(capsys, *words, "--cluster", address) == run(capsys, *words)
        monkeypatch.setattr(server, "main", lambda args, **_: None)
        monkeypatch.setattr(os, "environ", {**os.environ})
        assert cli.main(["--cluster", address]) == 0
        assert os.environ["PRIVEXPLORER_CLUSTER"] == address


def test_cluster_without_workers(capsys: Capture) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0", protocol="tcp") as cluster:
        code, _, err = run(capsys, *RUN, "--cluster", cluster.scheduler_address)
    assert code == 2
    assert err == f"The cluster at “{cluster.scheduler_address}” has no workers; start some first.\n"


def test_cluster_that_does_not_answer(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(cli, "CLUSTER_SECONDS", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.perf_counter()
        code, _, err = run(capsys, *RUN, "--cluster", f"tcp://127.0.0.1:{silent.getsockname()[1]}")
    assert time.perf_counter() - begun < 5
    assert code == 2
    assert err.startswith("No cluster answers at “tcp://127.0.0.1:")
    assert not faults(err.strip())


def test_cluster_that_fails_during_the_run(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong with the cluster is told as such; a bug of a study is not."""
    from contextlib import nullcontext

    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    def failing(error: Exception) -> Any:
        def run_(*_: Any, **__: Any) -> None:
            raise error

        return run_

    monkeypatch.setattr(cli, "_cluster", lambda address: nullcontext())
    for error, said in (
        (CommClosedError("gone"), "The cluster at “tcp://x:1” was lost during the run; start it again.\n"),
        (FutureCancelledError("key", "lost"), "The cluster at “tcp://x:1” was lost during the run; start it again.\n"),
        (ModuleNotFoundError("privexplorer"), "The workers of the cluster at “tcp://x:1” cannot load privexplorer; "),
    ):
        monkeypatch.setattr("privexplorer.studies.base.Study.run", failing(error))
        code, out, err = run(capsys, *RUN, "--cluster", "tcp://x:1")
        assert (code, out) == (2, "")
        assert err.startswith(said)
        assert not faults(err.strip())
    monkeypatch.setattr("privexplorer.studies.base.Study.run", failing(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        cli.main([*RUN, "--cluster", "tcp://x:1"])


# --- as a process -------------------------------------------------------------------------------------------------


def test_list_starts_fast() -> None:
    """Neither the server nor the drawing library is loaded to list or to show."""
    script = (
        "import sys; from privexplorer.cli import main; main(['list']); main(['show', 'entropy-error']);"
        "print([m for m in ('streamlit', 'plotly') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_broken_pipe_is_silent() -> None:
    with subprocess.Popen(command(*RUN), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # the reader has gone before the first line
        assert process.stderr.read() == b""
        assert process.wait(30) == cli.BROKEN_PIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command("list"), stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "The output cannot be written (No space left on device); make room for it first.\n"


def test_progress_only_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with cli._progress() as bar:
        assert bar is not None
        bar(1, 10)
        assert terminal.getvalue() == "", "nothing is shown for a run that is over at once"
        time.sleep(0.4)
        bar(4, 10)
    assert terminal.getvalue() == "\r4 of 10 blocks, about 1 s left" + "\r" + " " * 30 + "\r"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with cli._progress() as bar:
        assert bar is None


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_control_c_stops_everything(workers: str) -> None:
    """One line, exit code 130, and no worker is left."""
    words = command("run", "entropy-error", "--set", "trials=20000", "--set", "n.high=100000", "--workers", workers)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    ) as process:
        family = psutil.Process(process.pid)
        for _ in range(600):  # until the workers are there
            time.sleep(0.1)
            if family.cpu_times().user > 3 if workers == "1" else len(family.children(recursive=True)) >= 3:
                break
        else:
            pytest.fail("the run did not start")
        time.sleep(0.3)
        children = family.children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "Stopped.\n")
    gone, alive = psutil.wait_procs(children, timeout=2)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE], gone


@pytest.mark.slow
def test_app_answers(tmp_path: Path) -> None:
    """The app starts from anywhere, on this machine only, and stops on request."""
    import socket
    from urllib.request import urlopen

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = command("app", "--server.port", str(port), "--server.headless", "true")
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(200):
                time.sleep(0.1)
                try:
                    with urlopen(f"http://127.0.0.1:{port}/_stcore/health") as answer:
                        assert answer.read() == b"ok"
                    break
                except OSError:
                    assert process.poll() is None
            else:
                pytest.fail("the app did not start")
            listening = [c.laddr.ip for c in psutil.Process(process.pid).net_connections() if c.status == "LISTEN"]
            assert listening == ["127.0.0.1"]
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130  # as said in the help of the command line


def test_a_port_in_use_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(os, "environ", {**os.environ})
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = f"Something else listens on port {port}; choose another one with --server.port.\n"
        assert run(capsys, "app", "--server.port", str(port)) == (2, "", said)
