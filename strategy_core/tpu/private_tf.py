"""The private TensorFlow that the TPU emulation stands on: all of it, with the reason for each.

There is no public way to see a TPU cluster's graph before it goes to XLA, which is what an
emulation needs. Everything else in this package uses public TensorFlow. A name that moves in a
future TensorFlow fails here, at import, and `tests/strategy_core/tpu/test_tpu_private_tf.py` says
which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

# The sharding annotations that `experimental_split_to_logical_devices` and its siblings write.
from tensorflow.python.compiler.xla.experimental import xla_sharding

# Picks a replica's arguments and joins the replicas' results, as the stock strategy does.
from tensorflow.python.distribute import distribute_utils

# What `experimental_run_steps_on_iterator` hands to the step and returns.
from tensorflow.python.distribute.input_lib import MultiStepContext

# The stock front end: validation, errors, variables and inputs stay TensorFlow's own.
from tensorflow.python.distribute.tpu_strategy import TPUExtended, _TPUReplicaContext

# Tells whether code runs inside a TPU cluster that is being traced.
from tensorflow.python.distribute.tpu_util import enclosing_tpu_context

# Waits for what runs on remote hosts. TPUExtended has it called when the program ends, which would
# then wait for ever for hosts of an emulated pod that are gone.
from tensorflow.python.eager.context import async_wait

# The scratch graph that a cluster is traced into, and the graphs of function bodies.
from tensorflow.python.framework.func_graph import FuncGraph

# Constant folding of an operand, as `tf.get_static_value`, also for tensors in foreign graphs.
from tensorflow.python.framework.tensor_util import constant_value

# The cross-replica primitives that replica code reaches through its context.
from tensorflow.python.tpu.ops.tpu_ops import all_to_all

# `replicate` traces a function as a TPU cluster; the two names are the marks it leaves behind.
from tensorflow.python.tpu.tpu import XLAOptions, replicate

# Flattening as the stock strategy flattens (composite tensors, attrs classes).
from tensorflow.python.util import nest

OpSharding = type(xla_sharding.Sharding.replicate().proto)


def create_op(
    template: tf.Operation,
    inputs: Sequence[tf.Tensor],
    dtypes: Sequence[tf.DType],
    name: str,
    attrs: Mapping[str, Any],
    device: str,
    keep_handles: bool = True,
) -> tf.Operation:
    """A copy of `template` in the current graph.

    `tf.Graph.create_op` is public but deprecated and, with a device scope around each call,
    three times as slow; tracing a model creates tens of thousands.
    """
    graph = tf.compat.v1.get_default_graph()
    new = graph._create_op_internal(
        template.type, inputs, dtypes, name=name, attrs=attrs, op_def=template.op_def
    )
    if device:
        new._set_device_from_string(device)
    for old_output, new_output in zip(template.outputs, new.outputs, strict=True):
        # What a resource or variant holds travels beside the graph, not in it.
        handle_data = getattr(old_output, "_handle_data", None)
        if keep_handles and handle_data is not None:
            new_output._handle_data = handle_data
    return new


def find_function(name: str, graphs: Sequence[Any]) -> Any | None:
    """The function called `name` that one of the graphs, or a graph around it, knows."""
    for graph in graphs:
        scope = graph
        while scope is not None:
            if scope._is_function(name):
                return scope._get_function(name)
            scope = getattr(scope, "outer_graph", None)
    return None


def know_function(function: Any) -> None:
    """Make a function, and those it calls, known to the current graph."""
    tf.compat.v1.get_default_graph()._add_function_recursive(function)


__all__ = [
    "FuncGraph",
    "MultiStepContext",
    "OpSharding",
    "TPUExtended",
    "XLAOptions",
    "_TPUReplicaContext",
    "all_to_all",
    "async_wait",
    "constant_value",
    "create_op",
    "distribute_utils",
    "enclosing_tpu_context",
    "find_function",
    "know_function",
    "nest",
    "replicate",
    "xla_sharding",
]
