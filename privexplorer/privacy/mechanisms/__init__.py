"""Mechanisms, one module each: what they release, what they promise, and the exact law of their noise."""

from __future__ import annotations

from privexplorer.privacy.mechanisms.laplace import Laplace, LaplaceNoise

__all__ = ["Laplace", "LaplaceNoise"]
