"""A study: one question, its scenario, and the three pure parts that answer it.

``prepare`` does once what does not depend on the draw, ``run_block`` simulates one block of data sets and
returns the estimates, ``assemble`` turns the blocks into a result. What only ``assemble`` reads is *late*:
changing it computes no block.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pandas as pd

import privexplorer
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.errors import ParameterError
from privexplorer.records import Scenario, dump
from privexplorer.simulation import Progress, collect, one_thread
from privexplorer.studies.chart import Chart
from privexplorer.studies.result import Result

S = TypeVar("S", bound=Scenario)


@dataclass(frozen=True)
class Preset(Generic[S]):
    """A finished example: a few words and a scenario."""

    title: str
    scenario: S


@dataclass(frozen=True)
class Source:
    """Where a study comes from: the ledger rows that it shows."""

    rows: tuple[str, ...] = field(default=())


class Request(str):
    """A sentence of ``Study.check`` that asks for what is not said yet, where nothing that was said is wrong.

    Examples
    --------
    >>> print(Request("Say which value means treated."))
    Say which value means treated.
    """

    __slots__ = ()


class Study(ABC, Generic[S]):
    """One question. A new study is one subclass in one module; the catalogue finds it.

    Class attributes
    ----------------
    id, version : stable name, and a number to raise when results change.
    question, lead : page title as a question, and one sentence below it.
    tab : two or three words that name the question among others on its page.
    card, link : one line for the Home card, and the words of its link.
    theme : which page shows it. ``picture``: which drawing stands on its card.
    late : fields that only ``assemble`` reads.
    views : ways to look at the same result, ``{stable name: words}``; the first is shown at start.
    rows : ids of the ledger rows that this study makes visible.
    """

    id: ClassVar[str]
    version: ClassVar[int] = 1
    question: ClassVar[str]
    lead: ClassVar[str]
    tab: ClassVar[str] = ""
    card: ClassVar[str] = ""
    link: ClassVar[str] = ""
    theme: ClassVar[str]
    picture: ClassVar[str] = "curve"
    scenario: ClassVar[type[Scenario]]
    late: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[Mapping[str, str]] = {}
    rows: ClassVar[tuple[str, ...]] = ()
    spread: ClassVar[str] = "± 2 s.e."
    """What stands beside a value in the table: twice the standard error, or twice that of the noise of one release."""

    def presets(self) -> tuple[Preset[S], ...]:
        """Finished examples; the first is what the page opens with unless the defaults are."""
        return ()

    def check(self, scenario: S, tables: Tables | None) -> tuple[str, ...]:
        """Sentences about what does not go together (a declared k below the observed number, an unknown column).

        A ``Request`` among them asks for something that only the visitor can say; the page asks for it kindly.
        """
        return ()

    @abstractmethod
    def prepare(self, scenario: S, tables: Tables | None) -> Any:
        """Compute what does not depend on the draw; only this part reads a table. Picklable, never written to."""

    def blocks(self, scenario: S) -> int:
        """Return the number of blocks; 0 for a study without simulation."""
        return 0

    def run_block(self, prepared: Any, block: int) -> FloatArray:
        """Simulate block ``block`` and return its estimates ``(trials in block, series, points)``."""
        raise ParameterError("This study has closed forms only; it simulates nothing.")

    @abstractmethod
    def assemble(self, scenario: S, prepared: Any, parts: Sequence[FloatArray]) -> Result:
        """Turn blocks, in block order, into a result; fewer blocks than asked for give a draft."""

    @abstractmethod
    def chart(self, result: Result, view: str) -> Chart:
        """Describe the chart of one view of a result."""

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view, tidy; views whose numbers are not in the result's frame compute theirs."""
        return result.frame

    def table(self, result: Result) -> pd.DataFrame:
        """Lay the numbers out for reading: one row per x, one column per series, ± two standard errors beside."""
        return wide(result.frame, self.spread)

    def digest(self, scenario: S) -> str:
        """Key of the blocks: everything but the late fields."""
        return digest(self, scenario, self.late)

    def run(
        self,
        scenario: S | None = None,
        tables: Tables | None = None,
        progress: Progress | None = None,
        workers: int = 1,
        client: Any = None,
    ) -> Result:
        """Answer the question: same scenario and data, same numbers to the last bit, on any backend.

        Parameters
        ----------
        scenario : Scenario, optional
            The choices; the defaults if left out.
        tables : mapping of str to Source, optional
            Tables by digest, for scenarios that name one.
        progress : callable, optional
            Called as ``progress(done, total)`` between blocks.
        workers : int
            Worker processes; 1 runs in this process.
        client : distributed.Client, optional
            A Dask cluster to run on.

        Raises
        ------
        ParameterError, DataError
            If the scenario cannot be answered: one sentence.
        """
        asked: Any = scenario if scenario is not None else self.scenario()
        for words in self.check(asked, tables):
            raise ParameterError(words)
        with one_thread():
            prepared = self.prepare(asked, tables)
            parts = collect(self.run_block, prepared, self.blocks(asked), workers, client, progress)
            return self.finish(asked, self.assemble(asked, prepared, parts))

    def finish(self, scenario: S, result: Result) -> Result:
        """Add where the numbers came from."""
        return replace(result, provenance=provenance(self, scenario, result))


def digest(study: Study[Any], scenario: Scenario, without: frozenset[str] = frozenset()) -> str:
    """Name a scenario by its content, some fields left out (sha256, hexadecimal)."""
    body = json.dumps(scenario.model_dump(mode="json", exclude=set(without)), sort_keys=True, separators=(",", ":"))
    stamp = f"{study.id}|{study.version}|{privexplorer.__version__}|{body}"
    return hashlib.sha256(stamp.encode()).hexdigest()


def provenance(study: Study[Any], scenario: Scenario, result: Result) -> dict[str, str]:
    """Say what is needed to get the same numbers again."""
    import platform

    import scipy

    out = {
        "study": study.id,
        "study version": str(study.version),
        "privexplorer": privexplorer.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scenario": digest(study, scenario)[:16],
    }
    seed = getattr(scenario, "seed", None)
    if seed is not None:
        out["seed"] = str(seed)
    if result.runs:
        out["runs"] = str(result.runs)
    table = next((value for name, value in dump(scenario) if name.endswith("data")), None)
    if table is not None:
        out["data"] = table
    return out


def blocks_for(trials: int, block_trials: int) -> int:
    """Return the number of blocks that hold so many trials."""
    return -(-trials // block_trials)


def stacked(parts: Sequence[FloatArray], trials: int) -> FloatArray:
    """Put blocks together in block order and keep the first ``trials`` data sets."""
    return np.concatenate(list(parts), axis=0)[:trials]


def wide(frame: pd.DataFrame, spread_words: str = "± 2 s.e.") -> pd.DataFrame:
    """Turn a tidy frame into one row per x (and panel), one column per series; ± two standard errors beside."""
    panels = frame["panel"].tolist() if "panel" in frame.columns else [None] * len(frame)
    keys = list(zip(panels, frame["x"].tolist(), strict=True))
    place = {key: row for row, key in enumerate(dict.fromkeys(keys))}
    names = frame["series"].tolist()
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    given = {
        column: frame[column].to_numpy(dtype=np.float64)
        for column in ("y", "std_error", "low", "high")
        if column in frame.columns
    }
    columns: dict[str, Any] = {} if panels[:1] == [None] else {"panel": [key[0] for key in place]}
    columns["x"] = [key[1] for key in place]

    def spread(at: list[int], values: FloatArray) -> FloatArray:
        out = np.full(len(place), np.nan)
        out[[place[keys[row]] for row in at]] = values[at]
        return out

    for name, at in rows.items():
        columns[name] = spread(at, given["y"])
        if np.nanmax(np.nan_to_num(given["std_error"][at]), initial=0.0) > 0:
            columns[f"{name}, {spread_words}"] = spread(at, 2 * given["std_error"])
        for bound in ("low", "high"):
            if bound in given and np.isfinite(given[bound][at]).any():
                columns[f"{name}, {bound}"] = spread(at, given[bound])
    return pd.DataFrame(columns)
