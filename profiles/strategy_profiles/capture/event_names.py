"""The event names of a capture that the lab matches. TensorFlow does not guarantee them.

`tests/strategy_core/private_tf/test_event_names.py` checks each one against a real capture, except
those of devices: only a capture of a GPU or a TPU has them.
"""

from __future__ import annotations

import re

STEP = "train"
INPUT = "strategy-lab input"
"""Annotations that the recorder writes."""

OP = re.compile(r"(?P<node>.*[^:\s]):(?P<op>[A-Za-z_]\w*)", re.DOTALL)
"""A synchronous op, `node name:Op`; for a collective, from its launch to its end."""

ASYNC = "ExecutorState::ProcessAsync::"
"""The executor issues an asynchronous op (`...Start`), or the op completes (`...Done`)."""

GET_NEXT = re.compile(
    r"EagerLocalExecute: (IteratorGetNext|OptionalGetValue)"
    r"|IteratorGetNext(AsOptional)?Op::DoCompute"
)
"""A call that takes a batch; as an optional, if the dataset may end."""
BATCH_WAITS = ("Op::DoCompute", "IteratorGetNext")
"""In the names of those that wait until the batch is there: the first is inside of the second, or
of a traced function."""

STAGE = "Iterator::"
"""A stage of tf.data processes one element: `Iterator::Root::Prefetch::Map`."""
STAGE_ELEMENT = re.compile(r"\[\d+\]")
"""The number that tf.data gives to each input element of a FlatMap or Interleave."""

STAGE_NAME, STAGE_AUTOTUNE = "name", "autotune"
STAGE_PARALLELISM, STAGE_BUFFERED = "parallelism", "buffered_elements"
STAGE_BUFFER = ("buffer_limit", "buffer_size", "max_buffered_elements")
"""Stats of a stage: its dataset's name; `true` if autotuned; how many elements it makes at a time
(`unavailable` while another thread changes it); elements in its buffer; the buffer's limit."""

CALL = re.compile(r"EagerLocalExecute: __")
CALLED = re.compile(r"EagerLocalExecute: __(?:forward|inference|backward)_(.+?)_\d+(?:_\d+)*$")
"""A call of a traced `tf.function`, and that function's own name."""

TRACING = "tf.function-graph_building"

COMPILING = re.compile(r"(?:Cpu|Gpu)Compiler::|XlaCompile")
"""XLA compiles a function. Only the CPU's are checked: others are as XLA's source has them."""

DEVICE_PLANE = re.compile(r"/device:((?:GPU|TPU):\d{1,5})(?: \(.*\))?$")
STREAM, XLA_OPS = "Stream", ("XLA Ops", "Async XLA Ops")
"""In the name of a GPU's line of executed kernels; a TPU core's lines of executed instructions.
Other lines are derived from these."""

PROFILE_START, PROFILE_STOP = b"profile_start_time", b"profile_stop_time"
STEP_NUMBER, STEP_ID, INSTANCE_KEY = "step_num", "step_id", "instance_key"
NODE, KERNEL, TF_OP = "name", "kernel_type", "tf_op"
CORRELATION, EDGE, BUFFER_SIZE = "correlation_id", "edge_name", "buffer_size"
"""Stats of events: the step's number, the executor's step, a collective's instance; of an
asynchronous op its node and op type; of a kernel the op that launched it; of a kernel and its
launch the id they share; of a copy the edge whose tensor it moves; of NCCL's kernel its output's
bytes."""


def split_op_name(text: str) -> tuple[str, str] | None:
    """Split `dense/MatMul:MatMul` into node `dense/MatMul` and op `MatMul`.

    Returns None for a name of another form.
    """
    match = OP.fullmatch(text)
    return (match["node"], match["op"]) if match else None
