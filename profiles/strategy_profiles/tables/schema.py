"""The columns of a run's tables: the same for SQL, Parquet files, exports and docs.

A missing value is null; a `required` column has none. Values are within the range of their kind;
rows of a file that are not are left out when it is read (`strategy_profiles.tables.row_check`).
`source` is the origin of a number: `measured` (XPlane or a clock), `marks` (in-graph timestamps) or
`derived` (computed from the graph or a formula). In a cluster, a wait is for the replicas of all
workers whose clocks are known (`strategy_profiles.clocks.estimate`). `clock` names the clock of a
time; times on different clocks are never added.
"""

from __future__ import annotations

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.spec.limits import (
    LARGEST,
    LONGEST_LENGTH_NS,
    LONGEST_NAME,
    MOST_REPLICAS,
    MOST_SEGMENTS,
    MOST_WORKERS,
)

SCHEMA_VERSION = 1

_I32, _I64, _F64, _TEXT = pa.int32(), pa.int64(), pa.float64(), pa.string()


class Kind(Struct, frozen=True):
    """Type and range (inclusive) of a column's values."""

    type: pa.DataType
    lowest: float | None = None
    highest: float | None = None
    """Bounds of a number, or of a text's length in bytes; None means no bound beyond the type.
    Numbers of type float64 must be finite."""
    unit: str = ""
    is_required: bool = False

    @property
    def required(self) -> Kind:
        """The same kind, without missing values."""
        return replace(self, is_required=True)


class Column(Struct, frozen=True):
    """A column of a table."""

    name: str
    kind: Kind
    about: str = ""


SEGMENT = Kind(_I32, 0, MOST_SEGMENTS - 1).required
STEP = Kind(_I64, 0, LARGEST)
WORKER = Kind(_I32, 0, MOST_WORKERS - 1)
"""Number of a process."""
REPLICA = Kind(_I32, 0, MOST_REPLICAS - 1)
SMALL = Kind(_I32, 0, 2**31 - 1)
COUNT = Kind(_I64, 0, LARGEST)
ANY_INT = Kind(_I64)
"""Thread and instance numbers are hashes: they use all 64 bits."""
BYTES = Kind(_I64, 0, LARGEST, "bytes")
TIME_NS = Kind(_I64, 0, LARGEST, "ns")
LENGTH_NS = Kind(_I64, 0, LONGEST_LENGTH_NS, "ns")
MS = Kind(_F64, 0.0, LONGEST_LENGTH_NS / 1e6, "ms")
GBPS = Kind(_F64, 0.0, 1e12, "10^9 bytes per second")
NUMBER = Kind(_F64)
FLAG = Kind(pa.bool_())
TEXT = Kind(_TEXT, highest=1_000_000)
NAME = Kind(pa.dictionary(_I32, _TEXT), highest=LONGEST_NAME)
"""Text that repeats: device, op and category names."""

_Row = tuple[str, Kind] | tuple[str, Kind, str]
_IN_WINDOW: list[_Row] = [
    ("segment", SEGMENT),
    ("step", STEP.required),
    ("worker", WORKER.required),
]
_SPLIT: list[_Row] = [
    ("start_ns", TIME_NS.required),
    ("wall_ms", MS.required, "compute + delay + wait + transfer + input + idle"),
    ("compute_ms", MS.required),
    (
        "delay_ms",
        MS,
        "the lab's injected delay; without a record of its op derived from the spec",
    ),
    ("wait_ms", MS.required),
    ("transfer_ms", MS.required),
    ("input_ms", MS.required),
    ("idle_ms", MS.required),
    ("clock", NAME),
    ("source", NAME),
]


_ABOUT = {
    "segment": "number of the segment",
    "step": "number of the step",
    "worker": "process number",
    "replica": "number of the replica in the whole run",
    "device": "full device name",
    "start_ns": "when it began",
    "compute_ms": "the replica runs ops of its own",
    "delay_ms": "the lab's injected delay: at most its length in the spec; derived",
    "wait_ms": "it has entered a collective and others have not",
    "transfer_ms": "its tensors move, every replica being there",
    "input_ms": "the step waits for its batch",
    "idle_ms": "what is left of the step",
    "clock": "clock that the times were read on",
    "source": "where the numbers come from: measured, marks or derived",
    "bytes_source": "where the size comes from: measured or derived",
    "op": "type of the op",
    "name": "name in the graph",
    "bytes": "size",
}
"""Default descriptions by column name; a column's own description replaces them."""


def _columns(*columns: _Row) -> tuple[Column, ...]:
    return tuple(
        Column(name, kind, about[0] if about else _ABOUT.get(name, ""))
        for name, kind, *about in columns
    )


COLUMNS: dict[str, tuple[Column, ...]] = {
    "segments": _columns(
        ("segment", SEGMENT),
        ("strategy", TEXT.required, "its name in a RunSpec"),
        ("num_replicas", REPLICA.required, "replicas in the whole run"),
        ("num_workers", WORKER, "worker processes"),
        ("global_batch_size", COUNT, "examples in a step, over all replicas"),
        ("first_step", STEP.required, "number of its first step"),
        ("started_ns", TIME_NS, "when it came into force"),
        ("spec", TEXT, "the RunSpec in force, as JSON"),
        ("cross_device_ops", TEXT, "algorithm by which gradients cross devices"),
        ("parameter_bytes", BYTES, "size of the trainable variables, one copy"),
        ("state_checksum_before", TEXT, "training state as the segment before left it"),
        ("state_checksum_after", TEXT, "training state as this segment found it"),
        ("moved", TEXT, "same-worker or fresh-worker, if a change opened the segment"),
    ),
    "steps": _columns(
        ("segment", SEGMENT),
        ("step", STEP.required),
        ("start_ns", TIME_NS.required),
        ("wall_ms", MS.required, "from asking for the batch until the result is there"),
        ("loss", NUMBER, "mean over the global batch; of Keras's fit, over the epoch so far"),
        ("examples", COUNT, "examples in the step"),
        ("captured", FLAG, "inside a capture window"),
        ("input_ms", MS),
        ("traced", FLAG, "the first step of a segment or process, or traced again"),
    ),
    "marks": _columns(  # in-graph timestamps of each replica, for every step that has them
        ("segment", SEGMENT),
        ("step", STEP.required),
        ("worker", WORKER.required),
        ("replica", REPLICA.required),
        ("device", NAME),
        ("compute_ms", MS, "gradients ready - inputs ready - delay"),
        ("delay_ms", MS),
        ("wait_ms", MS, "last replica's gradients ready - own gradients ready"),
        ("reduce_ms", MS, "own reduced - last replica's gradients ready"),
        ("start_ns", TIME_NS),
    ),
    "replica_steps": _columns(
        *_IN_WINDOW,
        ("replica", REPLICA.required),
        ("device", NAME),
        *_SPLIT,
        ("communication_ms", MS, "collectives, transfers and waits, whatever else runs; derived"),
        ("exposed_ms", MS, "the part of it in which the replica computes nothing; derived"),
    ),
    "core_steps": _columns(  # with TPUStrategy: the same for each core of a replica
        *_IN_WINDOW,
        ("replica", REPLICA.required),
        ("core", REPLICA.required, "logical core of the replica"),
        ("device", NAME),
        *_SPLIT,
    ),
    "collectives": _columns(
        *_IN_WINDOW,
        ("replica", REPLICA),
        ("device", NAME),
        ("op", NAME, "all-reduce, reduce, gather, ...; `lab-marks`: the lab's own timestamps"),
        ("name", NAME),
        ("instance", ANY_INT, "the same for all ranks of one collective"),
        ("group_size", REPLICA, "ranks that take part"),
        ("bytes", BYTES, "size S of the collective, as nccl-tests counts it"),
        ("start_ns", TIME_NS.required, "when this rank entered it"),
        ("wait_ms", MS.required, "from then until the last rank entered"),
        ("transfer_ms", MS.required, "from there until this rank was done"),
        ("algbw_gbps", GBPS, "bytes / transfer_ms"),
        ("busbw_gbps", GBPS, "algbw_gbps * the factor of the op and group size"),
        ("source", NAME, "measured, derived, or estimated if the event of a rank is missing"),
        ("bytes_source", NAME),
    ),
    "transfers": _columns(
        *_IN_WINDOW,
        ("tensor", NAME, "name of the tensor in the graph"),
        ("bytes", BYTES),
        ("send_device", NAME, "full name of the sending device"),
        ("recv_device", NAME, "full name of the receiving device"),
        ("start_ns", TIME_NS.required),
        ("duration_ms", MS, "from the send until the tensor is there"),
        ("source", NAME),
        ("bytes_source", NAME),
    ),
    "causes": _columns(  # the causes of delays in captured steps that a capture can identify
        *_IN_WINDOW,
        ("kind", NAME.required, "see CAUSES"),
        ("name", NAME, "what it was: a function, a stage, a line, an op; see CAUSES"),
        ("detail", TEXT, "the line of the program, or more about the name"),
        ("replica", REPLICA, "null if it concerns all"),
        ("device", NAME),
        ("count", COUNT, "how often"),
        ("total_ms", MS, "how long in all"),
        ("held_ms", MS, "of it, while no replica ran anything; of ops, all of it"),
        ("bytes", BYTES, "bytes moved by it"),
    ),
    "input_stages": _columns(  # what the stages of tf.data did in captured steps
        *_IN_WINDOW,
        ("name", NAME.required, "path from the last stage to this one, Iterator::Root::..."),
        ("dataset", NAME, "name of the stage's dataset, numbered by tf.data"),
        ("count", COUNT.required, "elements that it delivered in the step"),
        ("total_ms", MS.required, "its calls, with the stages below that they call"),
        ("self_ms", MS.required, "its calls alone; of a stage with a buffer the wait for that"),
        ("parallelism", COUNT, "elements that it makes at a time; null if not reported"),
        ("buffer_size", COUNT, "most elements that its buffer may hold"),
        ("buffered", NUMBER, "mean number of elements that its buffer held when called"),
        ("autotuned", FLAG, "tf.data chooses parallelism or buffer"),
    ),
    "tensors": _columns(  # memory of a captured step's tensors
        *_IN_WINDOW,
        ("device", NAME, "device that holds it"),
        ("name", NAME, "name in the graph of the op that returned it"),
        ("op", NAME, "type of the op"),
        ("bytes", BYTES.required, "size"),
        ("start_ns", TIME_NS.required, "held from: the op begins"),
        ("end_ns", TIME_NS.required, "held until: the last op that reads it ends"),
        ("source", NAME, "derived from the graph and the times of its ops"),
    ),
    "placement": _columns(
        ("segment", SEGMENT),
        ("worker", WORKER.required),
        ("kind", TEXT.required, "op, variable"),
        ("name", TEXT.required),
        ("op", TEXT),
        ("device", TEXT),
        ("replica", REPLICA, "null if it serves all"),
        ("bytes", BYTES, "size of a variable, or of what an op returns"),
        ("function", TEXT, "number of the traced graph that has the op"),
        ("source_line", TEXT, "file and line of the program that made the op, if known"),
        ("dtype", TEXT, "element type of a variable, or of what an op computes; not of imports"),
    ),
    "spans": _columns(
        ("segment", SEGMENT),
        ("step", STEP, "null between steps"),
        ("worker", WORKER.required),
        ("device", NAME),
        ("replica", REPLICA),
        ("name", NAME),
        ("op", NAME),
        ("category", NAME, "compute, collective, transfer, input, wait, delay, other"),
        ("start_ns", TIME_NS.required),
        ("duration_ns", LENGTH_NS.required, "how long it ran"),
        ("clock", NAME),
        ("thread", ANY_INT, "thread or stream that ran it"),
    ),
    "contexts": _columns(
        ("seq", COUNT.required, "counter of everything that the tracer saw"),
        ("thread", TEXT, "name of the thread"),
        ("context", TEXT, "default, replica, cross-replica, update"),
        ("replica", REPLICA, "of a replica context"),
        ("call", TEXT, "method of tf.distribute that was called"),
        ("file", TEXT, "the program's file that made the call"),
        ("line", SMALL, "line in that file"),
        ("depth", SMALL, "number of calls around it"),
        ("parent", COUNT, "seq of the call around it"),
        ("segment", replace(SEGMENT, is_required=False)),
        ("end_seq", COUNT, "when control left again, on the counter of seq"),
        ("function", TEXT, "the program's function that made the call"),
        ("phase", TEXT, "eager, or tracing: inside a tf.function contexts switch once"),
        ("switch", FLAG, "entered another context, or only made a call in its own"),
        ("strategy", TEXT, "class of the strategy"),
        ("values_in", TEXT, "arguments that are values, as JSON"),
        ("value_out", TEXT, "the result, as JSON"),
        ("error", TEXT, "what it raised"),
    ),
    "closures": _columns(  # parameter servers: a step, as recorded by its worker
        ("segment", SEGMENT),
        ("step", STEP.required),
        ("worker", WORKER.required, "process number of the worker that did it"),
        ("scheduled_ns", TIME_NS, "put into the queue; all times are by the coordinator's clock"),
        ("start_ns", TIME_NS, "begun by its worker"),
        ("finished_ns", TIME_NS, "result there"),
        ("wall_ms", MS, "from its start to its push: input + pull + compute + delay + push"),
        ("queue_ms", MS, "start - scheduled"),
        ("input_ms", MS, "the worker waits for its batch"),
        ("pull_ms", MS, "it reads the variables from the servers"),
        ("compute_ms", MS, "it computes gradients"),
        ("delay_ms", MS),
        ("push_ms", MS, "it sends them, until the servers have answered"),
        ("return_ms", MS, "finished - pushed"),
    ),
    "served": _columns(  # parameter servers: a variable or shard, and the bytes a step moves
        ("segment", SEGMENT),
        ("name", TEXT.required, "name of the variable"),
        ("role", TEXT.required, "weight, state, optimizer"),
        ("server", WORKER.required, "number of the parameter server"),
        ("process", WORKER.required, "process number of that server"),
        ("device", TEXT),
        ("shape", TEXT, "shape of the variable or part"),
        ("bytes", BYTES.required),
        ("part", SMALL, "which part, if the variable is cut"),
        ("num_parts", SMALL, "into how many"),
        ("pull_bytes", BYTES, "that one step of one worker reads; derived"),
        ("push_bytes", BYTES, "that it sends; derived"),
    ),
    "account": _columns(  # where the wall time of the loop went, divided once
        ("segment", SEGMENT),
        ("row", TEXT.required, "path of the row, such as loop/between/validation"),
        ("parent", TEXT, "row that it is a part of; the children of a row add up to it"),
        ("kind", TEXT.required, "what the time is spent on; see the glossary"),
        ("ms_per_step", MS.required, "total_ms / steps of the segment"),
        ("total_ms", MS.required, "in all"),
        ("share", NUMBER.required, "total_ms / that of the loop"),
        ("source", TEXT.required, "measured, sampled, derived (from captured steps) or rest"),
        ("num_samples", COUNT, "samples that a sampled row rests on"),
        ("num_times", COUNT, "after how many steps it was seen, of a sampled row"),
        ("file", TEXT, "source file of the program"),
        ("line", COUNT, "line in it"),
        ("text", TEXT, "that line"),
        ("call", TEXT, "function that the line had called; class of a callback"),
        ("op", TEXT, "type of an op"),
        ("layer", TEXT, "layer that has the op"),
    ),
    "memory": _columns(
        ("worker", WORKER.required),
        ("device", TEXT.required),
        ("step", STEP.required, "step after which it was read"),
        ("bytes_in_use", BYTES.required, "held now"),
        ("peak_bytes", BYTES, "most held so far"),
        ("source", TEXT, "tensorflow-allocator (a device) or process-resident"),
    ),
    "resources": _columns(  # what the processes of the run used of their machine, every 2 s
        ("at_ns", TIME_NS.required, "when it was sampled"),
        ("interval_ms", MS.required, "time since the sample before; the use is a mean over it"),
        ("worker", WORKER.required),
        ("generation", SMALL.required, "which process of that number"),
        ("cores", NUMBER.required, "CPU time per second, with the processes that it started"),
        ("resident_bytes", BYTES, "its memory now"),
        ("num_cores", COUNT.required, "CPUs of the machine"),
        ("busy_cores", NUMBER.required, "CPU time per second of all programs on the machine"),
        ("stolen_cores", NUMBER.required, "given to other virtual machines by the hypervisor"),
    ),
    "links": _columns(  # cumulative bytes between processes, read about every second
        ("segment", replace(SEGMENT, is_required=False)),
        ("step", STEP, "steps done when counted; null in a process that does none"),
        ("worker", WORKER.required, "who counted"),
        ("generation", SMALL.required, "counts restart with each process"),
        ("at_ns", TIME_NS.required, "when it was counted"),
        ("from_worker", WORKER, "null: any, on an interface; not known, on a connection"),
        ("to_worker", WORKER, "the same of the receiver"),
        ("bytes", BYTES.required, "so far"),
        ("packets", COUNT, "so far"),
        ("retransmitted_bytes", BYTES, "sent again, so far"),
        ("rtt_ms", MS, "round trip as TCP estimates it"),
        ("opened", FLAG, "by who counted: each connection is opened by one end"),
        ("source", TEXT.required, "socket: TCP payload; interface: frames with their headers"),
    ),
}

TABLES: dict[str, pa.Schema] = {
    name: pa.schema([(column.name, column.kind.type) for column in columns])
    for name, columns in COLUMNS.items()
}

WINDOW_TABLES = (
    "spans",
    "replica_steps",
    "core_steps",
    "collectives",
    "transfers",
    "causes",
    "input_stages",
    "tensors",
)
"""Tables that a capture window writes, one Parquet file each."""

CAUSES = {
    "tracing": "The graph of a tf.function was built; name: the function.",
    "compiling": "XLA compiled a function; name: the function.",
    "input-stage": "A stage of tf.data worked while the step waited for its batch; name: its path.",
    "input-python": "An op of the input pipeline ran Python while the step waited for its batch; "
    "name: the op, detail: its type.",
    "input-python-ahead": "An op of the input pipeline ran Python in another thread while `call` "
    "held up the step; name: the op, detail: its type.",
    "python": "The program's own Python ran; name: file and line, detail: the line.",
    "read-back": "A tensor was copied to Python (numpy(), float(), print); name: file and line.",
    "call": "TensorFlow's or Keras's Python ran; name: the program's line that called it.",
    "collective-key": "TensorFlow's Python made the keys of the collectives that a call runs; "
    "name: the program's line that called it.",
    "argument": "TensorFlow made tensors of what the program passed to a call, such as NumPy "
    "arrays; name: the program's line that called it.",
    "between-ops": "The runtime executed a function and had not started its next op; name: the "
    "loop of half of the ops or more; count: ops of a replica, null if those of the loop were not "
    "recorded.",
    "launch": "A GPU was idle until the host launched its next kernel; count: kernels and copies "
    "of the step.",
    "between-steps": "The program did something between the step before and this one; name: file "
    "and line, detail: the line.",
    "python-op": "An op ran Python inside the graph (py_function, numpy_function); name: the op.",
    "debugging-op": "Ops of one type printed, checked numbers or wrote summaries inside the graph; "
    "name: the type.",
    "detour": "Ops of a replica ran on another device (name: the first of them); bytes: moved "
    "there and back.",
}
"""Kinds of rows in the table `causes`."""
CALLS = ("call", "collective-key")
"""Those that are TensorFlow's Python around the calls of a step."""

UNIQUE = {
    "replica_steps": ("segment", "step", "worker", "replica"),
    "core_steps": ("segment", "step", "worker", "replica", "core"),
    "collectives": ("segment", "step", "worker", "replica", "device", "name", "start_ns", "source"),
}
"""Key columns: at most one row of a file has the same values in all of them."""

DELAYED = ("replica_steps", "core_steps")
"""Tables with the column `delay_ms`."""
ADDED = {
    "replica_steps": ("delay_ms", "communication_ms", "exposed_ms"),
    "core_steps": ("delay_ms",),
    "placement": ("source_line", "dtype"),
}
"""Columns that files of earlier versions do not have."""

MOST_ROWS = {"spans": 10_000_000}
"""Largest number of rows of a file; `MOST_OTHER_ROWS` for tables not listed here."""
MOST_OTHER_ROWS = 1_000_000

ESTIMATED = "estimated"
"""Source of a collective's times while the event of a member is missing (`capture.collectives`)."""

CATEGORIES = ("compute", "delay", "wait", "transfer", "input", "idle")
"""The phases of a replica's step, in the order in which all charts stack them."""
