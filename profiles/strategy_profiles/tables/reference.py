"""What a row of each table is, and the type of a column, in words."""

from __future__ import annotations

import pyarrow as pa

from strategy_profiles.tables.schema import Column

_TYPES = {
    pa.int32(): "integer",
    pa.int64(): "integer",
    pa.float64(): "number",
    pa.bool_(): "boolean",
}

ROWS = {
    "segments": "configuration in force",
    "steps": "step",
    "marks": "step and replica, on every step that has timestamps inside the graph",
    "replica_steps": "captured step and replica",
    "core_steps": "captured step, replica and logical core, under a TPU's strategy",
    "collectives": "captured step, collective and rank",
    "transfers": "captured step and tensor that was sent from one device to another",
    "causes": "captured step and what held it up, as far as a capture can name it",
    "input_stages": "captured step and stage of tf.data that delivered an element in it",
    "tensors": "tensor of a capture's last step that is held on a device",
    "placement": "op or variable of a segment",
    "spans": "op event of a capture",
    "contexts": "context entered, or call that crosses one",
    "closures": "step of parameter servers' workers, as the worker that did it timed it",
    "served": "variable on a parameter server, or part of one",
    "memory": "sample of a device or process",
    "account": "row of the account of a segment's time",
    "resources": "sample of the CPUs and process of the run",
    "links": "reading of the bytes that two processes exchanged so far",
}
"""What a row of each table is."""


def type_name(column: Column) -> str:
    """The type of a column as a reader thinks of it: integer, number, boolean or text."""
    return _TYPES.get(column.kind.type, "text")
