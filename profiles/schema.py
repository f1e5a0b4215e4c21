"""The tables of a run, column by column: the same for SQL, Parquet exports and analyses.

A missing value is null. `source` says where a number came from: `measured` (XPlane or a clock),
`marks` (in-graph timestamps) or `derived` (computed from the graph or a formula).
In a cluster a wait is for the replicas of all workers whose clocks are known (`profiles.clocks`).
`clock` names the clock a time was read on; times on different clocks are never added.
"""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 1

I32, I64, F64, TEXT, BOOL = pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_()
NAME = pa.dictionary(pa.int32(), pa.string())
"""Text that repeats: device, op and category names."""

_IN_WINDOW = [("segment", I32), ("step", I64), ("worker", I32)]
_SPLIT = [  # compute + wait + transfer + input + idle = wall
    ("start_ns", I64),
    ("wall_ms", F64),
    ("compute_ms", F64),
    ("wait_ms", F64),
    ("transfer_ms", F64),
    ("input_ms", F64),
    ("idle_ms", F64),
    ("clock", NAME),
    ("source", NAME),
]

TABLES: dict[str, pa.Schema] = {
    "segments": pa.schema(
        [
            ("segment", I32),
            ("strategy", TEXT),
            ("num_replicas", I32),
            ("num_workers", I32),
            ("global_batch_size", I64),
            ("first_step", I64),
            ("started_ns", I64),
            ("spec", TEXT),
            ("cross_device_ops", TEXT),
            ("parameter_bytes", I64),
            ("state_checksum_before", TEXT),
            ("state_checksum_after", TEXT),
            ("moved", TEXT),
        ]
    ),
    "steps": pa.schema(
        [
            ("segment", I32),
            ("step", I64),
            ("start_ns", I64),
            ("wall_ms", F64),
            ("loss", F64),
            ("examples", I64),
            ("captured", BOOL),
            ("input_ms", F64),
            ("traced", BOOL),  # the first step of a segment or process, or traced again
        ]
    ),
    "marks": pa.schema(  # light per-replica times, on every step that has them
        [
            ("segment", I32),
            ("step", I64),
            ("worker", I32),
            ("replica", I32),
            ("device", TEXT),
            ("compute_ms", F64),  # gradients ready - inputs ready
            ("wait_ms", F64),  # last replica's gradients ready - own gradients ready
            ("reduce_ms", F64),  # own reduced - last replica's gradients ready
            ("start_ns", I64),
        ]
    ),
    "replica_steps": pa.schema([*_IN_WINDOW, ("replica", I32), ("device", NAME), *_SPLIT]),
    "core_steps": pa.schema(  # under a TPU's strategy: the same of each core of a replica
        [*_IN_WINDOW, ("replica", I32), ("core", I32), ("device", NAME), *_SPLIT]
    ),
    "collectives": pa.schema(
        [
            *_IN_WINDOW,
            ("replica", I32),
            ("device", NAME),
            ("op", NAME),  # all-reduce, all-gather, reduce-scatter, broadcast, reduce
            ("name", NAME),  # node name in the graph
            ("instance", I64),
            ("group_size", I32),
            ("bytes", I64),
            ("start_ns", I64),
            ("wait_ms", F64),
            ("transfer_ms", F64),
            ("algbw_gbps", F64),
            ("busbw_gbps", F64),
            ("source", NAME),
            ("bytes_source", NAME),
        ]
    ),
    "transfers": pa.schema(
        [
            *_IN_WINDOW,
            ("tensor", NAME),
            ("bytes", I64),
            ("send_device", NAME),
            ("recv_device", NAME),
            ("start_ns", I64),
            ("duration_ms", F64),
            ("source", NAME),
            ("bytes_source", NAME),
        ]
    ),
    "causes": pa.schema(  # what held up captured steps, as far as a capture can name it
        [
            *_IN_WINDOW,
            ("kind", NAME),  # see CAUSES
            ("name", NAME),
            ("detail", TEXT),
            ("replica", I32),
            ("device", NAME),
            ("count", I64),
            ("total_ms", F64),
            ("held_ms", F64),  # of it, while no replica ran anything; of ops, all of it
            ("bytes", I64),
        ]
    ),
    "placement": pa.schema(
        [
            ("segment", I32),
            ("worker", I32),
            ("kind", TEXT),  # op, variable
            ("name", TEXT),
            ("op", TEXT),
            ("device", TEXT),
            ("replica", I32),  # null where it serves all
            ("bytes", I64),
            ("function", TEXT),
        ]
    ),
    "spans": pa.schema(
        [
            *_IN_WINDOW,
            ("device", NAME),
            ("replica", I32),
            ("name", NAME),
            ("op", NAME),
            ("category", NAME),  # compute, collective, transfer, input, wait, other
            ("start_ns", I64),
            ("duration_ns", I64),
            ("clock", NAME),
            ("thread", I64),
        ]
    ),
    "contexts": pa.schema(
        [
            ("seq", I64),
            ("thread", TEXT),
            ("context", TEXT),  # default, replica, cross-replica, update
            ("replica", I32),
            ("call", TEXT),
            ("file", TEXT),
            ("line", I32),
            ("depth", I32),
            ("parent", I64),
            ("segment", I32),
            ("end_seq", I64),  # when control left again, on the counter of seq
            ("function", TEXT),
            ("phase", TEXT),  # eager, or tracing: inside a tf.function contexts switch once
            ("switch", BOOL),  # entered another context, or only made a call in its own
            ("strategy", TEXT),
            ("values_in", TEXT),  # JSON
            ("value_out", TEXT),  # JSON
            ("error", TEXT),
        ]
    ),
    "closures": pa.schema(  # parameter servers: a step, as the worker that did it saw it
        [
            ("segment", I32),
            ("step", I64),
            ("worker", I32),  # process number
            ("scheduled_ns", I64),  # put into the queue, and
            ("start_ns", I64),  # begun by its worker, and
            ("finished_ns", I64),  # result there: all by the coordinator's clock
            ("wall_ms", F64),  # from its start to its push: input + pull + compute + push
            ("queue_ms", F64),  # start - scheduled
            ("input_ms", F64),
            ("pull_ms", F64),
            ("compute_ms", F64),
            ("push_ms", F64),
            ("return_ms", F64),  # finished - pushed
        ]
    ),
    "served": pa.schema(  # parameter servers: a variable, or a part of one, and what a step moves
        [
            ("segment", I32),
            ("name", TEXT),
            ("role", TEXT),  # weight, state, optimizer
            ("server", I32),
            ("process", I32),
            ("device", TEXT),
            ("shape", TEXT),
            ("bytes", I64),
            ("part", I32),
            ("num_parts", I32),
            ("pull_bytes", I64),  # of one step of one worker; derived
            ("push_bytes", I64),
        ]
    ),
    "memory": pa.schema(
        [
            ("worker", I32),
            ("device", TEXT),
            ("step", I64),
            ("bytes_in_use", I64),
            ("peak_bytes", I64),
            ("source", TEXT),
        ]
    ),
    "links": pa.schema(  # bytes between processes so far, counted every second or so
        [
            ("segment", I32),
            ("step", I64),  # steps done when counted; null in a process that does none
            ("worker", I32),  # who counted
            ("generation", I32),  # counts start anew with each process
            ("at_ns", I64),
            ("from_worker", I32),  # null: any, on an interface; not known, on a connection
            ("to_worker", I32),
            ("bytes", I64),
            ("packets", I64),
            ("retransmitted_bytes", I64),
            ("rtt_ms", F64),
            ("opened", BOOL),  # by who counted: each connection is opened by one end
            ("source", TEXT),  # socket: TCP payload; interface: frames with their headers
        ]
    ),
}

WINDOW_TABLES = ("spans", "replica_steps", "core_steps", "collectives", "transfers", "causes")
"""Tables that a capture window writes, one Parquet file each."""

CAUSES = {
    "tracing": "The graph of a tf.function was built; name: the function.",
    "input-stage": "A stage of tf.data worked while the step waited for its batch; name: its path.",
    "python": "The program's own Python ran; name: file and line, detail: the line.",
    "read-back": "A tensor was copied to Python (numpy(), float(), print); name: file and line.",
    "call": "TensorFlow's or Keras's Python ran; name: the program's line that called it.",
    "python-op": "An op ran Python inside the graph (py_function, numpy_function); name: the op.",
    "detour": "Ops of a replica ran on another device (name: the first of them); bytes: moved "
    "there and back.",
}
"""Kinds of causes in the table `causes`."""

CATEGORIES = ("compute", "wait", "transfer", "input", "idle")
"""The phases of a replica's step, in the order in which they are stacked everywhere."""
