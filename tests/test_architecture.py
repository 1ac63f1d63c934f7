"""The house holds: imports point one way, style and types are clean, nothing heavy is loaded below the figures."""

from __future__ import annotations

import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import privexplorer

ROOT = Path(__file__).parents[1]
ABOVE = {"ui", "cli", "figures", "report", "__main__", "_app"}
"""What may draw or serve."""


def run(*words: str) -> None:
    """Run a tool in the root; its output is what a failing test shows."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"


def contracts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    return found


def parts() -> set[str]:
    """Modules and packages right below the package."""
    return {module.name for module in pkgutil.iter_modules(privexplorer.__path__)}


def test_imports_point_one_way() -> None:
    tool = shutil.which("lint-imports", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert tool is not None, "lint-imports is missing; install the extra “test”"
    run(tool, "--no-cache")


def test_new_parts_do_not_escape_the_contracts() -> None:
    """A package that the second contract does not name yet is held to it all the same, lazy imports included."""
    import grimp

    layers, heavy, _ = contracts()
    assert layers["exhaustive"] is True
    assert {name.removeprefix("privexplorer.") for name in heavy["source_modules"]} <= parts() - ABOVE
    graph = grimp.build_graph("privexplorer", include_external_packages=True, cache_dir=None)
    for library in heavy["forbidden_modules"]:
        users = {module.split(".")[1] for module in graph.find_modules_that_directly_import(library)}
        assert users <= ABOVE, library
        assert users, library


def test_style() -> None:
    run(sys.executable, "-m", "ruff", "check", ".")


def test_format() -> None:
    run(sys.executable, "-m", "ruff", "format", "--check", ".")


@pytest.mark.slow
def test_types() -> None:
    run(sys.executable, "-m", "mypy")


def test_nothing_is_silenced_without_a_name() -> None:
    """No bare ``type: ignore`` or ``noqa``, no ``ignore_errors``, no stubs ignored for everything."""
    for file in (ROOT / "privexplorer").rglob("*.py"):
        text = file.read_text("utf-8")
        assert not re.search(r"#\s*type:\s*ignore(?!\[)|#\s*noqa(?!:)|#\s*(ruff|mypy):", text), file
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert mypy["strict"] is True
    assert "ignore_errors" not in mypy
    assert not mypy.get("ignore_missing_imports")
    for override in mypy["overrides"]:
        assert "ignore_errors" not in override
        assert all(name.count("*") <= 1 and name != "*" for name in override["module"])


def test_light_parts_load_nothing_heavy() -> None:
    """Importing all but figures, report and pages loads neither the server nor the drawing library."""
    names = [
        module.name
        for module in pkgutil.walk_packages(privexplorer.__path__, prefix="privexplorer.")
        if module.name.split(".")[1] not in ABOVE - {"cli", "__main__"}
    ]
    assert {"privexplorer.cli", "privexplorer.studies.catalogue", "privexplorer.simulation.backends"} <= set(names)
    script = (
        f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\n"
        "print(sorted({'streamlit', 'plotly', 'distributed', 'dask'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr == ""
    assert done.stdout == "[]\n"


def test_package_itself_is_light() -> None:
    """``import privexplorer`` loads nothing of its own."""
    script = "import sys, privexplorer; print([m for m in sys.modules if m.startswith(('privexplorer.', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def texts() -> list[Path]:
    """Text files of the project, as version control knows them (or all of them, outside of it)."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode == 0:
        files = [ROOT / name for name in listed.stdout.decode("utf-8").split("\0") if name]
    else:
        files = [file for top in ("privexplorer", "tests", "pages", "benchmarks") for file in (ROOT / top).rglob("*")]
    kinds = {".py", ".md", ".toml", ".json", ".csv", ".txt", ".yml", ".yaml", ".cfg", ".css", ".js", ""}
    return [file for file in files if file.suffix in kinds and file.is_file() and file.stat().st_size < 5_000_000]


MACHINE = re.compile(r"(?<![\w.~/:])/(work|root|home|Users|tmp)/[\w.-]+", re.ASCII)


def test_no_text_knows_a_machine() -> None:
    """No file names a folder of the machine that it was written on."""
    found = []
    for file in texts():
        try:
            text = file.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{file.relative_to(ROOT)}: {match[0]}" for match in MACHINE.finditer(text)]
    assert not found


def test_the_check_for_machines_has_power() -> None:
    """The pattern above finds what it looks for."""
    assert MACHINE.search("see /" + "work/main")
    assert MACHINE.search("(/" + "tmp/x.csv)")
    assert not MACHINE.search("https://example.org/" + "work/main")
