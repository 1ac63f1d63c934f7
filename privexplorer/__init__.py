"""Explore what privacy costs and what it buys."""

from __future__ import annotations

__version__ = "0.1.0"
