"""docs/processes.md draws the state machines of the launcher as their tables have them.

`python -m tests.strategy_core.launcher.test_state_diagrams` draws them again.
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


def diagram(table: Mapping[tuple[StrEnum, StrEnum], StrEnum]) -> str:
    """Mermaid source; events that change no state are left out."""
    arrows: dict[tuple[StrEnum, StrEnum], list[str]] = {}
    for (before, event), after in table.items():
        if before is not after:
            arrows.setdefault((before, after), []).append(event.replace("_", " "))
    first = next(iter(table))[0]
    last = [state for state in type(first) if not any(before is state for before, _ in arrows)]
    return "\n".join(
        [
            "stateDiagram-v2",
            f"    [*] --> {first}",
            *(f"    {a} --> {b}: {', '.join(events)}" for (a, b), events in arrows.items()),
            *(f"    {state} --> [*]" for state in last),
        ]
    )


def block(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name} -->\n```mermaid\n)(.*?)(\n```)", re.DOTALL)


@pytest.mark.parametrize("name", TABLES)
def test_the_page_draws_every_transition(name: str) -> None:
    found = block(name).search(PAGE.read_text())
    assert found is not None
    assert found[2] == diagram(TABLES[name])


@pytest.mark.parametrize("states", [worker_state.WorkerState, run_state.RunState, GroupState])
def test_the_page_explains_every_state(states: type[StrEnum]) -> None:
    text = PAGE.read_text()
    assert [state for state in states if f"| `{state}` |" not in text] == []


def main() -> None:
    text = PAGE.read_text()
    for name, table in TABLES.items():
        drawn = diagram(table)
        text = block(name).sub(lambda found, drawn=drawn: found[1] + drawn + found[3], text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
