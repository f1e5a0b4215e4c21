"""Does a replica take its own examples for the global batch?

`tf.nn.compute_average_loss(losses, global_batch_size=64)` divides the sum of a replica's losses by
the examples of all replicas, because their gradients are added. If that number is the number of the
replica's own losses, each replica has a whole batch, as with `batch(64)` in a function for
`distribute_datasets_from_function`: a step of four replicas computes four batches.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from strategy_core.recorder.op_lines import program_line
from strategy_core.runtime.source_place import source_place

_DIVISION = "DivNoNan"
"""`compute_average_loss` divides by this op; other divisions may be means of a replica, which the
program divides by the number of replicas later."""


def own_batch(graph: Any) -> tuple[int, str | None] | None:
    """The number of examples by which a replica divides the sum of as many losses of its own, and
    the line; None if no op does. Functions inside the graph are not looked at."""
    for op in graph.get_operations():
        if op.type == _DIVISION and op.inputs[0].op.type == "Sum":
            losses, number = op.inputs[0].op.inputs[0], tf.get_static_value(op.inputs[1])
            if number is not None and losses.shape.rank == 1 and losses.shape[0] == number > 1:
                path, _, line = (program_line(op) or "").rpartition(":")
                return int(number), source_place(path, int(line)) if path else None
    return None
