"""An answer on a terminal: its tables without their details, its numbers where it lists them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from strategy_core.cli._plain import plain_text
from strategy_profiles.answers.answer import (
    Answer,
    Bars,
    Bold,
    Code,
    Column,
    Difference,
    Missing,
    Part,
    Table,
    Value,
)
from strategy_profiles.answers.text import by_group, cell_text, is_text, most_rows, rows_left_out
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import PART_COLOURS, phase_name

_OF_CHANGE = {"+": "green", "-": "red"}
"""The style of a line of a diff by its first character."""


def print_answer(answer: Answer, out: Console) -> None:
    """Print its sentence, its warnings and its parts; its numbers are in a table as well."""
    said = (plain_text(part, "bold" if isinstance(part, Bold) else "") for part in answer.sentence)
    out.print(Text.assemble(*said))
    for warning in answer.warnings:
        out.print(plain_text(warning, "yellow"))
    print_parts(answer.parts, out)
    for note in answer.notes:
        out.print(plain_text(note, "dim"))


def print_parts(parts: Iterable[Part], out: Console) -> None:
    """Print what has rows, and why a part is missing, unless another kind of run would have it.

    Line charts have no form here.
    """
    for part in parts:
        if isinstance(part, Table) and part.is_searched and part.rows:
            rows = units.counted(len(part.rows), "row")
            out.print(plain_text(f"{part.title}: {rows}, in the report and on the page.", "dim"))
        elif part.is_detail or (isinstance(part, Table) and part.is_minor):
            continue
        elif isinstance(part, Table) and part.rows:
            out.print(_table(part))
        elif isinstance(part, Bars):
            out.print(_bars(part))
        elif isinstance(part, Code):
            _print_code(part, out)
        elif isinstance(part, Difference):
            out.print(plain_text(part.title, "italic"))
            for line in part.lines:
                out.print(plain_text(line, _OF_CHANGE.get(line[:1], "dim")), soft_wrap=True)
        elif isinstance(part, Missing) and not part.needs_new_run:
            title = f"{part.title}: " if part.title else ""
            out.print(plain_text(f"{title}{part.reason}. {part.remedy}".strip(), "dim"))
        for note in part.notes:
            out.print(plain_text(note, "dim"))


def _table(part: Table) -> RichTable:
    kept = [place for place, column in enumerate(part.columns) if not column.is_detail]
    title = plain_text(f"{part.title}{rows_left_out(part)}", "italic")
    grid = RichTable(title=title, title_justify="left", min_width=min(len(title), 60))
    columns = [part.columns[place] for place in kept]
    titles = _cells((column, column.title) for column in columns)
    for column, heading in zip(
        (each for each in columns if not each.is_aside), titles, strict=True
    ):
        justify = "left" if is_text(column.unit) else "right"
        grid.add_column(plain_text(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    depths = part.depths or (0,) * len(part.rows)
    listed = list(zip(depths, part.rows, strict=True))[: most_rows(part)]
    for group, rows in by_group(part):
        if group:
            grid.add_section()
            grid.add_row(plain_text(group, "dim"))
        for depth, row in listed[rows]:
            first, *rest = _cells(zip(columns, (row[place] for place in kept), strict=True))
            grid.add_row(*map(plain_text, ("  " * depth + first, *rest)))
    return grid


def _cells(row: Iterable[tuple[Column, Value]]) -> list[str]:
    """A row's cells as text, each with what belongs to it."""
    cells: list[str] = []
    for column, value in row:
        text = cell_text(value, column.unit)
        if not column.is_aside:
            cells.append(text)
        elif value:
            cells[-1] += f" ({text})"
    return cells


def _bars(part: Bars) -> RichTable:
    """The lengths of each name's parts, and their sum."""
    grid = RichTable(title=f"{part.title}, {part.unit}", title_justify="left")
    grid.add_column(part.of, overflow="fold")
    for phase in part.parts:
        grid.add_column(phase_name(phase), justify="right", style=PART_COLOURS[phase])
    grid.add_column("step" if part.wholes else "sum", justify="right", style="bold")
    for name, lengths, whole in zip(part.names, part.bars, part.sums, strict=True):
        grid.add_row(plain_text(name), *map(units.number, (*lengths, whole)))
    return grid


def _print_code(code: Code, out: Console) -> None:
    out.print(plain_text(code.title, "italic"))
    for name, lines in code.files:
        out.print(plain_text(f"  {name}", "dim"))
        for each in lines:
            is_lit = each.share is not None
            time = units.milliseconds(each.ms_per_step) if is_lit else ""
            share = units.share(each.share) if is_lit else ""
            text = f"{time:>10} {share:>6} {each.line:5d} {each.text}"
            out.print(
                plain_text(text, "bold" if is_lit else "dim"), overflow="ellipsis", no_wrap=True
            )
