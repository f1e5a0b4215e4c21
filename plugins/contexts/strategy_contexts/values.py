"""Describe a value that crosses a context: its kind, and each component with its device.

`locality` uses the terms of StrategyExtended: T (each replica has its own value), M (the same on
every replica), V(v) (a copy on each device of variable v); "" for plain Python.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

MAX_NUMBERS = 8
"""Values with up to this many numbers are recorded; larger ones by shape only."""

MAX_ITEMS = 12


@dataclass(frozen=True, slots=True)
class Component:
    """One tensor of a value. `value` is None if it is large or symbolic; `reason` says which."""

    device: str
    shape: list[int | None] | None
    dtype: str
    replica: int | None = None
    value: Any = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ValueSeen:
    """A value as it crossed a context; `kind` is its class name in tf.distribute."""

    kind: str
    locality: str
    components: list[Component] = field(default_factory=list)
    name: str | None = None
    text: str | None = None
    items: list[tuple[str, ValueSeen]] = field(default_factory=list)


def describe(value: Any, beside: Any = None) -> ValueSeen:
    """Describe `value` without keeping it alive; `beside` is the variable whose devices it has."""
    if isinstance(value, tf.distribute.DistributedValues):
        return _distributed(value, beside)
    if isinstance(value, tf.Variable):
        return ValueSeen("Variable", f"V({_name(value)})", [_component(value)], name=_name(value))
    if isinstance(value, tf.Tensor):
        return ValueSeen("Tensor", "T", [_component(value)])
    kind = type(value).__name__
    items = _items(value)
    if items is None:
        return ValueSeen(kind, "", text=_short(value))
    described = [(name, describe(item)) for name, item in items[:MAX_ITEMS]]
    return ValueSeen(kind, "", items=described)


def _items(value: Any) -> list[tuple[str, Any]] | None:
    """The named components of a structure; None if the value is not a structure."""
    if isinstance(value, tf.IndexedSlices):
        return [("values", value.values), ("indices", value.indices)]
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [(str(index), item) for index, item in enumerate(value)]
    return None


def _distributed(value: Any, beside: Any) -> ValueSeen:
    parts = list(getattr(value, "values", ()))
    components = [_component(part, replica) for replica, part in enumerate(parts)]
    kind = type(value).__name__
    name = _name(value)
    home = name or _name(beside)
    locality = f"V({home})" if home else "M" if kind == "Mirrored" else "T"
    return ValueSeen(kind, locality, components, name=name)


def _name(value: Any) -> str | None:
    return str(value.name).removesuffix(":0") if isinstance(value, tf.Variable) else None


def _component(value: Any, replica: int | None = None) -> Component:
    if not isinstance(value, tf.Tensor | tf.Variable):
        return Component("", None, type(value).__name__, replica, _short(value))
    shape = value.shape.as_list() if value.shape.rank is not None else None
    dtype = value.dtype.base_dtype.name
    device = _device(value)
    numbers, reason = _numbers(value, shape)
    return Component(device, shape, dtype, replica, numbers, reason)


def _device(value: Any) -> str:
    # An eager tensor may be a copy on the host; its backing device is where the original is.
    return str(getattr(value, "backing_device", "") or getattr(value, "device", "") or "")


def _numbers(value: Any, shape: list[int | None] | None) -> tuple[Any, str | None]:
    if shape is None or None in shape:
        return None, "its shape is known only when the step runs"
    if math.prod(size for size in shape if size is not None) > MAX_NUMBERS:
        return None, "larger than is recorded"
    if not tf.executing_eagerly():
        return None, "symbolic: the function is being traced, no numbers exist yet"
    tensor = value.read_value() if isinstance(value, tf.Variable) else value
    if not hasattr(tensor, "numpy"):
        return None, "symbolic: it belongs to a function that is being traced"
    return _plain(tensor.numpy()), None


def _plain(array: Any) -> Any:
    numbers = np.asarray(array)
    if numbers.dtype.kind in "SO":
        return _short(array)
    return _finite(numbers.tolist())


def _finite(numbers: Any) -> Any:
    """The numbers, with the text of those that JSON does not have: `nan`, `inf`."""
    if isinstance(numbers, list):
        return [_finite(number) for number in numbers]
    is_number = not isinstance(numbers, float) or math.isfinite(numbers)
    return numbers if is_number else str(numbers)


def _short(value: Any) -> str:
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if not isinstance(value, bool | int | float | str | bytes | enum.Enum | None):
        return ""  # the text of an unknown object may take long to compute; its kind is enough
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
