"""The private TensorFlow that the TPU emulation needs: all of it, with the reason for each.

There is no public way to see a TPU cluster's graph before it goes to XLA, which is what an
emulation needs. A name that a future TensorFlow moves costs the emulation alone: importing this
module then raises LabError, and only TPU strategies import it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from strategy_core.private_tf.availability import required


def _tf(path: str) -> Any:
    return required(f"tensorflow.python.{path}", "The TPU emulation")


# The sharding annotations that `experimental_split_to_logical_devices` and its siblings write.
xla_sharding = _tf("compiler.xla.experimental.xla_sharding:")

# Picks a replica's arguments and joins the replicas' results, as the stock strategy does.
distribute_utils = _tf("distribute.distribute_utils:")

# What `experimental_run_steps_on_iterator` hands to the step and returns.
MultiStepContext = _tf("distribute.input_lib:MultiStepContext")

# The stock front end: validation, errors, variables and inputs stay TensorFlow's own.
TPUExtended = _tf("distribute.tpu_strategy:TPUExtended")
TPUReplicaContext = _tf("distribute.tpu_strategy:_TPUReplicaContext")

# Tells whether code runs inside a TPU cluster that is being traced.
enclosing_tpu_context = _tf("distribute.tpu_util:enclosing_tpu_context")

# `context`: makes functions known to the runtime that are made for a check and dropped after it.
# `async_wait` waits for what runs on remote hosts. TPUExtended has it called when the program ends,
# which would then wait for ever for hosts of an emulated pod that are gone.
# `anonymous_name` names a resource that ends with its handle.
anonymous_name = _tf("eager.context:anonymous_name")
async_wait = _tf("eager.context:async_wait")
context = _tf("eager.context:context")

# The attribute that says whether XLA compiles a tf.function: see `do_not_compile_callers`.
XLA_COMPILE = _tf("eager.polymorphic_function.attributes:XLA_COMPILE")
_create_concrete_function = _tf(
    "eager.polymorphic_function.tracing_compilation:_create_concrete_function"
)

# The scratch graph that a cluster is traced into, and the graphs of function bodies.
FuncGraph = _tf("framework.func_graph:FuncGraph")

# The body of a legacy function (`Defun`), which has a definition but no graph: `tf.nn.ctc_loss`.
function_def_to_graph = _tf("framework.function_def_to_graph:function_def_to_graph")

# Which op types XLA compiles, for which types: the registry that XLA's own check looks into.
get_all_registered_kernels = _tf("framework.kernels:get_all_registered_kernels")

# Constant folding of an operand, as `tf.get_static_value`, also for tensors in foreign graphs.
constant_value = _tf("framework.tensor_util:constant_value")

# The cross-replica primitives that replica code reaches through its context.
all_to_all = _tf("tpu.ops.tpu_ops:all_to_all")

# `replicate` traces a function as a TPU cluster; the two names are the marks it leaves behind.
XLAOptions = _tf("tpu.tpu:XLAOptions")
replicate = _tf("tpu.tpu:replicate")

# Flattening as the stock strategy flattens (composite tensors, attrs classes).
nest = _tf("util.nest:")

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
    """Return the function `name` known to one of `graphs` or to a graph that encloses it."""
    for graph in graphs:
        scope = graph
        while scope is not None:
            if scope._is_function(name):
                return scope._get_function(name)
            scope = getattr(scope, "outer_graph", None)
    return None


def body_of(function: Any) -> Any:
    """Return the graph of a function's body. For a legacy function it is built again per call."""
    graph = getattr(function, "graph", None)
    if graph is not None:
        return graph
    with tf.Graph().as_default() as around:
        function.add_to_graph(around)  # and the functions that it calls, by their names as op types
        return function_def_to_graph(function.cached_definition)


@contextmanager
def functions_known(definitions: Sequence[Any]) -> Iterator[None]:
    """Register FunctionDefs with the eager runtime, and remove them at the end of the block."""
    added = []
    try:
        for definition in definitions:
            context().add_function_def(definition)
            added.append(definition.signature.name)
        yield
    finally:
        for name in added:
            context().remove_function(name)


def variable_spec(handle: tf.Tensor) -> tf.TensorSpec | None:
    """Shape and type of the variable that a resource handle refers to; None for other resources."""
    data = getattr(handle, "_handle_data", None)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return None
    held = data.shape_and_type[0]
    if held.dtype in (tf.variant.as_datatype_enum, tf.resource.as_datatype_enum):
        return None
    return tf.TensorSpec(tf.TensorShape(held.shape), held.dtype)


def shadow_variable(handle: tf.Tensor, spec: tf.TensorSpec, device: str) -> tf.Tensor:
    """Handle of a new variable of zeros on `device`, of the kind that `handle` refers to.

    A `tf.Variable` would go through the creators of the strategy's scope and of the tf.function
    around. The variable ends with its handle, as its shared name asks.
    """
    with tf.init_scope(), tf.device(device):
        made = tf.raw_ops.VarHandleOp(
            dtype=spec.dtype, shape=spec.shape, shared_name=anonymous_name()
        )
        tf.raw_ops.AssignVariableOp(resource=made, value=tf.zeros(spec.shape, spec.dtype))
    made._handle_data = handle._handle_data
    return made


def do_not_compile_callers() -> None:
    """Drop `jit_compile=True` from every tf.function that is being traced around this call.

    Whether a function is compiled is an attribute that `tracing_compilation` gives it once it is
    traced. No hook of TensorFlow reaches that attribute while the trace goes on, so it is looked up
    in the frames that trace. A retrace finds it gone, which is what is wanted.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _create_concrete_function.__code__:
            attributes = frame.f_locals["tracing_options"].attributes
            if attributes and attributes.get(XLA_COMPILE):
                attributes[XLA_COMPILE] = False
        frame = frame.f_back  # type: ignore[assignment]


def know_function(function: Any) -> None:
    """Make a function, and those it calls, known to the current graph."""
    tf.compat.v1.get_default_graph()._add_function_recursive(function)


def cluster_graph(name: str) -> Any:
    """Return a graph to trace a cluster into, without automatic control dependencies.

    Loop and branch bodies order their side effects themselves. The caller's graph orders those of
    the cluster: it receives the ops in the order in which they were traced.
    """
    graph = FuncGraph(name)
    graph._add_control_dependencies = True
    return graph


def reductions_of_outputs(steps: Any) -> Mapping[str, Any]:
    """Return how each output of a step is reduced, by its name; None for one that is not.

    A `MultiStepContext` has a public property for its outputs only.
    """
    reductions: Mapping[str, Any] = steps._last_step_outputs_reduce_ops
    return reductions


def set_last_outputs(steps: Any, outputs: Mapping[str, Any]) -> None:
    """Set the outputs that a `MultiStepContext` returns; its public property cannot be set."""
    steps._set_last_step_outputs(dict(outputs))


__all__ = [
    "XLA_COMPILE",
    "FuncGraph",
    "MultiStepContext",
    "OpSharding",
    "TPUExtended",
    "TPUReplicaContext",
    "XLAOptions",
    "_create_concrete_function",
    "all_to_all",
    "anonymous_name",
    "async_wait",
    "body_of",
    "cluster_graph",
    "constant_value",
    "context",
    "create_op",
    "distribute_utils",
    "do_not_compile_callers",
    "enclosing_tpu_context",
    "find_function",
    "function_def_to_graph",
    "functions_known",
    "get_all_registered_kernels",
    "know_function",
    "nest",
    "reductions_of_outputs",
    "replicate",
    "set_last_outputs",
    "shadow_variable",
    "variable_spec",
    "xla_sharding",
]
