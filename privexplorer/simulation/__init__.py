"""The Monte-Carlo engine: seeds, blocks, backends, progress and cancel."""

from __future__ import annotations

from privexplorer.simulation.backends import Progress, collect, stream
from privexplorer.simulation.moments import mean_and_error, mixture_quantiles, root_mean_square
from privexplorer.simulation.seeds import block_rng
from privexplorer.simulation.threads import one_thread, one_thread_for_good

__all__ = [
    "Progress",
    "block_rng",
    "collect",
    "mean_and_error",
    "mixture_quantiles",
    "one_thread",
    "one_thread_for_good",
    "root_mean_square",
    "stream",
]
