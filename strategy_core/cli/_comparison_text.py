"""A comparison of two runs as a page of text: the answer first, then the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from strategy_core.cli._plain import plain_text
from strategy_lab.profiles import units
from strategy_lab.profiles.analysis.comparison import Comparison
from strategy_lab.profiles.analysis.limits import LimitCheck
from strategy_lab.profiles.analysis.run_comparison import MetricChange, RunComparison


def print_comparison(
    compared: RunComparison, checks: Sequence[LimitCheck], console: Console | None = None
) -> None:
    """Print the answer, the metrics and what became of every limit."""
    out = console or Console()
    out.print(plain_text(f"A: {compared.a_name} (segment {compared.a_segment})"))
    out.print(plain_text(f"B: {compared.b_name} (segment {compared.b_segment})"))
    out.print(Text(answer(compared.times), style="bold"))
    for warning in compared.warnings:
        out.print(plain_text(warning, "yellow"))
    out.print(_metrics(compared.metrics))
    for check in checks:
        style, word = ("red", "beyond") if check.is_beyond else ("green", "within")
        remark = f" ({check.remark})" if check.remark else ""
        out.print(Text(f"{word} {check.limit.text}: {_change(check.found)}{remark}", style=style))


def answer(times: Comparison) -> str:
    """The verdict in one sentence with its evidence."""
    if times.low is None or times.high is None:
        return f"Cannot tell which is faster: {times.reason}. B / A = {times.ratio:.3f}."
    interval = f"B / A = {times.ratio:.3f}, 95 % confidence {times.low:.3f} to {times.high:.3f}"
    if not times.is_different:
        return f"Cannot tell which is faster: {interval}."
    return f"{times.verdict} ({interval})."


def _metrics(metrics: Sequence[MetricChange]) -> Table:
    table = Table()
    table.add_column("")
    for name in ("A", "B", "change"):
        table.add_column(name, justify="right")
    for item in metrics:
        table.add_row(item.metric, units.number(item.a), units.number(item.b), _change(item))
    return table


def _change(item: MetricChange) -> str:
    if item.change is None or item.a is None or item.b is None:
        return units.MISSING
    if abs(item.change) >= 10 and item.a:
        return f"× {units.number(item.b / item.a)}"
    return f"{item.change:+.1%}"
