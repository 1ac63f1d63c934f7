"""The questions: each module holds one study, the catalogue finds them all."""

from __future__ import annotations

from privexplorer.studies.catalogue import catalogue, study

__all__ = ["catalogue", "study"]
