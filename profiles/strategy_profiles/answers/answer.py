"""An answer: a sentence, numbers, tables and charts as data, and what is missing and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from strategy_profiles.reporting.definitions import DEFINITIONS

Unit = Literal["text", "name", "count", "number", "ms", "bytes", "gbps", "share"]
"""What a column holds. A `name` is of the user's program and may be long; `gbps` are 10^9 bytes a
second; a `share` is a ratio, which is shown as per cent."""
Value: TypeAlias = "str | float | None"


class Bold(str):
    """A part of a sentence that is emphasised."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class KeyNumber:
    """A number with its text, and a note beside it that explains it or says why it is missing."""

    key: str
    """In `DEFINITIONS`."""
    value: float | None
    text: str
    """With its unit; a dash if the value is missing."""
    note: str
    source: Literal["measured", "marks", "derived"] | None
    """None if the value is missing."""

    @property
    def label(self) -> str:
        return DEFINITIONS[self.key].label


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    key: str
    """The attribute of an item that it shows, unless it has a `value`."""
    title: str
    unit: Unit = "text"
    definition: str = ""
    """Itself, or a key of `DEFINITIONS`."""
    is_detail: bool = False
    """Narrow places, such as a terminal, leave it out."""
    value: Callable[[Any], Value] | None = None

    @property
    def hint(self) -> str:
        """What the column's numbers mean; empty if its title says it."""
        return hint(self.definition)

    def of(self, item: Any) -> Value:
        """The value of an item."""
        found: Value = self.value(item) if self.value else getattr(item, self.key)
        return found


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar per name, of parts that add up; `parts` has each part's length by name's place."""

    key: str
    title: str
    names: tuple[str, ...]
    parts: Mapping[str, tuple[float | None, ...]]
    """By phase, a key of `reporting.palette`."""
    unit: str
    """What the lengths are, such as `ms per step`."""
    definition: str = ""
    note: str = ""
    of: str = "Replica"
    """What the names are of."""

    @property
    def longest(self) -> float:
        """Length of the longest bar."""
        bars = zip(*self.parts.values(), strict=True)
        return max((sum(each or 0.0 for each in bar) for bar in bars), default=0.0)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Bytes per step from each row's name to each column's."""

    key: str
    title: str
    names: tuple[str, ...]
    num_bytes: tuple[tuple[float | None, ...], ...]
    """`num_bytes[i][j]` from `names[i]` to `names[j]`; None if nothing was sent."""
    source: Literal["measured", "derived"]
    sentence: str = ""
    note: str = ""

    @property
    def most(self) -> float:
        """Bytes of the fullest cell."""
        return max((value or 0.0 for row in self.num_bytes for value in row), default=0.0)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Matrices of different sources, which are never added up: one at a time where that is
    possible, the first by default."""

    key: str
    title: str
    options: tuple[Matrix, ...]
    definition: str = ""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of the program, and its part of the time; None if it is shown for its neighbour."""

    line: int
    text: str
    ms_per_step: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of the program's files with the time that passes at them; lines may be left out."""

    key: str
    title: str
    files: tuple[tuple[str, tuple[CodeLine, ...]], ...]
    """Name of the file, and its lines in their order."""
    definition: str = ""

    @property
    def most(self) -> float:
        """The largest share of a line."""
        return max((each.share or 0.0 for _, lines in self.files for each in lines), default=0.0)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole."""

    title: str
    ms_per_step: float
    share: float
    colour: str
    """`#RRGGBB`."""


@dataclass(frozen=True, slots=True)
class Shares:
    """A whole and its parts, which add up to it."""

    key: str
    title: str
    parts: tuple[Share, ...]
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; without rows, `empty` is said instead of it."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    empty: str = ""
    definition: str = ""
    source: Literal["measured", "marks", "derived"] | None = None
    notes: tuple[str, ...] = ()
    details: tuple[Bars, ...] = ()
    """What is known of each row alone, for a reader who can choose one; empty if nothing is."""
    depths: tuple[int, ...] = ()
    """By row how far it is indented: each row is a part of the one above that is less so. Empty if
    rows stand by themselves, and may be sorted."""
    is_searched: bool = False
    """It may have thousands of rows."""
    is_minor: bool = False
    """Wide places fold it away, and narrow ones leave it out."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that is not there: why, and what to do."""

    key: str
    title: str
    reason: str
    remedy: str = ""
    needs_new_run: bool = False
    """The remedy is another run in the lab."""


Part: TypeAlias = "Bars | Alternatives | Code | Shares | Table | Missing"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of a question about one segment."""

    key: str
    sentence: tuple[str, ...] = ()
    """Those of class `Bold` are emphasised. Empty if nothing is known."""
    numbers: tuple[KeyNumber, ...] = ()
    """The first one is the most important."""
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()
    """Keys of `DEFINITIONS` behind the numbers."""


def hint(definition: str) -> str:
    """Return the text of a definition: it is itself, or a key of `DEFINITIONS`."""
    found = DEFINITIONS.get(definition)
    return found.text if found else definition


def table(
    key: str, title: str, items: Iterable[Any], columns: Sequence[Column], **options: Any
) -> Table:
    """Return a table with a row for each item; `options` are further fields of it."""
    rows = tuple(tuple(column.of(item) for column in columns) for item in items)
    return Table(key, title, tuple(columns), rows, **options)
