"""A small language for formulas and conditions over columns, read by a parser of its own.

Numbers, ``"texts"``, column names (``age``, or between back quotes, as in `` `hours per week` ``), ``+ - * / ^``,
comparisons (``< <= > >= = !=``, chains such as ``18 <= age < 65``, ``city in ("Rome", "Oslo")``), ``and or not`` and
the functions of :data:`FUNCTIONS`. Nothing else is understood, and nothing is ever run as a program.

A missing value makes what depends on it missing, and a condition that hangs on it too: ``x > 0 and log(x) > 1`` is no
where x is negative, while ``log(x) > 1`` has no answer there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privexplorer.arrays import FloatArray
from privexplorer.errors import DataError, ParameterError
from privexplorer.predictability.tables import Table, column, row_count

Kind: TypeAlias = Literal["number", "condition", "text"]
Operator: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!="]
Values: TypeAlias = NDArray[Any]

LENGTH_LIMIT = 2_000
_DEPTH_LIMIT = 40
_NODE_LIMIT = 400

COMPARISONS: dict[str, Callable[[Values, Values], Values]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}
_ARITHMETIC: dict[str, Callable[[Values, Values], Values]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}


def _smallest(*values: Values) -> Values:
    out = values[0]
    for value in values[1:]:
        out = np.minimum(out, value)
    return out


def _largest(*values: Values) -> Values:
    out = values[0]
    for value in values[1:]:
        out = np.maximum(out, value)
    return out


def _between(value: Values, low: Values, high: Values) -> Values:
    return np.asarray(np.minimum(np.maximum(value, low), high))


def _chosen(condition: Values, first: Values, second: Values) -> Values:
    return np.where(np.isnan(condition), np.nan, np.where(condition == 1.0, first, second))


def _and(first: Values, second: Values) -> Values:
    """No if one is no, whatever the other; missing if one is missing and the other yes."""
    missing = np.isnan(first) | np.isnan(second)
    out = np.fmin(first, second)
    return np.where(missing & (out != 0.0), np.nan, out)


def _or(first: Values, second: Values) -> Values:
    """Yes if one is yes, whatever the other; missing if one is missing and the other no."""
    missing = np.isnan(first) | np.isnan(second)
    out = np.fmax(first, second)
    return np.where(missing & (out != 1.0), np.nan, out)


FUNCTIONS: dict[str, tuple[int, int, Callable[..., Values]]] = {
    "abs": (1, 1, np.abs),
    "sqrt": (1, 1, np.sqrt),
    "log": (1, 1, np.log),
    "exp": (1, 1, np.exp),
    "sign": (1, 1, np.sign),
    "floor": (1, 1, np.floor),
    "ceil": (1, 1, np.ceil),
    "min": (2, 9, _smallest),
    "max": (2, 9, _largest),
    "clip": (3, 3, _between),
    "if": (3, 3, _chosen),
}
"""Functions of the language: fewest and most arguments, and what they do. Logarithms are natural."""

_WORDS = frozenset({"and", "or", "not", "in", "true", "false"})
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SIGNS = ("<=", ">=", "==", "!=", "<>", "**", "<", ">", "=", "+", "-", "*", "/", "^", "(", ")", ",")


# --- the tree ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Node:
    """One part of an expression."""

    def values(self, table: Table, rows: int) -> Values:
        raise NotImplementedError

    def kind(self, table: Table | None) -> Kind | None:
        raise NotImplementedError

    def show(self, level: int = 0) -> str:
        raise NotImplementedError

    def parts(self) -> tuple[_Node, ...]:
        return ()


@dataclass(frozen=True)
class _Number(_Node):
    value: float

    def values(self, table: Table, rows: int) -> Values:
        return np.asarray(self.value)

    def kind(self, table: Table | None) -> Kind | None:
        return "number"

    def show(self, level: int = 0) -> str:
        text = repr(self.value)
        return text[:-2] if text.endswith(".0") else text


@dataclass(frozen=True)
class _Truth(_Node):
    value: bool

    def values(self, table: Table, rows: int) -> Values:
        return np.asarray(float(self.value))

    def kind(self, table: Table | None) -> Kind | None:
        return "condition"

    def show(self, level: int = 0) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True)
class _Text(_Node):
    value: str

    def values(self, table: Table, rows: int) -> Values:
        return np.asarray(self.value, dtype=object)

    def kind(self, table: Table | None) -> Kind | None:
        return "text"

    def show(self, level: int = 0) -> str:
        return _quoted(self.value)


@dataclass(frozen=True)
class _Column(_Node):
    name: str

    def values(self, table: Table, rows: int) -> Values:
        values = column(table, self.name)
        return values if values.dtype.kind in "OUST" else np.asarray(values, dtype=np.float64)

    def kind(self, table: Table | None) -> Kind | None:
        if table is None:
            return None
        values = column(table, self.name)
        if values.ndim != 1:
            raise DataError(f"Column '{self.name}' holds several numbers per person; a formula needs one.")
        if values.dtype.kind == "b":
            return "condition"
        return "number" if values.dtype.kind in "uif" else "text"

    def show(self, level: int = 0) -> str:
        plain = _NAME.fullmatch(self.name) and self.name not in _WORDS and self.name not in FUNCTIONS
        return self.name if plain else "`" + self.name.replace("\\", "\\\\").replace("`", "\\`") + "`"


@dataclass(frozen=True)
class _Negative(_Node):
    part: _Node

    def values(self, table: Table, rows: int) -> Values:
        return np.asarray(-self.part.values(table, rows))

    def kind(self, table: Table | None) -> Kind | None:
        _need(self.part, table, "number")
        return "number"

    def show(self, level: int = 0) -> str:
        return _bracketed("-" + self.part.show(6), level, 6)

    def parts(self) -> tuple[_Node, ...]:
        return (self.part,)


@dataclass(frozen=True)
class _Arithmetic(_Node):
    sign: str
    first: _Node
    second: _Node

    def values(self, table: Table, rows: int) -> Values:
        return np.asarray(_ARITHMETIC[self.sign](self.first.values(table, rows), self.second.values(table, rows)))

    def kind(self, table: Table | None) -> Kind | None:
        _need(self.first, table, "number")
        _need(self.second, table, "number")
        return "number"

    def show(self, level: int = 0) -> str:
        mine = {"+": 4, "-": 4, "*": 5, "/": 5, "^": 7}[self.sign]
        left, right = (mine + 1, 6) if self.sign == "^" else (mine, mine + 1)
        return _bracketed(f"{self.first.show(left)} {self.sign} {self.second.show(right)}", level, mine)

    def parts(self) -> tuple[_Node, ...]:
        return (self.first, self.second)


@dataclass(frozen=True)
class _Call(_Node):
    name: str
    given: tuple[_Node, ...]

    def values(self, table: Table, rows: int) -> Values:
        return np.asarray(FUNCTIONS[self.name][2](*(part.values(table, rows) for part in self.given)))

    def kind(self, table: Table | None) -> Kind | None:
        for place, part in enumerate(self.given):
            _need(part, table, "condition" if self.name == "if" and place == 0 else "number")
        return "number"

    def show(self, level: int = 0) -> str:
        return f"{self.name}({', '.join(part.show() for part in self.given)})"

    def parts(self) -> tuple[_Node, ...]:
        return self.given


@dataclass(frozen=True)
class _Comparison(_Node):
    sign: str
    first: _Node
    second: _Node

    def values(self, table: Table, rows: int) -> Values:
        first, second = self.first.values(table, rows), self.second.values(table, rows)
        if first.dtype.kind in "OUST":
            same = np.asarray(first.astype(object) == second.astype(object), dtype=np.bool_)
            missing = _no_text(first) | _no_text(second)
            return np.where(missing, np.nan, same if self.sign == "=" else ~same)
        missing = ~(np.isfinite(first) & np.isfinite(second))
        return np.where(missing, np.nan, COMPARISONS[self.sign](first, second))

    def kind(self, table: Table | None) -> Kind | None:
        first, second = self.first.kind(table), self.second.kind(table)
        words = {"number": "numbers", "text": "texts", "condition": "yes or no"}
        if first and second and (first == "text") != (second == "text"):
            raise ParameterError(
                f"The part '{self.show()}' compares {words[first]} with {words[second]}; both sides must be of one "
                "kind.",
                hint="Write texts between quotation marks.",
            )
        if "text" in (first, second) and self.sign not in ("=", "!="):
            raise ParameterError(
                f"The part '{self.show()}' asks for an order between texts; texts can only be equal (=) or not (!=)."
            )
        return "condition"

    def show(self, level: int = 0) -> str:
        return _bracketed(f"{self.first.show(4)} {self.sign} {self.second.show(4)}", level, 3)

    def parts(self) -> tuple[_Node, ...]:
        return (self.first, self.second)


@dataclass(frozen=True)
class _Member(_Node):
    part: _Node
    options: tuple[_Node, ...]

    def _comparisons(self) -> tuple[_Comparison, ...]:
        return tuple(_Comparison("=", self.part, option) for option in self.options)

    def values(self, table: Table, rows: int) -> Values:
        out = np.zeros(rows)
        for one in self._comparisons():
            out = _or(out, one.values(table, rows))
        return out

    def kind(self, table: Table | None) -> Kind | None:
        for one in self._comparisons():
            one.kind(table)
        return "condition"

    def show(self, level: int = 0) -> str:
        listed = ", ".join(option.show() for option in self.options)
        return _bracketed(f"{self.part.show(4)} in ({listed})", level, 3)

    def parts(self) -> tuple[_Node, ...]:
        return (self.part, *self.options)


@dataclass(frozen=True)
class _Logic(_Node):
    word: str
    given: tuple[_Node, ...]

    def values(self, table: Table, rows: int) -> Values:
        combine = _and if self.word == "and" else _or
        out = self.given[0].values(table, rows)
        for part in self.given[1:]:
            out = combine(out, part.values(table, rows))
        return out

    def kind(self, table: Table | None) -> Kind | None:
        for part in self.given:
            _need(part, table, "condition")
        return "condition"

    def show(self, level: int = 0) -> str:
        mine = 1 if self.word == "and" else 0
        return _bracketed(f" {self.word} ".join(part.show(mine + 1) for part in self.given), level, mine)

    def parts(self) -> tuple[_Node, ...]:
        return self.given


@dataclass(frozen=True)
class _Not(_Node):
    part: _Node

    def values(self, table: Table, rows: int) -> Values:
        return np.asarray(1.0 - self.part.values(table, rows))

    def kind(self, table: Table | None) -> Kind | None:
        _need(self.part, table, "condition")
        return "condition"

    def show(self, level: int = 0) -> str:
        return _bracketed(f"not {self.part.show(2)}", level, 2)

    def parts(self) -> tuple[_Node, ...]:
        return (self.part,)


def _no_text(values: Values) -> Values:
    """Tell where a text is missing."""
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=np.bool_)
    return np.array([not isinstance(value, str) for value in values.ravel()], dtype=np.bool_).reshape(values.shape)


def _need(part: _Node, table: Table | None, wanted: Kind) -> None:
    found = part.kind(table)
    if found is None or found == wanted or (wanted == "number" and found == "condition"):
        return
    words = {"number": "a number", "condition": "a condition (yes or no)", "text": "a text"}
    raise ParameterError(f"The part '{part.show()}' is {words[found]}, but {words[wanted]} is needed there.")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _bracketed(text: str, level: int, mine: int) -> str:
    return f"({text})" if mine < level else text


# --- what others see -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expression:
    """A formula or condition over columns; make one with :func:`parse` or :func:`comparison`.

    Examples
    --------
    >>> parse("18 <= age < 65 and income / 1000 > 30").text
    '18 <= age and age < 65 and income / 1000 > 30'
    """

    node: _Node

    @property
    def text(self) -> str:
        """The expression in its usual spelling; reading it again gives the same expression."""
        return self.node.show()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it reads, in order of appearance."""
        return tuple(dict.fromkeys(part.name for part in _walk(self.node) if isinstance(part, _Column)))

    def kind(self, table: Table | None = None) -> Kind | None:
        """Return what it is: a number, a condition or a text; None for a bare column without a table.

        Raises
        ------
        ParameterError
            If parts do not go together, such as a text plus a number.
        DataError
            If a column is missing.
        """
        return self.node.kind(table)

    def evaluate(self, table: Table) -> FloatArray:
        """Return one number per row: 1 and 0 for a condition.

        Raises
        ------
        DataError
            If a column is missing, or a value is not finite; the row is named.
        """
        values = self.numbers(table)
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"The expression '{self.text}' has no finite value in row {row + 1:,}; every person needs one.",
                hint="A value may be missing there, or the formula may divide by zero.",
            )
        return values

    def numbers(self, table: Table) -> FloatArray:
        """Return one number per row; not a number where it has no finite value."""
        rows = row_count(table)
        if self.node.kind(table) == "text":
            raise ParameterError(
                f"The expression '{self.text}' is a text; compare it with another, as in {self.text} = \"...\"."
            )
        with np.errstate(all="ignore"):
            values = self.node.values(table, rows)
        out = np.empty(rows)
        out[:] = values
        return out


def _walk(node: _Node) -> Iterator[_Node]:
    yield node
    for part in node.parts():
        yield from _walk(part)


def comparison(name: str, operator: Operator, value: float | str | bool) -> Expression:
    """Return the condition "this column compares so with this value".

    Parameters
    ----------
    name : str
        Column.
    operator : {"<", "<=", ">", ">=", "=", "!="}
        How.
    value : number, text or truth value
        With what; texts can only be equal or not.

    Examples
    --------
    >>> comparison("hours per week", ">=", 40).text
    '`hours per week` >= 40'
    """
    if operator not in COMPARISONS:
        raise ParameterError(f"A comparison is one of {', '.join(COMPARISONS)}; it is '{operator}'.", field="operator")
    other: _Node
    if isinstance(value, str):
        other = _Text(value)
    elif isinstance(value, bool | np.bool_):
        other = _Truth(bool(value))
    else:
        number = float(value)
        if not math.isfinite(number):
            raise ParameterError(f"A comparison needs a finite number; it is {number:g}.", field="value")
        other = _Negative(_Number(-number)) if number < 0 else _Number(number)
    out = Expression(_Comparison(operator, _Column(name), other))
    out.kind()
    return out


def all_of(*conditions: Expression) -> Expression:
    """Return the condition that all of these hold."""
    return _combined("and", conditions)


def any_of(*conditions: Expression) -> Expression:
    """Return the condition that at least one of these holds."""
    return _combined("or", conditions)


def negation(condition: Expression) -> Expression:
    """Return the opposite condition."""
    out = Expression(_Not(condition.node))
    out.kind()
    return out


def _combined(word: str, conditions: Sequence[Expression]) -> Expression:
    if not conditions:
        raise ParameterError("At least one condition is needed.")
    if len(conditions) == 1:
        return conditions[0]
    out = Expression(_joined(word, [condition.node for condition in conditions]))
    out.kind()
    return out


def _joined(word: str, nodes: Sequence[_Node]) -> _Node:
    flat: list[_Node] = []
    for node in nodes:
        flat += node.given if isinstance(node, _Logic) and node.word == word else (node,)
    return _Logic(word, tuple(flat))


# --- reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Token:
    kind: Literal["number", "text", "name", "column", "sign", "end"]
    text: str
    place: int


@lru_cache(maxsize=512)
def parse(text: str) -> Expression:
    """Read a formula or condition.

    Raises
    ------
    ParameterError
        If the text is not understood; the sentence says where.

    Examples
    --------
    >>> table = {"x": np.array([1.0, 4.0]), "city": np.array(["Rome", "Oslo"])}
    >>> parse("sqrt(x) + 1").evaluate(table)
    array([2., 3.])
    >>> parse('x > 2 and city != "Rome"').evaluate(table)
    array([0., 1.])
    """
    if len(text) > LENGTH_LIMIT:
        raise ParameterError(f"A formula may have at most {LENGTH_LIMIT:,} characters; it has {len(text):,}.")
    reader = _Reader(text, tuple(_tokens(text)))
    node = reader.whole()
    out = Expression(node)
    out.kind()
    return out


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        here = text[place]
        if here.isspace():
            place += 1
            continue
        if here in "\"'`":
            value, after = _closed(text, place)
            yield _Token("column" if here == "`" else "text", value, place)
            place = after
            continue
        number = _NUMBER.match(text, place)
        if number:
            yield _Token("number", number.group(), place)
            place = number.end()
            continue
        name = _NAME.match(text, place)
        if name:
            yield _Token("name", name.group(), place)
            place = name.end()
            continue
        sign = next((sign for sign in _SIGNS if text.startswith(sign, place)), None)
        if sign is None:
            raise ParameterError(
                f"The character '{here}' at position {place + 1} of the formula is not understood.",
                hint="Put the names of columns with unusual characters between back quotes.",
            )
        yield _Token("sign", sign, place)
        place += len(sign)
    yield _Token("end", "", len(text))


def _closed(text: str, start: int) -> tuple[str, int]:
    """Read a quoted text; a backslash takes the next character as it is."""
    out: list[str] = []
    place = start + 1
    while place < len(text):
        here = text[place]
        if here == "\\" and place + 1 < len(text):
            out.append(text[place + 1])
            place += 2
        elif here == text[start]:
            return "".join(out), place + 1
        else:
            out.append(here)
            place += 1
    raise ParameterError(f"The quotation mark at position {start + 1} of the formula is never closed.")


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, text: str, tokens: tuple[_Token, ...]) -> None:
        self.text = text
        self.tokens = tokens
        self.place = 0
        self.depth = 0
        self.count = 0

    @property
    def here(self) -> _Token:
        return self.tokens[self.place]

    def made(self, node: _Node) -> _Node:
        self.count += 1
        if self.count > _NODE_LIMIT:
            raise ParameterError("The formula is too long to be read; use fewer parts.")
        return node

    def takes(self, *texts: str) -> str | None:
        token = self.here
        if token.kind in ("sign", "name") and token.text in texts:
            self.place += 1
            return token.text
        return None

    def expect(self, sign: str) -> None:
        if self.takes(sign) is None:
            self.refuse(f"'{sign}' is expected")

    def refuse(self, what: str) -> None:
        token = self.here
        found = "it ends there" if token.kind == "end" else f"'{token.text}' stands there"
        raise ParameterError(f"{what} at position {token.place + 1} of the formula, but {found}.")

    def whole(self) -> _Node:
        if len(self.tokens) == 1:
            raise ParameterError("The formula is empty; write one over the columns, such as 'age > 30'.")
        node = self.either()
        if self.here.kind != "end":
            self.refuse("The end is expected")
        return node

    def either(self) -> _Node:
        self.depth += 1
        if self.depth > _DEPTH_LIMIT:
            raise ParameterError("The formula has too many nested brackets; write it flatter.")
        parts = [self.both()]
        while self.takes("or"):
            parts.append(self.both())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else self.made(_joined("or", parts))

    def both(self) -> _Node:
        parts = [self.negated()]
        while self.takes("and"):
            parts.append(self.negated())
        return parts[0] if len(parts) == 1 else self.made(_joined("and", parts))

    def negated(self) -> _Node:
        flips = 0
        while self.takes("not"):
            flips += 1
        node = self.compared()
        for _ in range(flips):
            node = self.made(_Not(node))
        return node

    def compared(self) -> _Node:
        first = self.summed()
        parts: list[_Node] = []
        while True:
            sign = self.takes("<", "<=", ">", ">=", "=", "==", "!=", "<>")
            if sign is None:
                break
            sign = {"==": "=", "<>": "!="}.get(sign, sign)
            second = self.summed()
            parts.append(self.made(_Comparison(sign, first, second)))
            first = second
        if parts:
            return parts[0] if len(parts) == 1 else self.made(_joined("and", parts))
        if self.takes("in"):
            self.expect("(")
            options = [self.summed()]
            while self.takes(","):
                options.append(self.summed())
            self.expect(")")
            return self.made(_Member(first, tuple(options)))
        return first

    def summed(self) -> _Node:
        node = self.multiplied()
        while sign := self.takes("+", "-"):
            node = self.made(_Arithmetic(sign, node, self.multiplied()))
        return node

    def multiplied(self) -> _Node:
        node = self.signed()
        while sign := self.takes("*", "/"):
            node = self.made(_Arithmetic(sign, node, self.signed()))
        return node

    def signed(self) -> _Node:
        flips = 0
        while sign := self.takes("-", "+"):
            flips += sign == "-"
        node = self.raised()
        for _ in range(flips):
            node = self.made(_Negative(node))
        return node

    def raised(self) -> _Node:
        node = self.single()
        if self.takes("^", "**"):
            self.depth += 1
            if self.depth > _DEPTH_LIMIT:
                raise ParameterError("The formula has too many nested powers; write it flatter.")
            node = self.made(_Arithmetic("^", node, self.signed()))
            self.depth -= 1
        return node

    def single(self) -> _Node:
        token = self.here
        if token.kind == "number":
            self.place += 1
            value = float(token.text)
            if not math.isfinite(value):
                raise ParameterError(f"The number {token.text} in the formula is too large.")
            return self.made(_Number(value))
        if token.kind == "text":
            self.place += 1
            return self.made(_Text(token.text))
        if token.kind == "column":
            self.place += 1
            return self.made(_Column(token.text))
        if token.kind == "name":
            if token.text in ("true", "false"):
                self.place += 1
                return self.made(_Truth(token.text == "true"))
            if token.text in _WORDS:
                self.refuse("A number or a column is expected")
            self.place += 1
            if self.here.text == "(" and self.here.kind == "sign":
                return self.called(token)
            return self.made(_Column(token.text))
        if self.takes("("):
            node = self.either()
            self.expect(")")
            return node
        self.refuse("A number or a column is expected")
        raise AssertionError  # pragma: no cover

    def called(self, token: _Token) -> _Node:
        if token.text not in FUNCTIONS:
            raise ParameterError(
                f"There is no function '{token.text}' in formulas; there are {', '.join(FUNCTIONS)}.",
                hint="A column of this name can be written between back quotes.",
            )
        self.expect("(")
        given = [self.either()]
        while self.takes(","):
            given.append(self.either())
        self.expect(")")
        fewest, most, _ = FUNCTIONS[token.text]
        if not fewest <= len(given) <= most:
            span = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise ParameterError(f"The function '{token.text}' takes {span} values; it has {len(given)}.")
        return self.made(_Call(token.text, tuple(given)))


__all__ = [
    "COMPARISONS",
    "FUNCTIONS",
    "LENGTH_LIMIT",
    "Expression",
    "Kind",
    "Operator",
    "all_of",
    "any_of",
    "comparison",
    "negation",
    "parse",
]
