"""docs/processes.md has the state machines of the launcher as their tables have them.

`python -m tests.strategy_core.launcher.test_state_tables` writes them again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import pytest

from strategy_core.launcher import run_state, worker_state
from strategy_core.launcher.process_group import GroupState

PAGE = Path(__file__).parents[3] / "docs" / "processes.md"
TABLES: dict[str, Mapping[tuple[StrEnum, StrEnum], StrEnum]] = {
    "worker": worker_state.TRANSITIONS,
    "run": run_state.TRANSITIONS,
}


def rows(table: Mapping[tuple[StrEnum, StrEnum], StrEnum]) -> str:
    """Markdown, a row for each state; events that change no state are left out."""
    states = type(next(iter(table))[0])
    leads: dict[StrEnum, dict[StrEnum, list[str]]] = {state: {} for state in states}
    for (before, event), after in table.items():
        if before is not after:
            leads[before].setdefault(after, []).append(event.replace("_", " "))
    lines = ["| from | to, by event |", "| --- | --- |"]
    for before, targets in leads.items():
        texts = [f"`{after}` ({', '.join(events)})" for after, events in targets.items()]
        lines.append(f"| `{before}` | {', '.join(texts) or 'none: the end'} |")
    return "\n".join(lines)


def block(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(\n\n)", re.DOTALL)


@pytest.mark.parametrize("name", TABLES)
def test_the_page_has_every_transition(name: str) -> None:
    found = block(name).search(PAGE.read_text())
    assert found is not None
    assert found[2] == rows(TABLES[name])


@pytest.mark.parametrize("states", [worker_state.WorkerState, run_state.RunState, GroupState])
def test_the_page_explains_every_state(states: type[StrEnum]) -> None:
    text = PAGE.read_text()
    assert [state for state in states if f"| `{state}` |" not in text] == []


def main() -> None:
    text = PAGE.read_text()
    for name, table in TABLES.items():
        written = rows(table)
        text = block(name).sub(lambda found, written=written: found[1] + written + found[3], text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
