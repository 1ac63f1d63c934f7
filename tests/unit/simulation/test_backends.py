"""The engine: same bits on every backend, honest progress, and nothing busy after a stop."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import engine_blocks
import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster

from privexplorer.errors import Cancelled, ParameterError
from privexplorer.simulation import block_rng, collect, stream

PREPARED = {"seed": 11, "weights": np.linspace(0.1, 3.7, 50)}
TOTAL = 23
Backend = dict[str, Any]


@pytest.fixture(scope="module")
def dask_threads() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def dask_processes() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def where(name: str, request: pytest.FixtureRequest) -> Backend:
    """Arguments of ``stream`` for one place where blocks can run."""
    if name.startswith("dask"):
        return {"client": request.getfixturevalue(name.replace(" ", "_"))}
    return {"workers": 1 if name == "in process" else int(name[-1])}


@pytest.fixture(params=["in process", "loky 2", "loky 3", "dask threads", "dask processes"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return where(request.param, request)


@pytest.fixture(params=["in process", "loky 2", "dask threads"])
def one_of_each(request: pytest.FixtureRequest) -> Backend:
    return where(request.param, request)


def idle(backend: Backend) -> Callable[[], bool]:
    """Return a question: is nothing of a run busy now? It watches for 0.3 s."""
    client = backend.get("client")

    def cpu(process: psutil.Process) -> float:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            return 0.0
        return float(times.user + times.system)

    def quiet() -> bool:
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        before = {process.pid: cpu(process) for process in family}
        time.sleep(0.3)
        spent = sum(max(0.0, cpu(process) - before[process.pid]) for process in family)
        tasks = [] if client is None else [task for held in client.processing().values() for task in held]
        return spent < 0.1 and not tasks

    return quiet


def reference(total: int = TOTAL) -> list[Any]:
    return [engine_blocks.draw(PREPARED, block) for block in range(total)]


def bits(parts: list[Any]) -> list[bytes]:
    return [part.tobytes() for part in parts]


def test_same_bits_in_block_order(backend: Backend) -> None:
    assert bits(collect(engine_blocks.draw, PREPARED, TOTAL, **backend)) == bits(reference())


def test_order_does_not_depend_on_who_is_first(one_of_each: Backend) -> None:
    assert bits(collect(engine_blocks.uneven, PREPARED, 8, **one_of_each)) == bits(reference(8))


@pytest.mark.parametrize("total", [0, 1, 2])
def test_few_blocks(one_of_each: Backend, total: int) -> None:
    assert bits(collect(engine_blocks.draw, PREPARED, total, **one_of_each)) == bits(reference(total))


@pytest.mark.parametrize("start", [1, 22, 23])
def test_run_continues_from_a_known_block(one_of_each: Backend, start: int) -> None:
    parts = list(stream(engine_blocks.draw, PREPARED, TOTAL, start=start, **one_of_each))
    assert bits(parts) == bits(reference()[start:])


def test_progress_counts_finished_blocks(one_of_each: Backend) -> None:
    told: list[tuple[int, int]] = []
    collect(engine_blocks.draw, PREPARED, TOTAL, progress=lambda done, total: told.append((done, total)), **one_of_each)
    assert told == [(done, TOTAL) for done in range(1, TOTAL + 1)]


def test_progress_is_told_while_blocks_run() -> None:
    """Told at once, not all at the end: the first call comes before the last block starts."""
    started: list[int] = []
    seen: list[int] = []

    def block(prepared: Any, number: int) -> Any:
        started.append(number)
        return np.zeros((1, 1, 1))

    collect(block, None, 5, progress=lambda done, total: seen.append(len(started)))
    assert seen == [1, 2, 3, 4, 5]


def test_closing_early_leaves_nothing_busy(backend: Backend) -> None:
    quiet = idle(backend)
    blocks = stream(engine_blocks.busy, None, 10_000, **backend)
    assert [float(next(blocks)[0, 0, 0]) for _ in range(3)] == [0, 1, 2]
    stopped = time.perf_counter()
    blocks.close()
    time.sleep(max(0.0, stopped + 0.7 - time.perf_counter()))
    assert time.perf_counter() - stopped < 0.9, "closing itself took too long"
    assert quiet()


def test_a_run_that_goes_on_is_seen_as_busy(one_of_each: Backend) -> None:
    """The check above has power: while a run goes on, the same question is answered with no."""
    quiet = idle(one_of_each)
    enough = threading.Event()

    def read() -> None:
        with closing(stream(engine_blocks.busy, None, 10_000, **one_of_each)) as blocks:
            for _ in blocks:
                if enough.is_set():
                    return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        time.sleep(0.5)
        assert not quiet()
    finally:
        enough.set()
        reader.join(5)
    assert not reader.is_alive()


def test_progress_may_stop_the_run(one_of_each: Backend) -> None:
    quiet = idle(one_of_each)

    def stop(done: int, total: int) -> None:
        if done == 4:
            raise Cancelled("The run was stopped.")

    with pytest.raises(Cancelled):
        collect(engine_blocks.busy, None, 10_000, progress=stop, **one_of_each)
    time.sleep(0.7)
    assert quiet()  # which watches until one second is over


def test_an_error_in_a_block_arrives_as_it_is(one_of_each: Backend) -> None:
    quiet = idle(one_of_each)
    with pytest.raises(ParameterError) as caught:
        collect(engine_blocks.failing, None, 10_000, **one_of_each)
    assert str(caught.value) == "The fourth block cannot be computed."
    time.sleep(0.7)
    assert quiet()  # which watches until one second is over


def test_works_again_after_a_stop(one_of_each: Backend) -> None:
    stream_ = stream(engine_blocks.busy, None, 100, **one_of_each)
    next(stream_)
    stream_.close()
    assert bits(collect(engine_blocks.draw, PREPARED, TOTAL, **one_of_each)) == bits(reference())


def test_cluster_holds_only_a_window_of_blocks(dask_threads: Client) -> None:
    """A slow reader does not make the cluster compute (and keep) everything."""
    blocks = stream(engine_blocks.draw, PREPARED, 500, client=dask_threads)
    next(blocks)
    time.sleep(0.5)
    held = dask_threads.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    assert held <= 6  # two cores: a window of four, what all blocks share, and the one just read
    blocks.close()
    for _ in range(50):  # what a worker has in hand just now may still end
        time.sleep(0.1)
        if dask_threads.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0:
            break
    else:
        pytest.fail("tasks stayed on the cluster")


def test_blocks_run_elsewhere_with_workers() -> None:
    """With workers the blocks really leave this process."""
    from joblib import Parallel, delayed

    assert os.getpid() not in Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(4))


def test_streams_and_blocks_are_independent() -> None:
    first = [block_rng(3, block, stream_).standard_normal(4).tobytes() for block in range(3) for stream_ in range(3)]
    assert len(set(first)) == 9
    assert block_rng(3, 1).standard_normal(4).tobytes() == first[3]
    assert block_rng(4, 1).standard_normal(4).tobytes() != first[3]
