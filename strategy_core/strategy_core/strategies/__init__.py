"""Strategies: one file each, with how it looks on the page and how it is built.

`strategies/one_device.py` is `one-device`. The first paragraph of its docstring and its constants
are read without running it (`StrategyRow` in `planning/strategy_catalog.py`); `build` makes the
strategy. One that has `reduce_by` can change how its steps reduce while it stays; the events of
`step_events` are recorded once a step is traced, and `own_loop` runs steps that no loop of the lab
can. Packages add strategies by entry points of the group `strategy_lab.strategies`. What other code
must know of a strategy is a trait of its row; no other file compares names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from strategy_core.planning import strategy_catalog
from strategy_core.planning.collective_algorithms import Algorithm
from strategy_core.runtime.library_files import count_as_lab
from strategy_profiles.run.events import Event
from strategy_profiles.spec.run_spec import RunSpec

__path__ += [str(folder) for folder in strategy_catalog.folders() if str(folder) not in __path__]


def build(spec: RunSpec, devices: Sequence[str], algorithm: Algorithm) -> Any:
    """The tf.distribute.Strategy of `spec` on `devices` (one full name per replica).

    `algorithm` is how gradients cross devices, decided and checked before. Raises SpecError.
    """
    return _file_of(spec).build(spec, devices, algorithm)


def reduce_by(strategy: Any, spec: RunSpec, algorithm: Algorithm) -> None:
    """Have a strategy reduce as `spec` asks, in steps that are traced from now on.

    Nothing is done to those that have no choice once they are there.
    """
    if strategy_catalog.row(spec.strategy).can_change_reduction:
        _file_of(spec).reduce_by(strategy, spec, algorithm)


def step_events(strategy: Any, spec: RunSpec, segment: int) -> Iterable[Event]:
    """What the strategy's file says of the traced step of a segment, by its `step_events`."""
    say = getattr(_file_of(spec), "step_events", None)
    return say(strategy, segment) if say else ()


def own_loop(spec: RunSpec) -> Any:
    """The `OwnLoop` of `training.own_loop` that a strategy's file has; None if it has none."""
    return getattr(_file_of(spec), "own_loop", None)


def _file_of(spec: RunSpec) -> ModuleType:
    module = import_module(strategy_catalog.row(spec.strategy).module)
    if not module.__name__.startswith(__name__):  # of a package that adds it
        count_as_lab(Path(str(module.__file__)).parent)
    return module
