"""A comparison of runs as a page of text: the answer, then what became of every limit."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from strategy_core.cli._answer_text import print_answer, print_parts
from strategy_core.cli._plain import plain_text
from strategy_profiles.analysis.compare.limits import LimitCheck
from strategy_profiles.analysis.compare.run_comparison import RunComparison
from strategy_profiles.analysis.compare.text import change_interval, change_text
from strategy_profiles.questions.comparison import comparison, fields_of

_GATE_OF_ONE = (
    "With one run a side, limits apply to the difference of these two runs, without regard to "
    "how much runs differ by chance."
)


def print_comparison(compared: RunComparison, checks: Sequence[LimitCheck]) -> None:
    """Print the answer and what became of every limit."""
    out = Console(emoji=False)
    print_answer(comparison(compared), out)
    if compared.spec_changes or (compared.is_one_program and not compared.is_one_run):
        print_parts([fields_of(compared)], out)
    if checks and compared.times.unit == "step":
        out.print(plain_text(_GATE_OF_ONE))
    for check in checks:
        style, word = ("red", "beyond") if check.is_beyond else ("green", "within")
        interval = change_interval(check.found)
        change = change_text(check.found) + (f" ({interval})" if interval else "")
        remark = f" ({check.remark})" if check.remark else ""
        out.print(Text(f"{word} {check.limit.text}: {change}{remark}", style=style))
