"""The Monte-Carlo engine: seeds, blocks, backends, progress and cancel."""

from __future__ import annotations

from privexplorer.simulation.backends import Progress, collect, stream
from privexplorer.simulation.moments import mean_and_error, mixture_quantiles, root_mean_square
from privexplorer.simulation.seeds import block_rng

__all__ = ["Progress", "block_rng", "collect", "mean_and_error", "mixture_quantiles", "root_mean_square", "stream"]
