"""The strategies, one row each: what it is, what it needs, why it cannot run here if it cannot.

Free of TensorFlow: the page and the command line list it. The rows are read from the files of
`strategies/` without running them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from strategy_core.planning.inventory import Inventory
from strategy_lab.profiles.errors import SpecError

_FILES = Path(__file__).parents[1] / "strategies"
_SAID = ("TITLE", "NEEDS", "LINK", "PLACE", "KINDS")


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A strategy as the page shows it."""

    name: str
    title: str
    explanation: str
    needs: str
    link: str
    place: int
    """On the page, from the left."""
    kinds: tuple[str, ...] = ("CPU", "GPU", "TPU")
    """Kinds of device that it can run on."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A row, and whether it can be had here: `reason` says why not."""

    row: StrategyRow
    reason: str | None

    @property
    def available(self) -> bool:
        return self.reason is None


def offers(inventory: Inventory) -> list[Offer]:
    """Every strategy, judged by the devices that are there."""
    return [Offer(row, why_not(row, inventory)) for row in rows()]


def why_not(row: StrategyRow, inventory: Inventory) -> str | None:
    """Why a strategy cannot run on the devices that are there; None where it can."""
    if any(inventory.count(kind) for kind in row.kinds):
        return None
    return f"It needs {row.needs}, and this machine has no {' and no '.join(row.kinds)}"


@cache
def rows() -> tuple[StrategyRow, ...]:
    """Every strategy, in the order of the page."""
    files = (path for path in _FILES.glob("*.py") if not path.name.startswith("_"))
    return tuple(sorted((read_row(path) for path in files), key=lambda row: (row.place, row.name)))


def names() -> tuple[str, ...]:
    """The names of all strategies, in the order of the page."""
    return tuple(row.name for row in rows())


def row(name: str) -> StrategyRow:
    """The row of that name; raises SpecError where there is none."""
    for each in rows():
        if each.name == name:
            return each
    raise SpecError(
        "A strategy is one that the lab can run",
        repr(name),
        f"Those are {', '.join(names())}",
        field="strategy",
    )


def read_row(path: Path) -> StrategyRow:
    """The row of a strategy's file, which is not run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said: dict[str, Any] = {
        target.id.lower(): ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in _SAID
    }
    explanation = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    return StrategyRow(
        name=path.stem.replace("_", "-"), explanation=" ".join(explanation.split()), **said
    )
