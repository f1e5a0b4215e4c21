"""A sweep as a page of text: the answer, the table, the Pareto fronts, the winner as a command."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from strategy_core.cli._plain import plain, plain_text
from strategy_core.planning.spec_text import as_command, as_python, as_yaml
from strategy_profiles.reporting import units
from strategy_profiles.sweep.results import COST_NAMES, Result, Results
from strategy_profiles.sweep.text import (
    headline,
    interval_text,
    ratio_text,
    verified_text,
    what_was_done,
)


def print_sweep(found: Results, runs: Path) -> None:
    """Print everything that the sweep found."""
    out = Console()
    out.print(plain_text(headline(found), "bold"))
    out.print(plain_text(what_was_done(found)))
    if checked := verified_text(found):
        out.print(plain_text(checked))
    # At the full width Rich cuts the last characters of this box off.
    out.print(_table(found), width=out.width - 2)
    for item in found.table:
        if item.why:  # too long for a cell
            out.print(plain_text(f"{item.label}: {item.why}"))
    for cost, name in COST_NAMES.items():
        front = [item.label for item in found.table if item.index in found.pareto(cost)]
        said = f"Pareto front, throughput against {name}: {', '.join(front)}"
        out.print(plain_text(said))
    winner = found.winner
    if winner is None or not winner.runs:
        return
    spec = found.spec(winner.index)
    out.print()
    out.print(plain_text("The fastest again, as a command:", "bold"))
    print(plain(as_command(spec).replace("\\\n  ", "")))
    out.print(plain_text("As YAML:", "bold"))
    print(as_yaml(spec), end="")
    out.print(plain_text("As Python:", "bold"))
    print(as_python(spec), end="")
    out.print(plain_text("Its last run:", "bold"))
    print(plain(f"strategy-lab summary {shlex.quote(str(runs / winner.runs[-1]))}"))
    if found.reference.runs and winner.index != found.sweep.reference:
        sides = [
            " ".join(shlex.quote(str(runs / name)) for name in item.runs)
            for item in (found.reference, winner)
        ]
        print(plain(f"strategy-lab compare {sides[0]} --against {sides[1]}"))


def _table(found: Results) -> Table:
    # Without vertical lines, names fit a terminal of 80 columns.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("configuration", min_width=15, overflow="fold")
    for name in ("examples/s", "step, ms", "runs", "times the default"):
        table.add_column(name, justify="right")
    table.add_column("", overflow="fold")
    for item in found.table:
        style = "bold" if item.state == "fastest" else ""
        table.add_row(*map(plain_text, _cells(found, item)), style=style)
    return table


def _cells(found: Results, item: Result) -> tuple[str, ...]:
    of_reference = units.MISSING if item.of_reference is None else ratio_text(item.of_reference)
    return (
        item.label,
        interval_text(item.examples_per_second_at_median),
        interval_text(item.step_ms),
        str(len(item.runs)),
        "1" if item.index == found.sweep.reference else of_reference,
        item.state,
    )
