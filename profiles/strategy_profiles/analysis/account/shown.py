"""The rows of the account that people read: page, report and terminal show the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from strategy_profiles.analysis.account.kinds import KINDS

SMALLEST = 0.01
"""Share of the loop below which a row is not shown; the table `account` has all."""
TITLE = "Where the loop's time goes"
COLUMNS = ("part", "ms a step", "of the loop", "source", "where")


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row."""

    depth: int
    title: str
    definition: str
    ms_per_step: float
    share: float
    source: str
    where: str
    """The line of the program, or the layer of an op; empty if it has none."""


def shown_rows(rows: Sequence[dict[str, Any]]) -> Iterator[ShownRow]:
    """The large rows of the loop, given as in the table `account`; missing values may be absent."""
    for row in rows:
        path = str(row["row"])
        if not path.startswith("loop") or row["share"] < SMALLEST:
            continue
        title, definition = KINDS.get(str(row["kind"]), (str(row["kind"]), ""))
        yield ShownRow(
            path.count("/"),
            _title(row, title),
            definition,
            float(row["ms_per_step"]),
            float(row["share"]),
            str(row["source"]),
            _where(row),
        )


def _title(row: dict[str, Any], title: str) -> str:
    if row.get("op"):
        return str(row["op"])
    if str(row["row"]).endswith("/others"):
        return "Others"
    if row["kind"] == "callback" and row.get("call"):
        return f"{title} {row['call']}"
    return "Line" if _is_line(row) else title


def _is_line(row: dict[str, Any]) -> bool:
    """Whether it is one line of several of a kind."""
    return str(row["row"]).rpartition("/")[2].isdigit()


def _where(row: dict[str, Any]) -> str:
    if row.get("file") is None:
        return str(row.get("layer") or "")
    place = f"{str(row['file']).rpartition('/')[2]}:{row['line']}"
    return f"{place}  {row['text']}" if row.get("text") else place
