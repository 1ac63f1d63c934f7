"""Seeds: one independent generator per stream and block, whatever machine runs it."""

from __future__ import annotations

import numpy as np

DATA, NOISE = 0, 1


def block_rng(seed: int, block: int, stream: int = DATA) -> np.random.Generator:
    """Return the generator of one block of trials.

    Parameters
    ----------
    seed : int
        The scenario's seed.
    block : int
        Number of the block, from 0.
    stream : int
        ``DATA`` for samples, ``NOISE`` for what a mechanism adds: they never share random numbers.

    Examples
    --------
    >>> bool(block_rng(0, 3).integers(100) == block_rng(0, 3).integers(100))
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream, block)))
