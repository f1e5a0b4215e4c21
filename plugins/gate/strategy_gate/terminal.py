"""The outcome of a gate as a page of text: the answer, what is not within, then the rest."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from strategy_core.cli._plain import plain_text
from strategy_gate.report import GateReport
from strategy_gate.text import (
    Row,
    exact_rows,
    head,
    open_questions,
    remarks,
    time_rows,
)

_STYLES = {"beyond": "red", "better": "green", "undecided": "yellow", "unknown": "yellow"}


def print_gate(report: GateReport, least: float, accept: str) -> None:
    """Print every check; `accept` is the command that accepts these runs."""
    out = Console(emoji=False)
    style = {"within": "bold green", "beyond": "bold red"}.get(report.outcome, "bold yellow")
    out.print(plain_text(head(report), style))
    for sentence in (*open_questions(report), *remarks(report, least)):
        out.print(plain_text(sentence))
    exact, times = exact_rows(report), time_rows(report)
    other = [row for row in exact if row.outcome != "within"]
    if exact:
        out.print(f"{len(exact) - len(other)} of {len(exact)} exact checks are within.")
    for title, rows in (("Exact", other), ("Times", times)):
        if rows:
            out.print(_table(title, rows))
    if report.can_be_accepted:
        when = "If this is intended" if report.outcome == "beyond" else "Something improved"
        out.print(plain_text(f"{when}: accept these runs as the baseline with"))
        # A command is for copying: no line break that the terminal did not make itself.
        out.print(plain_text(f"  {accept}"), soft_wrap=True)


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in ("accepted", "found", "change"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in rows:
        said = f"{row.outcome}: {row.reason}" if row.reason else row.outcome
        cells = (row.name, row.accepted, row.found, row.change, said)
        table.add_row(*(plain_text(cell, _STYLES.get(row.outcome, "")) for cell in cells))
    return table
