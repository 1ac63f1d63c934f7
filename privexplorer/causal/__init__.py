"""Locally private inference: effects and averages when one column was swapped for noise before anybody saw it."""

from __future__ import annotations
