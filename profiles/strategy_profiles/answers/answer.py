"""An answer: a sentence, numbers, tables and charts as data, and what is missing and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.reporting.definitions import DEFINITIONS

if TYPE_CHECKING:
    from strategy_profiles.tables.columns import Floats

Unit = Literal[
    "text", "name", "names", "figure", "count", "number", "s", "ms", "bytes", "gbps", "share"
]
"""What a column holds. A `name` is of the user's program and may be long, `names` are several; a
`figure` is a number already written, with what belongs to it; `gbps` are 10^9 bytes a second; a
`share` is a ratio, which is shown as per cent."""
Value: TypeAlias = "str | float | None"
Numbers: TypeAlias = "tuple[float, ...] | Floats"


class Bold(str):
    """A part of a sentence that is emphasised."""

    __slots__ = ()


class KeyNumber(Struct, frozen=True):
    """A number with its text, and a note beside it that explains it or says why it is missing."""

    key: str
    """In `DEFINITIONS`."""
    value: float | None
    text: str
    """With its unit; a dash if the value is missing."""
    note: str
    source: Literal["measured", "marks", "derived"] | None
    """None if the value is missing."""
    of: str = ""
    """Whose number it is, if the answer has it of several."""

    @property
    def label(self) -> str:
        return ": ".join(filter(None, (self.of, DEFINITIONS[self.key].label)))


class Column(Struct, frozen=True):
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
    is_aside: bool = False
    """Narrow places write it into the cell of the column before it, in parentheses."""

    @property
    def hint(self) -> str:
        """What the column's numbers mean; empty if its title says it."""
        return hint(self.definition)

    def of(self, item: Any) -> Value:
        """The value of an item."""
        value: Value = self.value(item) if self.value else getattr(item, self.key)
        return value


class _Remarks(Struct, frozen=True, kw_only=True):
    definition: str = ""
    """Itself, or a key of `DEFINITIONS`."""
    notes: tuple[str, ...] = ()
    is_detail: bool = False
    """Narrow places, such as a terminal, leave it out."""


class Part(_Remarks, frozen=True):
    """A part of an answer, with its heading."""

    key: str
    title: str

    @property
    def hint(self) -> str:
        """The text of the definition; empty if the title says it."""
        return hint(self.definition)


class Bars(Part, frozen=True):
    """A bar per name, of parts that add up; `parts` has each part's length by name's place."""

    names: tuple[str, ...]
    parts: Mapping[str, tuple[float | None, ...]]
    """By phase, a key of `reporting.palette`."""
    unit: str
    """What the lengths are, such as `ms per step`."""
    of: str = "Replica"
    """What the names are of."""
    wholes: tuple[float | None, ...] = ()
    """By name what the parts add up to, where it was measured itself."""

    @property
    def sums(self) -> tuple[float | None, ...]:
        """What the parts of each name add up to; None if none is known."""
        known = ([each for each in bar if each is not None] for bar in self.bars)
        return self.wholes or tuple(sum(bar) if bar else None for bar in known)

    @property
    def bars(self) -> tuple[tuple[float | None, ...], ...]:
        """The parts of each name."""
        return tuple(zip(*self.parts.values(), strict=True))

    @property
    def longest(self) -> float:
        """Length of the longest bar."""
        return max((sum(each or 0.0 for each in bar) for bar in self.bars), default=0.0)


class Line(Struct, frozen=True):
    """A line of a chart, of any length; `y` is NaN where it has a gap."""

    name: str
    x: Numbers
    y: Numbers
    colour: str
    """`#RRGGBB`."""
    low: Numbers = ()
    high: Numbers = ()
    """The edges of the band of all that it is the middle of."""


class Lines(Part, frozen=True):
    """Lines over one axis; if there is none, the notes say why."""

    lines: tuple[Line, ...]
    x_title: str
    y_title: str
    unit: Unit
    """Of `y`."""
    marks: tuple[tuple[float, str], ...] = ()
    """Moments on the axis, and what happened then."""
    is_stepped: bool = False
    """A value holds until the next one."""
    is_of_run: bool = False
    """The axis is that of the steps of the run; each mark is the first step of a segment."""
    bridge: float | None = None
    """Points that are farther apart are not joined."""
    top: float | None = None
    """Where the axis ends, if rare values are above it."""
    starts_at_zero: bool = True
    captured: tuple[tuple[int, int], ...] = ()
    """The first and the last step of each stretch of captured steps."""


class Matrix(Part, frozen=True):
    """Bytes per step from each row's name to each column's."""

    names: tuple[str, ...]
    num_bytes: tuple[tuple[float | None, ...], ...]
    """`num_bytes[i][j]` from `names[i]` to `names[j]`; None if nothing was sent."""
    source: Literal["measured", "derived"]

    @property
    def most(self) -> float:
        """Bytes of the fullest cell."""
        return max((value or 0.0 for row in self.num_bytes for value in row), default=0.0)


class Alternatives(Part, frozen=True):
    """Matrices of different sources, which are never added up: one at a time where that is
    possible, the first by default."""

    options: tuple[Matrix, ...]


def is_named(file: str, line: int, sentence: str) -> bool:
    """Whether a sentence names a line, as `train.py:31`."""
    return f"{PurePath(file).name}:{line}" in re.findall(r"[^\s/`(]+:\d+", sentence)


class CodeLine(Struct, frozen=True):
    """A line of the program, and its part of the time; None if it is shown for its neighbour."""

    line: int
    text: str
    ms_per_step: float | None
    share: float | None
    step: int | None = None
    """A captured step that the line calls, whose spans a timeline has."""
    is_named: bool = False
    """Whether the sentence of the cause names it."""


class Code(Part, frozen=True):
    """Lines of the program's files with the time that passes at them; lines may be left out."""

    files: tuple[tuple[str, tuple[CodeLine, ...]], ...]
    """Name of the file, and its lines in their order."""

    @property
    def most(self) -> float:
        """The largest share of a line."""
        return max((each.share or 0.0 for _, lines in self.files for each in lines), default=0.0)

    def line_of(self, sentence: str) -> Code:
        """The line that a sentence names (`train.py:31`) alone; without one, the hottest."""
        ranked = [
            (is_named(name, line.line, sentence), line.share or 0.0, name, line)
            for name, lines in self.files
            for line in lines
        ]
        *_, name, line = max(ranked, key=lambda item: item[:2])
        return replace(self, files=((name, (line,)),))


class Share(Struct, frozen=True):
    """A part of a whole."""

    title: str
    ms_per_step: float
    share: float
    colour: str
    """`#RRGGBB`."""


class Shares(Part, frozen=True):
    """A whole and its parts, which add up to it."""

    parts: tuple[Share, ...]


class Table(Part, frozen=True):
    """A table; without rows, `empty` is said instead of it."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    empty: str = ""
    source: Literal["measured", "marks", "derived"] | None = None
    details: tuple[Part, ...] = ()
    """What is known of each row alone, for a reader who can choose one: it replaces the part with
    its key. Empty if nothing is."""
    depths: tuple[int, ...] = ()
    """By row how far it is indented: each row is a part of the one above that is less so. Empty if
    rows stand by themselves, and may be sorted."""
    groups: tuple[str, ...] = ()
    """By row the heading that it stands below, together with the rows beside it. Empty if there is
    none."""
    is_searched: bool = False
    """It may have thousands of rows."""
    is_minor: bool = False
    """Wide places fold it away, and narrow ones leave it out."""

    @property
    def is_ordered(self) -> bool:
        """Whether sorting would take its rows apart."""
        return bool(self.depths or self.groups)


class Difference(Part, frozen=True):
    """What has changed in a text, as the lines of a unified diff."""

    lines: tuple[str, ...]


class Missing(Part, frozen=True):
    """A part that is not there: why, and what to do."""

    reason: str
    remedy: str = ""
    needs_new_run: bool = False
    """The remedy is another run in the lab."""


class Answer(Struct, frozen=True):
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
    warnings: tuple[str, ...] = ()
    """What makes it doubtful."""


def hint(definition: str) -> str:
    """Return the text of a definition: it is itself, or a key of `DEFINITIONS`."""
    known = DEFINITIONS.get(definition)
    return known.text if known else definition


def table(
    key: str, title: str, items: Iterable[Any], columns: Sequence[Column], **options: Any
) -> Table:
    """Return a table with a row for each item; `options` are further fields of it.

    Without rows it has no notes.
    """
    rows = tuple(tuple(column.of(item) for column in columns) for item in items)
    if not rows:
        options["notes"] = ()
    return Table(key, title, tuple(columns), rows, **options)
