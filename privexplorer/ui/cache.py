"""The only place that caches: prepared parts and finished blocks, bounded, by digest.

Nothing here is ever hashed by Streamlit (it samples large arrays): the key is the digest of the scenario
without its late fields. What comes from an upload stays in its session.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import streamlit as st

from privexplorer.arrays import FloatArray


def size_of(value: Any) -> int:
    """Estimate the bytes that an object holds in its arrays."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(size_of(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return sum(size_of(item) for item in value)
    if hasattr(value, "__dict__"):
        return sum(size_of(item) for item in vars(value).values()) + sys.getsizeof(value)
    return sys.getsizeof(value)


@dataclass
class Store:
    """Keep the most recently used objects, up to so many bytes."""

    most_bytes: int
    held: OrderedDict[Hashable, tuple[Any, int]] = field(default_factory=OrderedDict)
    total: int = 0
    lock: Any = field(default_factory=threading.Lock)

    def get(self, key: Hashable) -> Any:
        """Return the object, or ``None``."""
        with self.lock:
            if key not in self.held:
                return None
            self.held.move_to_end(key)
            return self.held[key][0]

    def put(self, key: Hashable, value: Any) -> None:
        """Keep an object; let the least recently used ones go."""
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        size = size_of(value)
        with self.lock:
            if key in self.held:
                self.total -= self.held.pop(key)[1]
            self.held[key] = (value, size)
            self.total += size
            while self.total > self.most_bytes and len(self.held) > 1:
                _, (_, gone) = self.held.popitem(last=False)
                self.total -= gone


@dataclass
class Cache:
    """Prepared parts and blocks of one scope: all visitors, or one session."""

    prepared: Store
    blocks: Store

    def known(self, key: str, total: int) -> list[FloatArray]:
        """Return the blocks 0, 1, ... that are there without a gap."""
        parts: list[FloatArray] = []
        for block in range(total):
            part = self.blocks.get((key, block))
            if part is None:
                break
            parts.append(part)
        return parts


@st.cache_resource(show_spinner=False, max_entries=1)
def _shared() -> Cache:
    return Cache(Store(256 * 2**20), Store(256 * 2**20))


def cache(private: bool) -> Cache:
    """Return the cache for synthetic questions, or this session's own for an uploaded table."""
    if not private:
        return _shared()
    held = st.session_state.setdefault("_own_cache", Cache(Store(48 * 2**20), Store(48 * 2**20)))
    return cast("Cache", held)


@st.cache_resource(show_spinner=False, max_entries=1)
def cluster_client(address: str) -> Any:
    """Connect once to the Dask cluster that the app was started with."""
    from distributed import Client

    connect: Any = Client
    return connect(address, timeout="10s", set_as_default=False)
