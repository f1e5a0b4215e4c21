"""docs/processes.md has the state machines of the launcher as their tables have them.

`python -m tests.strategy_core.launcher.test_state_tables` writes them again; it needs Graphviz.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from xml.etree import ElementTree

import pytest

from strategy_core.launcher import group_state, run_state, worker_state
from strategy_core.launcher.group_state import GroupState
from strategy_core.launcher.run_state import RunState
from strategy_core.launcher.worker_state import WorkerState

PAGE = Path(__file__).parents[3] / "docs" / "processes.md"
Leads = dict[StrEnum, dict[StrEnum, list[str]]]


@dataclass(frozen=True)
class Machine:
    """A state machine and how its drawing is arranged."""

    table: Mapping[tuple[StrEnum, StrEnum], StrEnum]
    box: str = ""
    boxed: tuple[StrEnum, ...] = ()
    """States in one box. A transition that all of them have is one arrow from the box."""

    @property
    def leads(self) -> Leads:
        """The events by states before and after; those that change no state are left out."""
        states = type(next(iter(self.table))[0])
        leads_of_state: Leads = {state: {} for state in states}
        for (before, event), after in self.table.items():
            if before is not after:
                leads_of_state[before].setdefault(after, []).append(event.replace("_", " "))
        return leads_of_state


MACHINES = {
    "worker": Machine(
        worker_state.TRANSITIONS,
        "at work",
        (
            WorkerState.STARTING,
            WorkerState.OPENING,
            WorkerState.RUNNING,
            WorkerState.SERVING,
            WorkerState.CLOSING,
        ),
    ),
    "run": Machine(
        run_state.TRANSITIONS,
        "training",
        (RunState.STARTING, RunState.RUNNING, RunState.CHANGING),
    ),
    "group": Machine(group_state.TRANSITIONS),
}


def rows(machine: Machine) -> str:
    """Markdown, a row for each state."""
    lines = ["| from | to, by event |", "| --- | --- |"]
    for before, targets in machine.leads.items():
        texts = [f"`{after}` ({', '.join(events)})" for after, events in targets.items()]
        lines.append(f"| `{before}` | {', '.join(texts) or 'none: the end'} |")
    return "\n".join(lines)


def arrows(machine: Machine) -> dict[tuple[str, str], list[str]]:
    """The events by the ends of an arrow; a transition of all states in the box begins there."""
    leads, boxed = machine.leads, machine.boxed
    edges: dict[tuple[str, str], list[str]] = {}
    for before, targets in leads.items():
        for after, events in targets.items():
            for event in events:
                is_shared = before in boxed and all(
                    event in leads[each].get(after, ()) for each in boxed
                )
                arrow = edges.setdefault((machine.box if is_shared else before, after), [])
                if event not in arrow:
                    arrow.append(event)
    return edges


def drawing(machine: Machine) -> str:
    """A drawing in the language of Graphviz; each arrow's id in the SVG names its ends."""
    lines = [
        "digraph {",
        'rankdir=LR; compound=true; bgcolor="white"; pad=0.2; nodesep=0.35; ranksep=0.9',
        'fontname="sans-serif"; fontsize=12',
        'node [shape=box, style="rounded,filled", fillcolor="#e8f0fe", fontname="sans-serif"]',
        'edge [fontname="sans-serif", fontsize=11, color="#555555"]',
    ]
    if machine.boxed:
        states = "; ".join(machine.boxed)
        lines.append(f'subgraph cluster {{ label="{machine.box}"; color="#888888"; {states} }}')
    for (before, after), events in arrows(machine).items():
        is_box = before == machine.box
        start = machine.boxed[len(machine.boxed) // 2] if is_box else before
        label = "\\n".join(events)
        tail = ', ltail="cluster"' if is_box else ""
        lines.append(f'{start} -> {after} [id="{before}..{after}", label="{label}"{tail}]')
    return "\n".join([*lines, "}"])


def drawn(svg: str) -> dict[tuple[str, str], list[str]]:
    """The arrows of a drawing, as `arrows` returns them."""
    tables = {}
    for group in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}g"):
        before, between, after = group.get("id", "").partition("..")
        if between:
            texts = group.iter("{http://www.w3.org/2000/svg}text")
            tables[before, after] = [str(text.text) for text in texts]
    return tables


def image(name: str) -> Path:
    return PAGE.parent / "images" / f"states-{name}.svg"


def block(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(\n\n)", re.DOTALL)


@pytest.mark.parametrize("name", MACHINES)
def test_the_page_has_every_transition(name: str) -> None:
    match = block(name).search(PAGE.read_text())
    assert match is not None
    assert match[2] == rows(MACHINES[name])


@pytest.mark.parametrize("name", MACHINES)
def test_the_drawing_has_every_transition(name: str) -> None:
    assert drawn(image(name).read_text()) == arrows(MACHINES[name])


@pytest.mark.parametrize("states", [WorkerState, RunState, GroupState])
def test_the_page_explains_every_state(states: type[StrEnum]) -> None:
    text = PAGE.read_text()
    assert [state for state in states if f"| `{state}` |" not in text] == []


def main() -> None:
    text = PAGE.read_text()
    for name, machine in MACHINES.items():
        written = rows(machine)
        text = block(name).sub(lambda match, written=written: match[1] + written + match[3], text)
        command = ["dot", "-Tsvg", "-o", str(image(name))]
        subprocess.run(command, input=drawing(machine), text=True, check=True)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
