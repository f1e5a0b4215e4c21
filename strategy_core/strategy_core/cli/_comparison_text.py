"""A comparison of runs as a page of text: the answer first, then the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from strategy_core.cli._plain import plain, plain_text
from strategy_profiles.analysis.compare.each import AgainstFirst, each_row
from strategy_profiles.analysis.compare.limits import LimitCheck
from strategy_profiles.analysis.compare.metrics import METRICS, MetricChange
from strategy_profiles.analysis.compare.run_comparison import ComparedRun, RunComparison
from strategy_profiles.analysis.compare.text import (
    answer,
    change_interval,
    change_text,
    evidence,
)
from strategy_profiles.reporting import units

_GATE_OF_ONE = (
    "With one run a side, limits apply to the difference of these two runs, without regard to "
    "how much runs differ by chance."
)


def print_comparison(compared: RunComparison, checks: Sequence[LimitCheck]) -> None:
    """Print the answer, the metrics and what became of every limit."""
    out = Console()
    for side, runs in (("A", compared.a), ("B", compared.b)):
        out.print(plain_text(f"{side}: {_names(runs)}"))
    if changes := compared.spec_changes:
        out.print(plain_text(f"B differs in: {', '.join(changes)}"))
    verdict, rest = answer(compared)
    out.print(Text(plain(verdict), style="bold") + Text(plain(rest)))
    for sentence in evidence(compared):
        out.print(plain_text(sentence))
    for warning in compared.warnings:
        out.print(plain_text(warning, "yellow"))
    out.print(_metrics(compared.metrics))
    if any(item.interval for item in compared.metrics):
        out.print(plain_text("In parentheses: the 95 % confidence interval of the change."))
    if checks and compared.times.unit == "step":
        out.print(plain_text(_GATE_OF_ONE))
    for check in checks:
        style, word = ("red", "beyond") if check.is_beyond else ("green", "within")
        remark = f" ({check.remark})" if check.remark else ""
        out.print(Text(f"{word} {check.limit.text}: {_change(check.found)}{remark}", style=style))


def print_each(found: Sequence[AgainstFirst], console: Console | None = None) -> None:
    """Print every run against the first: a sentence each, then one table."""
    out = console or Console()
    table = Table()
    table.add_column("", overflow="fold")
    table.add_column("1", justify="right", no_wrap=True)
    for number, item in enumerate(found, 2):
        if item.compared is None:
            out.print(plain_text(f"{number}: {item.name} cannot be compared: {item.reason}"))
        else:
            verdict, rest = answer(item.compared)
            out.print(plain_text(f"{number}: {item.name} as B, {item.compared.a[0].name} as A"))
            out.print(Text(plain(verdict), style="bold") + Text(plain(rest)))
            for warning in item.compared.warnings:
                out.print(plain_text(warning, "yellow"))
        table.add_column(f"{number} (against 1)", justify="right")
    for row in each_row(found):
        shown = [
            f"{units.number(each.b)} ({_change(each)})" if each else units.MISSING
            for each in row.others
        ]
        table.add_row(row.metric, units.number(row.first), *shown)
    out.print(table)
    out.print(plain_text("One run each: these numbers do not include the variation between runs."))


def _names(runs: Sequence[ComparedRun]) -> str:
    return ", ".join(f"{run.name} (segment {run.segment})" for run in runs)


def _metrics(metrics: Sequence[MetricChange]) -> Table:
    table = Table()
    table.add_column("")
    for name in ("A", "B", "change"):
        table.add_column(name, justify="right")
    for statistic, members in groupby(metrics, key=lambda item: METRICS[item.metric].statistic):
        table.add_section()
        table.add_row(Text(statistic, style="dim"))
        for item in members:
            table.add_row(item.metric, units.number(item.a), units.number(item.b), _change(item))
    return table


def _change(item: MetricChange) -> str:
    interval = change_interval(item)
    return f"{change_text(item)} ({interval})" if interval else change_text(item)
