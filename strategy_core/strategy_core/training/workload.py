"""Loads a workload file: fills in the run's options and explains errors in its functions.

A file must define `build_model` and `build_dataset`; the other functions have defaults. Options of
the run (`workload_options`) fill the keyword-only parameters of the functions that have them.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from strategy_core.planning import workload_catalog
from strategy_core.runtime.tensor_format import described
from strategy_core.runtime.user_errors import explained
from strategy_core.training.loss import default_loss, explaining
from strategy_profiles.errors import SpecError
from strategy_profiles.user_input.text import quoted

Function = Callable[..., Any]
_BUILDERS = ("build_model", "build_dataset", "build_optimizer")
_POSITION = "first_example"
"""Keyword of a `build_dataset` whose stream can start anywhere. Set by the lab, not the user."""


@dataclass(frozen=True)
class Workload:
    """The functions of a workload file, ready to be called."""

    name: str
    path: Path
    build_model: Function
    build_dataset: Function
    is_built_in: bool
    """Whether the workload is one of the lab's own, whose data needs no check."""
    can_start_anywhere: bool
    """Whether `build_dataset` takes `first_example`."""
    build_optimizer: Function
    loss_fn: Function
    train_step: Function | None


def load(name_or_path: str, options: Mapping[str, Any] | None = None) -> Workload:
    """Load a workload with its options filled in; raises SpecError.

    Errors that its functions raise later become SpecErrors that name file and line.
    """
    path = workload_catalog.find(name_or_path)
    module = _import(path)
    functions = {name: _function(module, name, path) for name in _BUILDERS}
    bound = _fill_options(functions, dict(options or {}), name_or_path)
    own_loss, train_step = (
        _optional_function(module, name, path) for name in ("loss_fn", "train_step")
    )
    return Workload(
        name=name_or_path,
        path=path,
        is_built_in=not name_or_path.endswith(".py"),
        build_model=_explaining(path, "build_model", bound["build_model"]),
        build_dataset=_explaining(path, "build_dataset", bound["build_dataset"]),
        can_start_anywhere=_POSITION in _keyword_only(functions["build_dataset"]),
        build_optimizer=_explaining(path, "build_optimizer", bound["build_optimizer"]),
        loss_fn=explaining(path, own_loss or default_loss),
        train_step=train_step and _train_step(path, train_step),
    )


def default_optimizer(*, learning_rate: float = 1e-3) -> Any:
    """Adam, for a workload that does not define an optimizer."""
    return keras.optimizers.Adam(learning_rate)


def _import(path: Path) -> ModuleType:
    name = f"workload_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # AutoGraph looks up a function's module there
    with explained(path, f"Importing {path.name}"):
        spec.loader.exec_module(module)
    return module


def _explaining(path: Path, name: str, function: Function) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        with explained(path, f"{name} of {path.name}"):
            return function(*args, **kwargs)

    return call


def _train_step(path: Path, function: Function) -> Function:
    """The same step, which returns one number or raises SpecError."""
    explaining_step = _explaining(path, "train_step", function)

    def call(*args: Any) -> Any:
        loss = explaining_step(*args)
        is_number = isinstance(loss, int | float) or (tf.is_tensor(loss) and loss.shape.rank == 0)
        if not is_number:
            raise SpecError(
                f"train_step of {path.name} returned "
                f"{described(loss) if tf.is_tensor(loss) else type(loss).__name__}, not one "
                "scalar loss",
                advice="Return the mean loss of the replica's examples",
                field="workload",
            )
        return loss

    return call


def _function(module: ModuleType, name: str, path: Path) -> Function:
    function = getattr(module, name, None)
    if function is None and name == "build_optimizer":
        return default_optimizer
    if not callable(function):
        raise SpecError(
            f"{path} has no function {name}",
            advice="Define build_model() and build_dataset(global_batch_size, seed)",
            field="workload",
        )
    return function


def _optional_function(module: ModuleType, name: str, path: Path) -> Function | None:
    """A function that a file may omit, or None."""
    function = getattr(module, name, None)
    if function is not None and not callable(function):
        raise SpecError(f"{name} = {function!r} of {path} is not a function", field="workload")
    return function


def _fill_options(
    functions: Mapping[str, Function], options: dict[str, Any], workload: str
) -> dict[str, Function]:
    """Each function with the options that it takes as keyword-only parameters."""
    takes = {name: _keyword_only(function) for name, function in functions.items()}
    known = sorted({option for taken in takes.values() for option in taken} - {_POSITION})
    for option in options:
        if option not in known:
            raise SpecError(
                f"{workload} has no option {quoted(option)}",
                advice=f"Its options: {', '.join(known) or 'none'}",
                field=f"workload_options.{option}",
            )
    return {
        name: partial(function, **{key: options[key] for key in takes[name] if key in options})
        for name, function in functions.items()
    }


def _keyword_only(function: Function) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
