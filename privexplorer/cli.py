"""The command line: ``privexplorer`` (starts the app) ``| list | show | run | report``.

It answers the same questions as the pages, with the same digits. Bad input is one sentence on stderr and exit
code 2, a stop by Ctrl-C is exit code 130.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import importlib
import json
import logging
import os
import re
import socket
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import privexplorer
from privexplorer._cli_tables import answerable, any_of
from privexplorer.errors import DataError, ParameterError, PrivExplorerError, printable
from privexplorer.records import Scenario, dump, extra, leaf, leaves, near, rule, settings, text

if TYPE_CHECKING:
    from privexplorer.data import Tables
    from privexplorer.simulation import Progress
    from privexplorer.studies.base import Study
    from privexplorer.studies.result import Result

COMMANDS = ("app", "list", "show", "run", "report")
ENDINGS = (".csv", ".json", ".html")
BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
CLUSTER_SECONDS = 4
MOST_WORKERS = 256
LARGEST_SCENARIO = 20_000_000

ABOUT = """\
Explore what privacy costs and what it buys.

  privexplorer                      start the app and open it in the browser
  privexplorer list                 list the questions
  privexplorer show STUDY           show one question: its settings and presets
  privexplorer run STUDY            answer it: the numbers as CSV
  privexplorer report STUDY         answer it: a report as HTML
"""
APP_HELP = """\
usage: privexplorer [app] [--cluster ADDRESS] [options of the server]

Start the app and open it in the browser. Stop it with Ctrl-C.

  --cluster ADDRESS       simulate on a Dask cluster, such as tcp://10.0.0.5:8786
  --server.port PORT      listen on another port than 8501
  --server.address NAME   listen on another address than 127.0.0.1 (others can then reach the app)
  --server.headless true  do not open a browser

All other options of `streamlit run` work too; `streamlit run --help` lists them.
"""
EXAMPLES = """\
examples:
  privexplorer run entropy-error --set epsilon=0.5 --set distribution.kind=zipf --set distribution.exponent=1.5
  privexplorer run entropy-error --preset "Privacy hurts" --out error.html
  privexplorer run scenario.json --workers 4 --out error.csv
"""


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one sentence."""

    commands: Any

    def error(self, message: str) -> NoReturn:
        """Raise one sentence instead of printing the usage."""
        raise ParameterError(_in_words(message, self))


def _in_words(message: str, parser: argparse.ArgumentParser) -> str:
    options = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    if found := re.match(r"unrecognized arguments: (\S+)", message):
        word = found[1]
        if word.startswith("-"):
            return f"There is no option “{word[:60]}”; {near(word.split('=')[0], options)}."
        return f"“{word[:60]}” is one word too many; `{parser.prog} --help` shows what can be given."
    if found := re.match(r"argument (\S+?)(?:/\S+)?: expected one argument", message):
        return f"“{found[1]}” needs a value after it."
    if found := re.match(r"argument (\S+): not allowed with argument (\S+)", message):
        return f"“{found[1]}” and “{found[2]}” cannot be given together; choose one."
    if message.startswith("the following arguments are required"):
        return f"Say which study is meant; `{parser.prog} STUDY`, and `privexplorer list` names them."
    return f"The command line is not understood ({message}); `{parser.prog} --help` shows what can be given."


def build_parser() -> Parser:
    """Describe the commands and their options."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = Parser(
        prog="privexplorer",
        description=ABOUT,
        formatter_class=plain,
        allow_abbrev=False,
        usage="%(prog)s [COMMAND] [options]",
    )
    parser.add_argument("--version", action="version", version=f"privexplorer {privexplorer.__version__}")
    parser.commands = commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog="privexplorer")
    commands.add_parser("app", help="start the app (the default)", add_help=False)
    listing = commands.add_parser("list", help="list the questions", allow_abbrev=False)
    listing.add_argument("--json", action="store_true", help="as JSON")
    showing = commands.add_parser("show", help="show the settings and presets of a question", allow_abbrev=False)
    showing.add_argument("study", metavar="STUDY", help="id of a study, as `privexplorer list` gives it")
    for name, words in (("run", "answer a question"), ("report", "answer a question in an HTML report")):
        one = commands.add_parser(name, help=words, epilog=EXAMPLES, formatter_class=plain, allow_abbrev=False)
        one.add_argument("study", metavar="STUDY|FILE.json", help="id of a study, or a saved scenario")
        one.add_argument(
            "--set",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            dest="pairs",
            help="change a setting, by field path or link name; may be repeated",
        )
        one.add_argument("--preset", metavar="NAME", help="start from a preset; `privexplorer show STUDY` lists them")
        one.add_argument(
            "--data",
            metavar="FILE",
            help="a table: CSV, Parquet, Excel or Stata; --set table.column=NAME names its column",
        )
        one.add_argument(
            "--out",
            metavar="FILE",
            help="where to write: .csv, .json or .html (left out: CSV to standard output)"
            if name == "run"
            else "where to write: .html (left out: STUDY.html)",
        )
        where = one.add_mutually_exclusive_group()
        where.add_argument(
            "--workers", metavar="N", help="worker processes (1 if left out); the numbers do not depend on it"
        )
        where.add_argument(
            "--cluster", metavar="ADDRESS", help="address of a Dask scheduler, such as tcp://10.0.0.5:8786"
        )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``privexplorer``; those of the process if left out.

    Returns
    -------
    int
        0 if it was done, 2 for bad input (one sentence on stderr), 130 if stopped.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:  # closed by the shell
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not where a test or a notebook has put its own
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except PrivExplorerError as error:
        _say(str(error))
        return BAD_INPUT
    except MemoryError:
        _say("There is not enough memory for this; choose smaller settings.")
        return BAD_INPUT
    except KeyboardInterrupt:
        _say("Stopped.")
        return INTERRUPTED
    except SystemExit as end:  # after --help and --version, and from the server
        if isinstance(end.code, str):
            _say(" ".join(end.code.split()))
            return 1
        return end.code or 0
    except BrokenPipeError:  # the reader has seen enough
        _drop_output()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise
        _drop_output()
        _say(f"The output cannot be written ({error.strerror}); make room for it first.")
        return BAD_INPUT
    return code


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else "app"
    if first == "help":
        first, words = "--help", ["--help"]
    if first.startswith("--") and first not in ("--help", "--version"):
        return _app(words)
    if first == "app":
        return _app(words[1:])
    if not first.startswith("-") and first not in COMMANDS:
        raise ParameterError(f"There is no command “{first[:60]}”; {near(first, COMMANDS)}.")
    parser = build_parser()
    asked, odd = parser.parse_known_args(words)
    if odd:
        one: Any = parser.commands.choices.get(asked.command, parser)
        one.error(f"unrecognized arguments: {odd[0]}")
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "list": _list,
        "show": _show,
        "run": _run,
        "report": _run,
    }
    return commands[asked.command](asked)


def _drop_output() -> None:
    """Let what is left in the buffer of standard output go nowhere, so that it does not complain when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(sentence: str) -> None:
    """Print one line on stderr; what would break it, or steer the terminal, is written as an escape."""
    line = printable(sentence.strip())
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


# --- app ----------------------------------------------------------------------------------------------------------


def find_app() -> Path:
    """Find what starts the app (``serve.py``): in the checkout first, else inside the installed package.

    Raises
    ------
    DataError
        If the installation has none.
    """
    package = Path(privexplorer.__file__).parent
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "serve.py").is_file():
        return checkout / "serve.py"
    if (inside := package / "_app" / "serve.py").is_file():
        return inside
    raise DataError("This installation lacks the app; install the package again.")


def _app(words: list[str]) -> int:
    if "--help" in words or "-h" in words:
        print(APP_HELP, end="")
        return 0
    if words and not words[0].startswith("-"):
        raise ParameterError(
            f"“{words[0][:60]}” is one word too many; `privexplorer app --help` shows what can be given."
        )
    address, words = _take_option(words, "--cluster")
    if address is not None:
        with _cluster(address):
            os.environ["PRIVEXPLORER_CLUSTER"] = address
    app = find_app()
    # the environment gives way to options on the command line
    for name, value in (
        ("SERVER_ADDRESS", "127.0.0.1"),
        ("SERVER_SHOW_EMAIL_PROMPT", "false"),
        ("BROWSER_GATHER_USAGE_STATS", "false"),
    ):
        os.environ.setdefault(f"STREAMLIT_{name}", value)
    _check_port(words)
    from streamlit.web import cli as server

    try:
        server.main(["run", str(app), *words], prog_name="privexplorer", standalone_mode=False)
    except Exception as error:
        if type(error).__name__ == "Abort":  # Ctrl-C
            raise KeyboardInterrupt from None
        if not hasattr(error, "format_message"):
            raise
        raise ParameterError(_about_server(error)) from None
    return 0


def _check_port(words: list[str]) -> None:
    """Refuse a port that somebody else listens on; without the option the server looks for a free one itself."""
    try:
        port = _take_option(words, "--server.port")[0] or ""
        address = _take_option(words, "--server.address")[0] or os.environ["STREAMLIT_SERVER_ADDRESS"]
    except ParameterError:
        return  # the server says itself what its options need
    if not port.isdigit() or not 0 < int(port) < 65536:
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, int(port)))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                sentence = f"Something else listens on port {port}; choose another one with --server.port."
                raise ParameterError(sentence) from None


def _about_server(error: Any) -> str:
    """Say what is wrong with an option of the server."""
    name, similar = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if similar:
        return f"There is no option “{name}”; {near(str(name), similar)}."
    words = re.sub(r"'([^']*)'", r"“\1”", str(error.format_message()).split(". ")[0].rstrip("."))
    return f"{words}; `privexplorer app --help` shows what can be given."


def _take_option(words: list[str], name: str) -> tuple[str | None, list[str]]:
    """Take one option with its value out of the words; the last one counts."""
    value, rest, left = None, [], iter(words)
    for word in left:
        if word == name:
            value = next(left, "")
        elif word.startswith(f"{name}="):
            value = word.partition("=")[2]
        else:
            rest.append(word)
    if value is not None and (not value or value.startswith("-")):
        raise ParameterError(f"“{name}” needs a value after it.")
    return value, rest


# --- list and show ------------------------------------------------------------------------------------------------


def _list(asked: argparse.Namespace) -> int:
    from privexplorer.studies import catalogue

    studies = catalogue().values()
    if asked.json:
        rows = [
            {"id": s.id, "question": s.question, "lead": s.lead, "theme": s.theme, "version": s.version}
            for s in studies
        ]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    width = max((len(study.id) for study in studies), default=0)
    for study in studies:
        print(f"{study.id:<{width}}  {study.question}")
    return 0


def _show(asked: argparse.Namespace) -> int:
    from privexplorer.studies import study as find

    study = find(asked.study)
    print(f"{study.id}: {study.question}\n{study.lead}\n\nSettings, for --set PATH=VALUE; the link name does as well.")
    lines = described(study.scenario, study.late)
    for line in lines:
        print(f"\n  {line.path} = {line.default}{' *' if line.late else ''}")
        print(_wrapped(f"{line.title}: {line.rule}.{' ' + line.help if line.help else ''} Link name: {line.name}."))
    if any(line.late for line in lines):
        print("\n* A change computes no new simulation.")
    if example := shortened(study.scenario):
        print(f"\nA kind in the middle of a path may be left out once it is chosen: {example[0]} is {example[1]}.")
    presets = study.presets()
    if presets:
        print("\nPresets, for --preset NAME, and how they differ from the settings above:")
    for preset in presets:
        changed = " ".join(f"{name}={value}" for name, value in dump(preset.scenario))
        print(f"\n  {preset.title}\n{_wrapped(changed or 'no difference')}")
    return 0


def _wrapped(words: str) -> str:
    return textwrap.fill(
        words, 96, initial_indent=" " * 6, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )


@dataclass(frozen=True)
class Described:
    """One setting in words."""

    path: str
    name: str
    title: str
    default: str
    rule: str
    help: str
    late: bool


def described(cls: type[Scenario], late: frozenset[str] = frozenset()) -> list[Described]:
    """Describe every setting of a scenario, those of all kinds included."""
    start = dict(leaves(cls()))
    out = []
    for setting in settings(cls):
        info = setting.info
        default = start.get(setting.name, info.get_default(call_default_factory=True))
        if setting.what == "union":
            default, words = getattr(default, "kind", default), f"one of {', '.join(setting.of)}"
        elif setting.what == "several":
            default = [getattr(item, "kind", item) for item in default]
            words = f"any of {', '.join(setting.of)}, with commas between"
        else:
            words = rule(leaf(info))
        if meanings := extra(info).get("titles"):
            words += f" ({'; '.join(f'{value}: {meaning}' for value, meaning in meanings.items())})"
        is_late = setting.path.split(".")[0] in late
        value = text(default) or "(empty)"
        out.append(Described(setting.path, setting.name, setting.title, value, words, info.description or "", is_late))
    return out


def shortened(cls: type[Scenario]) -> tuple[str, str] | None:
    """Give an example of a path without the kind in its middle, if the scenario has one."""
    found = list(settings(cls))
    for choice in found:
        if choice.what == "union":
            start = choice.path.removesuffix("kind")
            for setting in found:
                kind, _, rest = setting.path.removeprefix(start).partition(".")
                if setting.path.startswith(start) and kind in choice.of and "." not in rest:
                    return f"{start}{rest}", setting.path
    return None


# --- run and report -----------------------------------------------------------------------------------------------


def _run(asked: argparse.Namespace) -> int:
    workers = _workers(asked.workers)
    endings = (".html",) if asked.command == "report" else ENDINGS
    if asked.out is not None:
        _check_out(asked.out, endings)
    study, base, from_file = _start(asked.study, asked.preset)
    scenario, tables, words = answerable(base, _pairs(asked.pairs), asked.data, from_file)
    for word in words:
        _say(word)
    for word in _sheets(scenario, tables):
        _say(f"Note: {word}")
    result = _answer(study, scenario, tables, workers, asked.cluster)
    for note in result.notes:
        kind = {"warning": "Warning", "not-private": "Not private"}.get(note.level, "Note")
        _say(f"{kind}: {f'{note.title}: ' if note.title else ''}{_plain(note.text)}")
    from privexplorer import report

    out = asked.out or (f"{study.id}.html" if asked.command == "report" else None)
    if out is None:
        sys.stdout.write(report.to_csv(result))
        return 0
    try:
        report.write(result, Path(out))
    except OSError as error:
        raise _unwritable(out, error.strerror) from None
    _say(f"Wrote {out}.")
    return 0


def _sheets(scenario: Scenario, tables: Tables) -> Iterator[str]:
    """Say which sheets of a workbook are left out, unless one was chosen."""
    from privexplorer.data import inspect, tables_of

    for table in tables_of(scenario):
        if (
            table.data in tables
            and not table.read.sheet
            and (words := inspect(tables[table.data], table.read).about_sheets)
        ):
            yield f"{words.removesuffix('.')}; choose one with “--set table.read.sheet=NAME”."


def _workers(given: str | None) -> int:
    number = int(given) if given is not None and re.fullmatch(r"[0-9]{1,6}", given) else 1 if given is None else 0
    if not 1 <= number <= MOST_WORKERS:
        raise ParameterError(f"“--workers” must be a whole number from 1 to {MOST_WORKERS}; it is “{str(given)[:40]}”.")
    return number


def _check_out(out: str, endings: tuple[str, ...]) -> None:
    """Refuse a place that cannot be written before anything is computed."""
    path = Path(out)
    if path.suffix.lower() not in endings:
        raise ParameterError(f"The name of the output must end in {any_of(endings)}; it is “{_brief(out)}”.")
    if os.path.isdir(path):  # unlike a path's own methods, these take any name
        raise ParameterError(f"“{_brief(out)}” is a folder; name a file in it.")
    if not os.path.isdir(path.parent):
        raise ParameterError(f"There is no folder “{_brief(str(path.parent))}” to write in; make it first.")
    try:
        exists = path.exists()
    except OSError as error:  # a name that is too long
        raise _unwritable(out, error.strerror) from None
    if not os.access(path if exists else path.parent, os.W_OK):
        raise _unwritable(out, "permission denied")


def _unwritable(out: str, why: str | None) -> ParameterError:
    return ParameterError(f"“{_brief(out)}” cannot be written ({why or 'unknown reason'}); choose another place.")


def _brief(path: str) -> str:
    """Shorten a path to its end for a sentence."""
    return path if len(path) <= 60 else f"…{path[-59:]}"


def _start(word: str, preset: str | None) -> tuple[Study[Any], Scenario, bool]:
    """Find what to answer: a study's defaults, one of its presets, or a saved scenario (the flag says so)."""
    from privexplorer.studies import catalogue
    from privexplorer.studies import study as find

    if word not in catalogue() and (word.lower().endswith(".json") or os.path.exists(word)):
        if preset is not None:
            raise ParameterError("A saved scenario says everything already; leave --preset out or name a study.")
        return (*_read(word), True)
    study = find(word)
    if preset is None:
        return study, study.scenario(), False
    known = {one.title.lower(): one for one in study.presets()}
    if preset.lower() in known:
        return study, known[preset.lower()].scenario, False
    if not known:
        raise ParameterError(f"The study “{study.id}” has no presets; leave --preset out.")
    titles = any_of([f"“{one.title}”" for one in known.values()])
    raise ParameterError(f"There is no preset called “{preset[:60]}”; choose {titles}.")


def _read(name: str) -> tuple[Study[Any], Scenario]:
    from privexplorer import report

    said = _brief(name)
    try:
        path = Path(name)
        if path.is_dir():
            raise ParameterError(f"“{said}” is a folder; name a saved scenario in it.")
        if path.exists() and not path.is_file():
            raise ParameterError(f"“{said}” is not a file; name a saved scenario.")
        if path.stat().st_size > LARGEST_SCENARIO:
            raise ParameterError(f"“{said}” is too large to be a saved scenario; to read a table use --data.")
        words = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(f"There is no file “{said}”; check the path.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"“{said}” is not a saved scenario: it is not text; to read a table use --data.") from None
    except OSError as error:
        why = error.strerror or "unknown reason"
        raise ParameterError(f"“{said}” cannot be opened ({why}); check the path.") from None
    try:
        study, scenario = report.read_scenario_json(words)
    except RecursionError:
        raise ParameterError(f"“{said}” is not a saved scenario: it is nested too deeply.") from None
    return study, scenario


def _pairs(given: Sequence[str]) -> list[tuple[str, str]]:
    for word in given:
        if "=" not in word:
            raise ParameterError(f"“--set” needs KEY=VALUE, such as epsilon=0.5; it is given “{word[:60]}”.")
    return [(key.strip(), value) for key, _, value in (word.partition("=") for word in given)]


def _answer(study: Study[Any], scenario: Scenario, tables: Tables | None, workers: int, address: str | None) -> Result:
    if address is None:
        with _progress() as bar:
            return study.run(scenario, tables, bar, workers)
    with _cluster(address) as client, _progress() as bar:
        try:
            return study.run(scenario, tables, bar, client=client)
        except PrivExplorerError:
            raise
        except ImportError:
            raise ParameterError(
                f"The workers of the cluster at “{_brief(address)}” cannot load privexplorer; install version "
                f"{privexplorer.__version__} there."
            ) from None
        except Exception as error:
            if not isinstance(error, OSError) and not type(error).__module__.startswith("distributed"):
                raise
            raise ParameterError(
                f"The cluster at “{_brief(address)}” was lost during the run; start it again."
            ) from None


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    """Connect to a Dask scheduler, or say within seconds why not."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise ParameterError("A cluster needs a further package; install privexplorer[cluster].") from None
    for name in ("distributed", *(one for one in logging.root.manager.loggerDict if one.startswith("distributed."))):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # a lost connection is told in one sentence, below

    async def knock() -> None:
        async with asyncio.timeout(CLUSTER_SECONDS):
            comm = await distributed.comm.connect(address, timeout=CLUSTER_SECONDS)
            await comm.close()

    try:
        asyncio.run(knock())  # a client takes longer to give up, and not silently
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions that differ: the run itself decides
            client: Any = distributed.Client(address, timeout=CLUSTER_SECONDS, set_as_default=False)
    except Exception:  # whatever is wrong with an address, it is the address
        raise ParameterError(
            f"No cluster answers at “{address[:80]}”; give the address of a Dask scheduler, "
            "such as tcp://10.0.0.5:8786."
        ) from None
    try:
        if not client.ncores():
            raise ParameterError(f"The cluster at “{_brief(address)}” has no workers; start some first.")
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=2)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show how far a run is, if a person is looking: one line on stderr, gone at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    begun = time.perf_counter()
    shown, width = 0.0, 0

    def bar(done: int, total: int) -> None:
        nonlocal shown, width
        now = time.perf_counter()
        if now - shown < 0.1 or now - begun < 0.3:
            return
        shown = now
        left = (now - begun) / done * (total - done)
        ahead = f"{left / 60:.0f} min" if left > 120 else f"{max(1, round(left))} s"
        line = f"{done} of {total} blocks, about {ahead} left"
        width = max(width, len(line))
        sys.stderr.write(f"\r{line:<{width}}")
        sys.stderr.flush()

    try:
        yield bar
    finally:
        if width:
            sys.stderr.write(f"\r{'':<{width}}\r")
            sys.stderr.flush()


def _plain(markdown: str) -> str:
    from privexplorer.studies.words import shielded, unshielded

    return unshielded(re.sub(r"\*\*|`", "", shielded(" ".join(markdown.split()))))
