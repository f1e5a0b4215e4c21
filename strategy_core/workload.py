"""A workload file, loaded: its functions with the run's options filled in, its mistakes explained.

A file must have `build_model` and `build_dataset`; the other functions have defaults. Options of
the run (`workload_options`) fill the keyword-only parameters of the functions that have them.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from profiles.errors import SpecError
from strategy_core import workloads
from strategy_core.user_code import explained

Function = Callable[..., Any]
_BUILDERS = ("build_model", "build_dataset", "build_optimizer")


@dataclass(frozen=True)
class Workload:
    """What a workload file says, ready to be called."""

    name: str
    path: Path
    build_model: Function
    build_dataset: Function
    build_optimizer: Function
    loss_fn: Function
    train_step: Function | None


def load(name_or_path: str, options: Mapping[str, Any] | None = None) -> Workload:
    """The workload with its options filled in; raises SpecError in the user's words."""
    path = workloads.find(name_or_path)
    module = _import(path)
    functions = {name: _function(module, name, path) for name in _BUILDERS}
    bound = _fill_options(functions, dict(options or {}), name_or_path)
    return Workload(
        name=name_or_path,
        path=path,
        build_model=bound["build_model"],
        build_dataset=bound["build_dataset"],
        build_optimizer=bound["build_optimizer"],
        loss_fn=getattr(module, "loss_fn", default_loss),
        train_step=getattr(module, "train_step", None),
    )


def default_optimizer(*, learning_rate: float = 1e-3) -> Any:
    """Adam, for a workload that names no optimizer."""
    return keras.optimizers.Adam(learning_rate)


def default_loss(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Loss of each example: cross-entropy of logits for whole-number labels, else squared error."""
    if labels.dtype.is_integer:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
    else:
        losses = tf.math.squared_difference(tf.cast(labels, outputs.dtype), outputs)
    return tf.reduce_mean(tf.reshape(losses, [tf.shape(losses)[0], -1]), axis=1)


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"workload_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with explained(path, "A workload file can be imported"):
        spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, name: str, path: Path) -> Function:
    function = getattr(module, name, None)
    if function is None and name == "build_optimizer":
        return default_optimizer
    if not callable(function):
        raise SpecError(
            "A workload file has the functions build_model() and "
            "build_dataset(global_batch_size, seed)",
            f"{path} without {name}",
            field="workload",
        )
    return function


def _fill_options(
    functions: Mapping[str, Function], options: dict[str, Any], workload: str
) -> dict[str, Function]:
    """Each function with those of the options that it takes as keyword-only parameters."""
    takes = {name: _keyword_only(function) for name, function in functions.items()}
    known = sorted({option for taken in takes.values() for option in taken})
    for option in options:
        if option not in known:
            raise SpecError(
                f"'{workload}' has the options: {', '.join(known) or 'none'}",
                option,
                field=f"workload_options.{option}",
            )
    return {
        name: partial(function, **{key: options[key] for key in takes[name] if key in options})
        for name, function in functions.items()
    }


def _keyword_only(function: Function) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
