"""Settings that many studies ask for, declared once: which distribution, and how many people."""

from __future__ import annotations

from typing import Any

from privexplorer.distributions import Distribution
from privexplorer.records import field


def distribution_field(
    default: Distribution,
    title: str = "Distribution",
    help: str = "What the records look like before anybody is protected.",
) -> Any:
    """Declare the distribution of a study (annotate the field with ``DiscreteDistribution``)."""
    return field(default, title, help, key="dist", group="Data", discriminator="kind")


def people_field(default: int, help: str, *, low: float, high: float, ge: int, le: int, group: str = "Data") -> Any:
    """Declare the size of the sample (annotate the field with ``Annotated[int, Number]``)."""
    return field(
        default, "Sample size n, people", help, key="n", group=group, scale="log", low=low, high=high, ge=ge, le=le
    )


__all__ = ["distribution_field", "people_field"]
