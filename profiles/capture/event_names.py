"""The names in a capture that the lab matches: TensorFlow gives them, and may change them.

`tests/strategy_core/private_tf/test_event_names.py` looks for each one in a real capture.
"""

from __future__ import annotations

import re

STEP = "train"
INPUT = "strategy-lab input"
"""Annotations of the recorder itself."""

OP = re.compile(r"(?P<node>.*[^:\s]):(?P<op>[A-Za-z_]\w*)", re.DOTALL)
"""A synchronous op, `node name:Op`; for a collective, from its launch to its end."""

ASYNC = "ExecutorState::ProcessAsync::"
"""Where the executor issues an asynchronous op (`...Start`) and where it is done (`...Done`)."""

GET_NEXT = re.compile(
    r"EagerLocalExecute: (IteratorGetNext|OptionalGetValue)|IteratorGetNextOp::DoCompute"
)
"""A call that waits for a batch."""

STAGE = "Iterator::"
"""One stage of tf.data at work on one element: `Iterator::Root::Prefetch::Map`."""
STAGE_ELEMENT = re.compile(r"\[\d+\]")
"""tf.data numbers the elements from which a FlatMap or Interleave makes its iterators."""

CALL = re.compile(r"EagerLocalExecute: __")
CALLED = re.compile(r"EagerLocalExecute: __(?:forward|inference|backward)_(.+?)_\d+(?:_\d+)*$")
"""A call of a traced `tf.function`, and that function's own name."""

TRACING = "tf.function-graph_building"

DEVICE_PLANE = re.compile(r"/device:(GPU:\d+)")
STREAM = "Stream"
"""In the name of a device's line: what ran there. Other lines are derived from these."""

PROFILE_START, PROFILE_STOP = b"profile_start_time", b"profile_stop_time"
STEP_NUMBER, STEP_ID, INSTANCE_KEY = "step_num", "step_id", "instance_key"
NODE, KERNEL, TF_OP = "name", "kernel_type", "tf_op"
"""Stats of events: the step's number, the executor's step, a collective's instance; of an
asynchronous op its node and op type; of a kernel the op that launched it."""


def split_op_name(text: str) -> tuple[str, str] | None:
    """`dense/MatMul:MatMul` is the node `dense/MatMul` of op `MatMul`; other names are None."""
    match = OP.fullmatch(text)
    return (match["node"], match["op"]) if match else None
