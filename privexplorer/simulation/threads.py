"""Linear algebra on one thread: sums then run in one order, so that the same question gives the same bits anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


def _load() -> None:
    # SciPy brings a library of its own, which is limited only once it is there
    import scipy.linalg  # noqa: F401


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread for a while (and other threads of this process with it)."""
    from threadpoolctl import threadpool_limits

    _load()
    with threadpool_limits(1, "blas"):
        yield


@cache
def one_thread_for_good() -> None:
    """Limit linear algebra to one thread in this process, which runs many questions side by side or nothing else."""
    from threadpoolctl import threadpool_limits

    _load()
    threadpool_limits(1, "blas")


__all__ = ["one_thread", "one_thread_for_good"]
