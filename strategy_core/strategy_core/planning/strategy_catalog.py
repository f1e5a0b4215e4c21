"""The strategies, one row each: what it is, what it needs, why it cannot run here if it cannot.

Free of TensorFlow: the page and the command line list it. The rows are read from the strategies'
files without running them.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal

from strategy_core.planning.inventory import Inventory
from strategy_profiles.decoders import converted
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.guards import parse_program
from strategy_profiles.registered import Registered, registered
from strategy_profiles.spec.run_spec import CROSS_DEVICE_OPS
from strategy_profiles.user_input.text import quoted

COLLECTIVES = ("collective-ring", "nccl")
ALGORITHMS = tuple(name for name in CROSS_DEVICE_OPS if name != "auto")
OWN_FOLDER = "STRATEGY_LAB_STRATEGIES"
"""Environment variable: absolute path of a folder with further strategies, a file each."""


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A strategy as its file describes it: what the page shows, and what the lab asks of it.

    Other code asks for these traits and never for a strategy's name.
    """

    name: str
    title: str
    explanation: str
    needs: str
    link: str
    place: int
    """On the page, from the left."""
    kinds: tuple[Literal["CPU", "GPU", "TPU"], ...] = ("CPU", "GPU", "TPU")
    """Kinds of device that it can run on."""
    runs_in: Literal["one", "several", "either"] = "one"
    """Number of processes. `either` takes several if the spec has several workers."""
    has_coordinator: bool = False
    """Whether the first of several processes runs the steps and sends the others their work.
    Otherwise the processes are peers."""
    has_servers: bool = False
    """Whether variables are on parameter servers, and each worker does steps of its own."""
    has_cores: bool = False
    """Whether devices are TPU cores, real or emulated, in groups of `tpu.cores_per_replica`."""
    has_central_copy: bool = False
    """Whether one copy of the variables serves all replicas, on a device that may have none."""
    has_one_replica: bool = False
    takes_first_device: bool = False
    """Whether TensorFlow places the ops itself, on the first device of the machine."""
    algorithms: tuple[str, ...] = ALGORITHMS
    """How gradients can cross its devices. With one of them, `cross_device_ops` has no effect."""
    no_choice: str = ""
    """Why there is only one."""
    no_xla: str = ""
    """Why `xla` does not work under it, or has no effect; empty if it works."""
    known_as: tuple[str, ...] = ()
    """Class names, in part, by which `lab.record` recognises it, beside the title."""

    can_change_reduction: bool = False
    """Whether the strategy can change how steps reduce without being rebuilt (`reduce_by`)."""
    module: str = ""
    """Of the file, where the strategy is built."""

    @property
    def has_choice(self) -> bool:
        """Whether `cross_device_ops` has an effect."""
        return len(self.algorithms) > 1

    @property
    def packs_by_size(self) -> bool:
        """Whether all algorithms are collectives, which take `bytes_per_pack`, not `num_packs`."""
        return set(self.algorithms) <= set(COLLECTIVES)

    def is_cluster(self, num_workers: int) -> bool:
        """Whether a run with `num_workers` workers takes several processes."""
        return self.runs_in == "several" or (self.runs_in == "either" and num_workers > 1)


@dataclass(frozen=True, slots=True)
class Offer:
    """A strategy of the catalog; `reason` says why it is not available here, if so."""

    row: StrategyRow
    reason: str | None

    @property
    def available(self) -> bool:
        return self.reason is None


def offers(inventory: Inventory) -> list[Offer]:
    """Return every strategy, with whether the devices of the inventory suffice."""
    return [Offer(row, why_not(row, inventory)) for row in rows()]


def why_not(row: StrategyRow, inventory: Inventory) -> str | None:
    """Return why a strategy cannot run on the devices of the inventory; None if it can."""
    if any(inventory.count(kind) for kind in row.kinds):
        return None
    return f"it needs {row.needs}, and this machine has no {' and no '.join(row.kinds)}"


@cache
def rows() -> tuple[StrategyRow, ...]:
    """Every strategy, in the order of the page."""
    files: dict[str, Path] = {}
    for folder in folders():  # Python imports a file of that name from the first folder, too
        for path in folder.glob("[!_]*.py"):
            files.setdefault(path.stem, path)
    every = [*map(read_row, files.values()), *_added({_name_of(path) for path in files.values()})]
    return tuple(sorted(every, key=lambda row: (row.place, row.name)))


def _added(known: set[str]) -> Iterator[StrategyRow]:
    """What packages add and can be read; a file that is not there is left out."""
    for name, item in registered("strategies").items():
        if name not in known:
            with suppress(LabError):
                yield read_row(item.file(), item)


def _name_of(path: Path) -> str:
    return path.stem.replace("_", "-")


def folders() -> list[Path]:
    """Where the strategies' files are: in the package, then in the user's own folder."""
    own = os.environ.get(OWN_FOLDER)
    if own and not (Path(own).is_absolute() and Path(own).is_dir()):
        raise LabError(f"{OWN_FOLDER}={own} is not the absolute path of a folder")
    return [Path(__file__).parents[1] / "strategies", *([Path(own)] if own else [])]


def names() -> tuple[str, ...]:
    """The names of all strategies, in the order of the page."""
    return tuple(row.name for row in rows())


def find(name: str | None) -> StrategyRow | None:
    """The row of that name; None for a strategy that is not installed here."""
    return next((row for row in rows() if row.name == name), None)


def first_in_cluster(*, has_servers: bool) -> StrategyRow:
    """Return the first strategy that needs several processes, with parameter servers or without.

    With servers, one process coordinates; without, the processes are peers. Raises LabError if none
    is installed.
    """
    for row in rows():
        if row.runs_in == "several" and row.has_servers == row.has_coordinator == has_servers:
            return row
    raise LabError("No strategy for such a cluster is installed")


def row(name: str) -> StrategyRow:
    """The row of that name; raises SpecError for an unknown one."""
    known = find(name)
    if known is not None:
        return known
    raise SpecError(
        f"There is no strategy {quoted(name)}",
        advice=f"Choose one of {', '.join(names())}",
        field="strategy",
    )


def read_row(path: Path, added: Registered | None = None) -> StrategyRow:
    """The row of a strategy's file, which is not run; `added` is the entry point that names it."""
    try:
        tree = parse_program(path)
        card: dict[str, Any] = {
            target.id.lower(): ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id in _ON_CARD
        }
        explanation = (ast.get_docstring(tree) or "").partition("\n\n")[0]
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        card |= {
            "name": added.name if added else _name_of(path),
            "module": added.value if added else f"strategy_core.strategies.{path.stem}",
            "explanation": " ".join(explanation.split()),
            "can_change_reduction": "reduce_by" in functions,
        }
        return converted(card, StrategyRow)
    except (OSError, SyntaxError, ValueError) as error:
        raise LabError(f"The card of the strategy in {path} cannot be read: {error}") from None


_ON_CARD = {field.name.upper() for field in fields(StrategyRow)}
_ON_CARD -= {"NAME", "EXPLANATION", "CAN_CHANGE_REDUCTION", "MODULE"}
