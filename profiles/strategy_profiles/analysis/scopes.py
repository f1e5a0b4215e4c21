"""Read the layer of an op from its name.

Names of a Keras model in a training step, as TensorFlow 2.21 writes them:

    replica_1/functional_1/conv2d_1/convolution                  forward, layer conv2d_1
    gradient_tape/replica_1/functional_1/conv2d_1/convolution    gradient of the same layer
    StatefulPartitionedCall/adam/update_1_3/Mul                  optimizer, from Keras fit
    ConstantFolding/gradient_tape/functional_1/...               made by Grappler
    replica_0/core_1/adam/Sub_2                                  TPUStrategy, core by core

The scopes of replicas, cores, calls, control flow and Grappler say nothing about the layer.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from msgspec import Struct

_WRAPPER = re.compile(
    r"(?:replica|core)_\d+|ConstantFolding|(?:Stateful)?PartitionedCall(?:_\d+)?"
    r"|GroupCrossDeviceControlEdges_\d+|(?:cond|while)(?:_\d+)?(?:_grad)?|then|else|body|_\d+"
)
_GRADIENT = re.compile(r"gradient_tape|gradients(?:_\d+)?")
_DEEPEST = 6
_MOST_OF_MODEL = 0.7
"""A scope that holds this share of its parent's names is the model, not one of its layers."""


class Scoped(Struct, frozen=True):
    """An op's name without the scopes that say nothing about its layer."""

    path: tuple[str, ...]
    is_gradient: bool


def scoped(name: str) -> Scoped:
    """Split a name into scopes, the op's own name last."""
    parts = name.split("/")
    is_gradient = any(_GRADIENT.fullmatch(part) for part in parts[:-1])
    path = [
        part
        for index, part in enumerate(parts)
        if index == len(parts) - 1 or not (_WRAPPER.fullmatch(part) or _GRADIENT.fullmatch(part))
    ]
    return Scoped(tuple(path), is_gradient)


def models(names: Iterable[Scoped]) -> set[tuple[str, ...]]:
    """Return the scopes whose children are layers.

    A scope is a model if two or more of its child scopes hold ops and it has a gradient. A model
    that contains little more than another one gives way to it.
    """
    children: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    with_gradient: set[tuple[str, ...]] = set()
    for name in names:
        for depth in range(min(len(name.path) - 2, _DEEPEST) + 1):
            if depth:
                children[name.path[:depth]][name.path[depth]] += 1
            if name.is_gradient:
                with_gradient.add(name.path[:depth])
    paths: set[tuple[str, ...]] = set()
    for top in [path for path in children if len(path) == 1]:
        current: tuple[str, ...] = top
        best: tuple[str, ...] | None = None
        while len(children.get(current, ())) > 1 and (
            current in with_gradient or not with_gradient
        ):
            best = current
            child, count = children[current].most_common(1)[0]
            if count < _MOST_OF_MODEL * children[current].total() or len(current) >= _DEEPEST:
                break
            current = (*current, child)
        if best is not None:
            paths.add(best)
    return paths


def layer_of(name: Scoped, of_models: set[tuple[str, ...]]) -> str | None:
    """Return the layer's scope below its model, or the outermost scope; None without a scope."""
    for depth in range(len(name.path) - 2, 0, -1):
        if name.path[:depth] in of_models:
            return name.path[depth]
    return name.path[0] if len(name.path) > 1 else None
