"""Where blocks run: this process, worker processes (loky), or a Dask cluster.

Same numbers means same bits: blocks come back in block order, whatever order they were finished in.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any, Protocol

from privexplorer.arrays import FloatArray

RunBlock = Callable[[Any, int], FloatArray]


class Progress(Protocol):
    """Told between blocks how far a run is; it may raise to stop the run."""

    def __call__(self, done: int, total: int) -> None:
        """Take note of ``done`` of ``total`` blocks."""


def stream(
    run_block: RunBlock, prepared: Any, total: int, workers: int = 1, client: Any = None, start: int = 0
) -> Generator[FloatArray, None, None]:
    """Yield the blocks in order; closing the generator cancels what is still out.

    Parameters
    ----------
    run_block : callable
        ``run_block(prepared, block)``, importable by name.
    prepared : object
        What all blocks share; the only thing that travels.
    total : int
        Number of blocks.
    workers : int
        Worker processes (1: this process).
    client : distributed.Client, optional
        A Dask cluster, used directly.
    start : int
        First block to run; those before it are known already.
    """
    if client is not None:
        yield from _cluster(run_block, prepared, range(start, total), client)
    elif workers > 1 and total - start > 1:
        yield from _processes(run_block, prepared, range(start, total), workers)
    else:
        for block in range(start, total):
            yield run_block(prepared, block)


def _cluster(run_block: RunBlock, prepared: Any, blocks: range, client: Any) -> Generator[FloatArray, None, None]:
    # in a list: a dict by itself would be scattered under its own keys, which two runs may share
    [shared] = client.scatter([prepared], broadcast=True, hash=False)
    window = 2 * max(1, sum(client.ncores().values()))
    out: dict[int, Any] = {}
    try:
        for block in blocks:
            for ahead in range(block, min(block + window, blocks.stop)):
                if ahead not in out:
                    out[ahead] = client.submit(run_block, shared, ahead, pure=False)
            yield out[block].result()
            del out[block]
    finally:
        client.cancel([*out.values(), shared], force=True)


def _processes(run_block: RunBlock, prepared: Any, blocks: range, workers: int) -> Generator[FloatArray, None, None]:
    from joblib import Parallel, delayed, parallel_config

    jobs: Any = None
    try:
        with _interrupt_held_back(), parallel_config("loky", inner_max_num_threads=1):
            jobs = Parallel(n_jobs=workers, return_as="generator", pre_dispatch="2*n_jobs")(
                delayed(run_block)(prepared, block) for block in blocks
            )
        for part in jobs:  # noqa: UP028 - `yield from` would close the jobs before the warning below is silenced
            yield part
    finally:
        if jobs is not None:
            with warnings.catch_warnings():  # joblib warns about tasks it cancelled: that is what closing is for
                warnings.simplefilter("ignore")
                jobs.close()


@contextmanager
def _interrupt_held_back() -> Iterator[None]:
    """Start workers that never see a Ctrl-C: it is meant for this process, which then stops them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    for tracker in (resource_tracker, loky_tracker):  # starting later, they would let the signal through again
        tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def collect(
    run_block: RunBlock,
    prepared: Any,
    total: int,
    workers: int = 1,
    client: Any = None,
    progress: Progress | None = None,
) -> list[FloatArray]:
    """Run all blocks and return them in block order; whatever stops the run, nothing keeps computing."""
    parts: list[FloatArray] = []
    with closing(stream(run_block, prepared, total, workers, client)) as blocks:
        for part in blocks:
            parts.append(part)
            if progress is not None:
                progress(len(parts), total)
    return parts
