"""Re-emits a traced op in another graph, on another device, any number of times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from strategy_core.private_tf.engine import INDEPENDENT, run_unordered
from strategy_tpu import private_tf

_KEPT_PRIVATE_ATTRS = frozenset(
    ("_lower_using_switch_merge", "_num_original_outputs", "_read_only_resource_inputs")
)
_SEED_STRIDE = 1_000_003
"""Difference of the op seeds of neighbouring replicas: a prime, so that seeds do not coincide."""


class Template:
    """A traced op that can be created repeatedly."""

    def __init__(self, op: tf.Operation, graphs: Sequence[Any]) -> None:
        """`graphs`, innermost first, contain the functions that the op refers to.

        Private attributes (`_class`, `_output_shapes`, ...) are left out: they describe the op
        where it was traced, not where its copy is.
        """
        self.op = op
        self.type: str = op.type
        self.dtypes = [output.dtype for output in op.outputs]
        self.attrs = {
            name: value
            for name, value in op.node_def.attr.items()
            if not name.startswith("_") or name in _KEPT_PRIVATE_ATTRS
        }
        self.is_unordered = op.node_def.attr[INDEPENDENT].b  # `run_unordered` was called for it
        # Both seeds 0: TensorFlow draws one at random for each op, so copies differ anyway.
        self.is_seeded = "seed2" in self.attrs and bool(
            self.attrs["seed"].i or self.attrs["seed2"].i
        )
        names = function_names(self.attrs)
        functions = (private_tf.find_function(name, graphs) for name in names)
        self._functions = [function for function in functions if function is not None]

    def create(
        self,
        inputs: Sequence[tf.Tensor],
        device: str,
        name: str,
        replica: int = 0,
        attrs: Mapping[str, Any] | None = None,
        keep_handles: bool = True,
    ) -> tf.Operation:
        """Create the op in the current graph.

        `attrs` overrides attributes; seeds differ by replica.
        """
        for function in self._functions:
            private_tf.know_function(function)
        wanted = self.attrs if attrs is None else {**self.attrs, **attrs}
        if replica and self.is_seeded:
            seed = self.attrs["seed2"].i + _SEED_STRIDE * replica
            wanted = {**wanted, "seed2": attr(i=seed)}
        new = private_tf.create_op(self.op, inputs, self.dtypes, name, wanted, device, keep_handles)
        if self.is_unordered and new.outputs:
            run_unordered(new.outputs[0])
        return new


def function_names(attrs: Mapping[str, Any]) -> Iterator[str]:
    """Names of the functions that attributes refer to."""
    for value in attrs.values():
        if value.HasField("func"):
            yield value.func.name
        for function in value.list.func:
            yield function.name


def attr(**fields: Any) -> Any:
    """An AttrValue: `attr(s=b"VALID")`, `attr(i=3)`."""
    return tf.compat.v1.AttrValue(**fields)


def ints_attr(values: Sequence[int]) -> Any:
    """An AttrValue with a list of integers, as for strides and padding."""
    return attr(list=tf.compat.v1.AttrValue.ListValue(i=list(values)))


@contextmanager
def bare() -> Iterator[None]:
    """Without device and name scope: ops created inside are placed and named explicitly."""
    with tf.device(None), tf.name_scope(""):
        yield
