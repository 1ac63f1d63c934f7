"""What several releases promise together: a ledger whose rows add up exactly, and sharper totals.

Sequential releases on the same people add up (basic composition); releases on disjoint groups of people cost the
largest group (parallel composition). Both are standard facts (lower_bounds, section 1). Levels are read to 15 digits
and added as exact decimals, so 0.1 + 0.2 is 0.3. Sharper totals: zCDP levels add; advanced composition; and the
privacy loss distribution, computed by ``dp_accounting``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Literal

from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.privacy.conversions import convert, pure_to_zcdp
from privexplorer.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    Guarantee,
    LocalDP,
    Neighbours,
    PureDP,
    check_delta,
)

SplitBy = Literal["record", "value"]

_EXACT = Context(prec=2000)  # wide enough for any sum of doubles


@dataclass(frozen=True)
class Entry:
    """One release in a ledger.

    Attributes
    ----------
    label : str
        What was released, for the reader.
    guarantee : Guarantee
        What the release promises by itself.
    group, part : str or None
        Set both for a release on one part of a split of the people: entries of one group with different parts
        concern different people.
    """

    label: str
    guarantee: Guarantee
    group: str | None = None
    part: str | None = None


@dataclass(frozen=True)
class LedgerRow:
    """One line of the table that people read: exact decimals, which add up to the total's.

    Attributes
    ----------
    label : str
        What was released.
    epsilon, delta : Decimal
        What the line adds to the total; rounded up, never down.
    counted : bool
        False for a release on a part of the people that is not the costliest of its group: it adds nothing, and
        its levels here are 0.
    note : str
        Why a line adds nothing, else empty.
    """

    label: str
    epsilon: Decimal
    delta: Decimal
    counted: bool = True
    note: str = ""


@dataclass(frozen=True)
class LedgerTable:
    """Rows and their total; ``sum(row.epsilon) == total.epsilon`` and the same for δ, digit for digit."""

    rows: tuple[LedgerRow, ...]
    total: LedgerRow


@dataclass(frozen=True)
class Ledger:
    """Releases from one table, in order; immutable, ``add`` returns a longer ledger.

    Examples
    --------
    >>> ledger = Ledger().add("entropy", PureDP(0.1)).add("coverage", PureDP(0.2))
    >>> print(ledger.basic())
    ε = 0.3
    >>> ledger.basic().epsilon == 0.3
    True
    """

    entries: tuple[Entry, ...] = ()

    def add(
        self,
        label: str,
        guarantee: Guarantee,
        *,
        group: str | None = None,
        part: str | None = None,
        split_by: SplitBy = "record",
    ) -> Ledger:
        """Return the ledger with one more release.

        Parameters
        ----------
        label : str
            What was released.
        guarantee : Guarantee
            What it promises; neighbours and model must be those of the ledger's other entries.
        group, part : str, optional
            Names of a split of the people and of the part concerned, both or neither.
        split_by : {"record", "value"}
            How the people were split. ``"record"``: by something public and fixed, such as the row number.
            ``"value"``: by what their records say.

        Raises
        ------
        UnsupportedCombination
            If the guarantee does not go with the others, or if the parts depend on the records while a neighbour may
            replace a record: a replaced record can leave one part and enter another, so both change.
        """
        if (group is None) != (part is None):
            raise ParameterError("Name both the split and the part of it, or neither.", field="part")
        if group is not None and split_by == "value" and guarantee.neighbours == "substitution":
            raise UnsupportedCombination(
                "A replaced record can leave one part and enter another, so parts chosen by the records' values do not "
                "cost the largest part only; split by something public, or use a guarantee for added and removed "
                "records.",
                field="part",
            )
        if self.entries:
            first = self.entries[0].guarantee
            if (first.neighbours, first.model) != (guarantee.neighbours, guarantee.model):
                raise UnsupportedCombination(
                    f"Guarantees add up only if they mean the same neighbours and model; the ledger is for "
                    f"{first.neighbours}, {first.model}, and '{label}' is for {guarantee.neighbours}, "
                    f"{guarantee.model}; convert it first.",
                    field="neighbours",
                )
        return replace(self, entries=(*self.entries, Entry(label, guarantee, group, part)))

    def basic(self) -> PureDP | ApproxDP:
        """Return the total of basic and parallel composition: ε and δ of all counted releases added up.

        Returns
        -------
        PureDP or ApproxDP
            Pure if no slack is involved. Equal to the exact decimal sum, rounded up to a double; δ at most 1.

        Raises
        ------
        UnsupportedCombination
            If a release is stated as zCDP or total variation; see ``concentrated`` for zCDP.
        """
        epsilon, delta = self._sum(self._levels())
        neighbours = self._neighbours()
        if delta == 0:
            return PureDP(_up(epsilon), neighbours=neighbours, model=self._model())
        return ApproxDP(_up(epsilon), min(1.0, _up(delta)), neighbours=neighbours, model=self._model())

    def table(self, digits: int = 4) -> LedgerTable:
        """Return rows and total for reading; the rows add up to the total exactly.

        Parameters
        ----------
        digits : int
            Significant digits that the smallest level keeps. Every level is rounded up to the same number of
            decimals (up, so each line stays true), and the total is the sum of the rounded lines.

        Raises
        ------
        UnsupportedCombination
            As for ``basic``.

        Examples
        --------
        >>> table = Ledger().add("a", PureDP(1 / 3)).add("b", PureDP(1 / 3)).add("c", PureDP(1 / 3)).table()
        >>> [str(row.epsilon) for row in table.rows], str(table.total.epsilon)
        (['0.3334', '0.3334', '0.3334'], '1.0002')
        """
        levels = self._levels()
        counted = self._counted(levels)
        epsilon_decimals = _common_decimals((epsilon for epsilon, _ in levels), digits)
        delta_decimals = _common_decimals((delta for _, delta in levels), digits)
        rows = []
        for entry, (epsilon, delta), counts in zip(self.entries, levels, counted, strict=True):
            if counts:
                row = LedgerRow(entry.label, _ceil(epsilon, epsilon_decimals), _ceil(delta, delta_decimals))
            else:
                nothing = _ceil(Decimal(0), epsilon_decimals), _ceil(Decimal(0), delta_decimals)
                note = "concerns other people than the costliest part of the same split"
                row = LedgerRow(entry.label, *nothing, counted=False, note=note)
            rows.append(row)
        total = LedgerRow(
            "Total",
            _add((row.epsilon for row in rows), epsilon_decimals),
            _add((row.delta for row in rows), delta_decimals),
        )
        return LedgerTable(tuple(rows), total)

    def concentrated(self) -> ZCDP:
        """Return the zCDP total: levels add up (markov_random_fields, Lem 46); pure releases count ε·tanh(ε/2).

        Within a split of the people the costliest part counts.

        Raises
        ------
        UnsupportedCombination
            If a release has slack δ, which zCDP cannot express.
        """
        levels = []
        for entry in self.entries:
            level = convert(entry.guarantee, ZCDP).rho
            levels.append((_decimal(level), Decimal(0)))
        rho, _ = self._sum(levels)
        return ZCDP(_up(rho), neighbours=self._neighbours(), model=self._model())

    def advanced(self, slack: float) -> ApproxDP:
        """Return the total of advanced composition with additional slack.

        With T = Σ ε·tanh(ε/2) and S = Σ ε², ε = min(Σ ε, T + sqrt(2 S ln(1/slack))) and
        δ = 1 - (1 - slack) Π (1 - δ_i). Standard fact: each release is dominated by binary randomised response, whose
        loss lies in [-ε, ε] with mean ε·tanh(ε/2), and Hoeffding bounds the sum. Checked against the exact sum of
        binomial losses in tests/unit/privacy/test_composition.py.

        Parameters
        ----------
        slack : float
            In (0, 1).

        Raises
        ------
        ParameterError
            If ``slack`` lies outside (0, 1).
        UnsupportedCombination
            If a release is stated as zCDP or total variation, or splits of the people are involved.
        """
        _check_slack(slack)
        self._no_parts("Advanced composition")
        levels = [(float(epsilon), float(delta)) for epsilon, delta in self._levels()]
        mean = math.fsum(pure_to_zcdp(epsilon) for epsilon, _ in levels)
        squares = math.fsum(epsilon * epsilon for epsilon, _ in levels)
        total = math.fsum(epsilon for epsilon, _ in levels)
        epsilon = min(total, mean + math.sqrt(2.0 * squares * math.log(1.0 / slack)))
        kept = math.fsum(math.log1p(-delta) if delta < 1 else -math.inf for _, delta in levels)
        delta = -math.expm1(math.log1p(-slack) + kept) if kept > -math.inf else 1.0
        return ApproxDP(epsilon, delta, neighbours=self._neighbours(), model=self._model())

    def tight(self, delta: float) -> ApproxDP:
        """Return the smallest total ε at slack ``delta``, from the privacy loss distribution.

        Each release is taken as the worst one with its (ε, δ); the convolution of their losses is computed by
        ``dp_accounting``, rounded to the private side.

        Parameters
        ----------
        delta : float
            In (0, 1); must exceed the releases' own slack.

        Raises
        ------
        ParameterError
            If ``delta`` lies outside (0, 1).
        UnsupportedCombination
            If a release is stated as zCDP or total variation, splits of the people are involved, or ``delta`` is too
            small for the releases' own slack.
        """
        from privexplorer.privacy.accounting import compose_worst_case

        _check_slack(delta)
        self._no_parts("Composition by privacy loss")
        levels = [(float(epsilon), float(slack)) for epsilon, slack in self._levels()]
        epsilon = compose_worst_case(levels, delta)
        if not math.isfinite(epsilon):
            raise UnsupportedCombination(
                f"The releases' own slack is more than δ = {delta:g} in total; ask for a larger δ.", field="delta"
            )
        exact, own = self._sum(self._levels())
        if own <= _decimal(delta):
            epsilon = min(epsilon, _up(exact))
        return ApproxDP(epsilon, delta, neighbours=self._neighbours(), model=self._model())

    def _neighbours(self) -> Neighbours:
        return self.entries[0].guarantee.neighbours if self.entries else "substitution"

    def _model(self) -> Literal["central", "local"]:
        return self.entries[0].guarantee.model if self.entries else "central"

    def _levels(self) -> list[tuple[Decimal, Decimal]]:
        levels = []
        for entry in self.entries:
            guarantee = entry.guarantee
            if isinstance(guarantee, PureDP):
                levels.append((_decimal(guarantee.epsilon), Decimal(0)))
            elif isinstance(guarantee, (ApproxDP, LocalDP)):
                levels.append((_decimal(guarantee.epsilon), _decimal(guarantee.delta)))
            else:
                raise UnsupportedCombination(
                    f"'{entry.label}' is stated as {guarantee.title.lower()}; convert it to ε and δ before adding it "
                    "to others.",
                    field="guarantee",
                )
        return levels

    def _sum(self, levels: list[tuple[Decimal, Decimal]]) -> tuple[Decimal, Decimal]:
        counted = self._counted(levels)
        # within a split, ε and δ may peak in different parts; the costliest part is the one with the larger ε
        epsilon = _add(level[0] for level, counts in zip(levels, counted, strict=True) if counts)
        delta = _add(level[1] for level, counts in zip(levels, counted, strict=True) if counts)
        return epsilon, delta

    def _counted(self, levels: list[tuple[Decimal, Decimal]]) -> list[bool]:
        """Say which entries count: all without a part, and those of the costliest part of each split."""
        cost: dict[str, dict[str, tuple[Decimal, Decimal]]] = {}
        for entry, (epsilon, delta) in zip(self.entries, levels, strict=True):
            if entry.group is not None and entry.part is not None:
                parts = cost.setdefault(entry.group, {})
                before = parts.get(entry.part, (Decimal(0), Decimal(0)))
                parts[entry.part] = (_EXACT.add(before[0], epsilon), _EXACT.add(before[1], delta))
        worst: dict[str, str] = {}
        for group, parts in cost.items():
            costliest = max(parts, key=lambda part: parts[part])
            if any(total[1] > parts[costliest][1] for total in parts.values()):
                raise UnsupportedCombination(
                    "One part has the larger ε and another the larger δ, so no single part is the costliest; state "
                    "the parts' releases with one δ.",
                    field="delta",
                )
            worst[group] = costliest
        return [entry.group is None or worst[entry.group] == entry.part for entry in self.entries]

    def _no_parts(self, rule: str) -> None:
        if any(entry.group is not None for entry in self.entries):
            raise UnsupportedCombination(
                f"{rule} is for releases about the same people; leave out the split, or use the basic total.",
                field="part",
            )


def compose(guarantees: Iterable[Guarantee]) -> PureDP | ApproxDP:
    """Return the basic total of releases about the same people.

    Examples
    --------
    >>> print(compose([PureDP(0.5), ApproxDP(0.25, 1e-6)]))
    ε = 0.75, δ = 1e-06
    """
    ledger = Ledger()
    for number, guarantee in enumerate(guarantees, start=1):
        ledger = ledger.add(f"release {number}", guarantee)
    return ledger.basic()


def _decimal(value: float) -> Decimal:
    """Return the decimal number that people mean: 15 digits, so that 0.1 and 3 * 0.1 become 0.1 and 0.3."""
    return Decimal(f"{value:.15g}")


def _up(value: Decimal) -> float:
    """Return the double nearest to an exact sum; the next larger one if that would understate it as written."""
    nearest = float(value)
    return nearest if Fraction(repr(nearest)) >= Fraction(value) else math.nextafter(nearest, math.inf)


def _add(values: Iterable[Decimal], decimals: int = 0) -> Decimal:
    total = Decimal(1).scaleb(-decimals) * 0
    for value in values:
        total = _EXACT.add(total, value)
    return total


def _ceil(value: Decimal, decimals: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_CEILING, context=_EXACT)


def _common_decimals(values: Iterable[Decimal], digits: int) -> int:
    """Decimals with which the smallest value keeps ``digits`` significant digits, and none that no value has."""
    needed = 0
    for value in values:
        if value:
            written = value.normalize(_EXACT)
            exponent = written.as_tuple().exponent
            own = -exponent if isinstance(exponent, int) else 0
            needed = max(needed, min(own, digits - 1 - written.adjusted()))
    return needed


def _check_slack(slack: float) -> None:
    check_delta(slack)
    if not 0 < slack < 1:
        raise ParameterError(f"δ must lie strictly between 0 and 1; it is {slack:g}.", field="delta")


__all__ = ["Entry", "Ledger", "LedgerRow", "LedgerTable", "SplitBy", "compose"]
