"""A sweep as a page of text: the answer, and the winner as a command."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console

from strategy_core.cli._answer_text import print_answer
from strategy_core.cli._plain import plain, plain_text
from strategy_core.planning.spec_text import as_command, as_python, as_yaml
from strategy_sweep.answer import sweep_answer
from strategy_sweep.results import Results


def print_sweep(results: Results, runs: Path) -> None:
    """Print everything that the sweep found."""
    out = Console(emoji=False)
    print_answer(sweep_answer(results), out)
    winner = results.winner
    if winner is None or not winner.runs:
        return
    spec = results.spec(winner.index)
    out.print()
    out.print(plain_text("The fastest again, as a command:", "bold"))
    print(plain(as_command(spec).replace("\\\n  ", "")))
    out.print(plain_text("As YAML:", "bold"))
    print(as_yaml(spec), end="")
    out.print(plain_text("As Python:", "bold"))
    print(as_python(spec), end="")
    out.print(plain_text("Its last run:", "bold"))
    print(plain(f"strategy-lab summary {shlex.quote(str(runs / winner.runs[-1]))}"))
    if results.reference.runs and winner.index != results.sweep.reference:
        sides = [
            " ".join(shlex.quote(str(runs / name)) for name in item.runs)
            for item in (results.reference, winner)
        ]
        print(plain(f"strategy-lab compare {sides[0]} --against {sides[1]}"))
