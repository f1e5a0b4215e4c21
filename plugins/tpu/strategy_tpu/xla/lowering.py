"""Passes a traced cluster to TensorFlow's XLA bridge and collects the ops that XLA refuses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import error_texts
from strategy_tpu import private_tf
from strategy_tpu.xla.cluster_def import ClusterDef, NotLowerableError, Scope, known_shape
from strategy_tpu.xla.compile_ir import compile_error

MAX_ERRORS = 8
"""Limit of repetitions: XLA reports one error at a time, after which the op is replaced."""

MAX_SHADOW_BYTES = 2**30
"""Limit for copies of variables on other devices, which exist while XLA checks the step."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of XLA, with the op that it names, if any."""

    message: str
    scope: Scope | None = None
    op: Any = None


@dataclass(frozen=True, slots=True)
class Lowering:
    """XLA's errors; `unchecked` says why it could not be called, or could not continue."""

    refusals: tuple[Refusal, ...]
    unchecked: str | None = None


def lower(definition: ClusterDef, stubbed: Mapping[str, set[str]], device: str) -> Lowering:
    """All errors of XLA for a cluster whose ops `stubbed` run on the host."""
    stubs = {scope: set(names) for scope, names in stubbed.items()}
    refusals: list[Refusal] = []
    for _ in range(MAX_ERRORS):
        try:
            message, guessed = _attempt(definition, stubs, device)
        except NotLowerableError as reason:
            return Lowering(tuple(refusals), str(reason))
        if message is None:
            return Lowering(tuple(refusals))
        refusal = _located(definition, message)
        if refusal.scope is None and not is_about_shapes(message):
            return Lowering(tuple(refusals), f"TensorFlow's bridge ended: {first_line(message)}")
        if guessed and not is_about_shapes(message):
            return Lowering(
                tuple(refusals),
                f"a size is only known when the step runs, and with {guessed} XLA reports: "
                f"{first_line(message)}",
            )
        if any(stubs.values()) and not is_about_shapes(message):
            return Lowering(
                tuple(refusals),
                "with placeholders for the ops that run on the host XLA reports: "
                f"{first_line(message)}",
            )
        refusals.append(refusal)
        if refusal.scope is None or refusal.op.name in stubs.get(refusal.scope.name, ()):
            break
        stubs.setdefault(refusal.scope.name, set()).add(refusal.op.name)
    return Lowering(tuple(refusals), "XLA reported too many errors")


def is_about_shapes(message: str) -> bool:
    """Whether XLA lacks a size that must be known at compile time."""
    needs = (error_texts.XLA_NEEDS_CONSTANT, error_texts.XLA_NEEDS_LIST_SIZE)
    return any(text in message for text in needs)


def first_line(message: str) -> str:
    """The first line of XLA's message."""
    return message.split("\n", 1)[0].strip().rstrip(".")


def _attempt(
    cluster: ClusterDef, stubs: Mapping[str, set[str]], device: str
) -> tuple[str | None, str | None]:
    """XLA's error, if any, and which sizes had to be guessed."""
    definition = cluster.lowerable(stubs)
    given = _Inputs(cluster.cluster, device)
    names = [name for name in cluster.output_names() if name.split(":")[0] in _names(definition)]

    def replica(*arguments: tf.Tensor) -> list[tf.Tensor]:
        return tf.graph_util.import_graph_def(
            definition, given.bound(arguments, _read(definition)), names, name=""
        )

    with tf.init_scope(), tf.device(None):
        given.find_variables(_read(definition))
        specs = given.specs(_read(definition))
        compiled = tf.function(replica, jit_compile=True, autograph=False)
        with private_tf.functions_known(definition.library.function):
            return compile_error(compiled, specs, device), given.guessed


def _located(cluster: ClusterDef, message: str) -> Refusal:
    for match in error_texts.XLA_NODE.finditer(message):
        at = cluster.find(match[1] or match[2])
        if at is not None:
            return Refusal(message, *at)
    return Refusal(message)


def _names(definition: Any) -> set[str]:
    return {node.name for node in definition.node}


def _read(definition: Any) -> set[str]:
    """Names of the nodes whose tensors some node of the graph reads."""
    return {source.split(":")[0] for node in definition.node for source in node.input}


class _Inputs:
    """The cluster's inputs: variables, constants and the step's arguments."""

    def __init__(self, cluster: Any, device: str) -> None:
        self._captures: Sequence[tuple[Any, Any]] = cluster.captures
        self._device = device
        self._handles: dict[str, Any] = {}
        self._shadow_bytes = 0
        self.guessed: str | None = None

    def find_variables(self, read: set[str]) -> None:
        """Get the handles, outside of any trace, of all variables that the cluster refers to."""
        for outer, inner in self._captures:
            if inner.op.name in read and inner.dtype == tf.resource:
                self._handles[inner.name] = self._handle(outer, inner)

    def specs(self, read: set[str]) -> list[tf.TensorSpec]:
        """Specs of the step's arguments, in the order of `bound`."""
        specs = []
        for inner in self._arguments(read):
            if inner.shape.rank is None:
                raise NotLowerableError(f"{inner.name} has no known rank")
            if not inner.shape.is_fully_defined():
                self.guessed = f"{known_shape(inner.shape)} for {inner.shape}"
            specs.append(tf.TensorSpec(known_shape(inner.shape), inner.dtype))
        return specs

    def bound(self, arguments: Sequence[tf.Tensor], read: set[str]) -> dict[str, tf.Tensor]:
        """What replaces the cluster's placeholders in the new graph, by their names."""
        bound = {}
        for argument, inner in zip(arguments, self._arguments(read), strict=True):
            bound[inner.name] = argument
        for outer, inner in self._captures:
            if inner.op.name not in read:
                continue
            if inner.dtype == tf.resource:
                bound[inner.name] = tf.identity(self._handles[inner.name])
            elif _constant(outer) is not None:
                bound[inner.name] = tf.constant(_constant(outer), inner.dtype)
        return bound

    def _arguments(self, read: set[str]) -> list[tf.Tensor]:
        return [
            inner
            for outer, inner in self._captures
            if inner.op.name in read and inner.dtype != tf.resource and _constant(outer) is None
        ]

    def _handle(self, outer: Any, inner: tf.Tensor) -> Any:
        """A variable's handle or, if XLA cannot read the variable here, that of a similar
        variable."""
        handle = _outermost(outer)
        source = inner if private_tf.variable_spec(inner) is not None else outer
        spec = private_tf.variable_spec(source)
        if spec is None:
            raise NotLowerableError(f"{inner.name} is a resource other than a variable")
        with tf.init_scope():
            is_here = handle is not None and handle.device == self._device
            if is_here and tf.raw_ops.VarIsInitializedOp(resource=handle):
                return handle
        shape = known_shape(spec.shape)
        self._shadow_bytes += math.prod(shape) * spec.dtype.size
        if self._shadow_bytes > MAX_SHADOW_BYTES:
            raise NotLowerableError("its variables are elsewhere and too large to copy here")
        return private_tf.shadow_variable(source, tf.TensorSpec(shape, spec.dtype), self._device)


def _constant(outer: Any) -> Any:
    """Value of a constant from outside: TensorFlow moves constants into the cluster."""
    if outer.dtype in (tf.resource, tf.variant, tf.string):
        return None
    return outer.numpy() if hasattr(outer, "numpy") else private_tf.constant_value(outer)


def _outermost(handle: Any) -> Any:
    """A captured handle outside of all function graphs; None if it has no value there."""
    while not hasattr(handle, "numpy"):
        captured = getattr(handle.graph, "captures", ())
        handle = next((outer for outer, inner in captured if inner is handle), None)
        if handle is None:
            return None
    return handle
