"""Nested objects of events."""

# Annotations that are no texts, as in `events`.
from typing import Annotated, Literal

from msgspec import Meta, Struct

from strategy_profiles.spec.field_types import (
    Bytes,
    Cores,
    Count,
    Generation,
    Ms,
    Name,
    Small,
    Text,
    Worker,
)
from strategy_profiles.spec.limits import MOST_ITEMS

Crc32 = Annotated[int, Meta(ge=0, lt=2**32)]
"""Of a whole file."""


class Device(Struct, frozen=True):
    """A logical device, and the physical one that it is a share of, if there is no doubt."""

    name: Name
    """`/job:...`"""
    kind: Name
    """`CPU`, `GPU` or `TPU`."""
    physical: Name | None = None
    """Name of the physical device."""
    logical: bool = True
    """Whether it is a share of a physical device."""


class Gpu(Struct, frozen=True):
    """A physical GPU that the process sees. What is null is not known: most of it comes from NVML,
    by the package `nvidia-ml-py`."""

    name: Name
    """`/physical_device:GPU:0`"""
    model: Name | None = None
    """Model name, such as NVIDIA H100 80GB HBM3."""
    compute_capability: Name | None = None
    """`9.0`"""
    driver: Name | None = None
    """Version of the driver."""
    memory_bytes: Count | None = None
    """Its memory."""
    max_clock_mhz: Count | None = None
    """Highest clock of its multiprocessors."""
    max_power_w: float | None = None
    """Power limit."""


class Host(Struct, frozen=True):
    """A machine."""

    name: Name | None = None
    """Host name."""
    boot: Name | None = None
    """Names the running kernel: processes with the same one read the same clock."""
    cpus: Small | None = None
    """CPUs that the process may use."""
    memory_bytes: Bytes | None = None
    """Memory of the machine."""
    platform: Name | None = None
    """System and processor architecture."""


class StackFrame(Struct, frozen=True):
    """A line of the program on a thread's stack."""

    file: Name
    """Path of the source file."""
    line: Count
    """Line number, from 1."""
    function: Name
    """Name of the function that the line is in."""
    text: Name = ""
    """The line itself."""

    @property
    def place(self) -> str:
        """`train.py:12`."""
        return f"{self.file.rpartition('/')[2]}:{self.line}"


class StackPlace(Struct, frozen=True):
    """What a thread was doing when its stack was sampled."""

    doing: Name
    """What the innermost known function does, such as `tracing` or `input`; `function` runs a
    tf.function, `op` an eager op, `call` other code of a library, `python` the program's own."""
    within: Name = ""
    """`validation`, `predict`, `checkpoint` or `callback`, if it was a part of such a call."""
    call: Name = ""
    """Function of a library that the program's line had called; of a callback, its class."""
    frames: Annotated[list[StackFrame], Meta(max_length=64)] = []
    """The lines of the program, the outermost first."""
    busy: Annotated[list[Small], Meta(max_length=64)] = []
    """Workers of a `ClusterCoordinator` that did a step meanwhile, by their numbers."""


class ThreadTime(Struct, frozen=True):
    """What another Python thread of the program computed."""

    name: Name
    """Python's name of the thread."""
    cpu_us: Count
    """Its processor time, in microseconds."""
    line: StackFrame
    """The outermost line of the program on its stack, at the end of that time."""


class LineInOp(Struct, frozen=True):
    """A line of the program that an op ran: in `py_function`, `from_generator`."""

    line: StackFrame
    """The innermost line of the program on the stack of TensorFlow's thread."""
    num_samples: Count
    """Samples in which some thread was there."""


SHUFFLE = ".shuffle("
PYTHON_OF_INPUT = ("from_generator(", "py_function(", "numpy_function(")
OF_KERAS = ("PyDataset)", "Sequence)")
UNROLLS = ("unroll=True", "unroll = True")
FROM_FUNCTION = "distribute_datasets_from_function("
FROM_VALUES = "experimental_distribute_values_from_function("
PER_REPLICA_SIZE = "get_per_replica_batch_size("
PRINTS, WRITES_SUMMARIES = ("tf.print(",), ("tf.summary.",)
ALL_REDUCE, REDUCE = ".all_reduce(", "strategy.reduce("
CHECK_NUMERICS, DUMP_DEBUG_INFO = "enable_check_numerics(", "enable_dump_debug_info("
APPLIES_GRADIENTS = "apply_gradients("
RUNS_EAGERLY = ("run_eagerly", "run_functions_eagerly(")
IN_FLOAT64 = ("float64", "set_floatx(")
IN_FLOAT16 = ("float16", "set_global_policy(", "set_dtype_policy(")
LONGEST_LINE = 120
"""Characters of a line that are recorded."""


class WholeRead(Struct, frozen=True):
    """A variable of a parameter server that each step reads as a whole."""

    name: Name
    """Of the variable."""
    bytes: Count
    """Its size."""
    place: Name | None
    """The program's line that reads it; null if it is unknown."""
    is_updated: bool
    """Whether the step also sends it a gradient, or a new value, of that size."""
    in_loop: bool = False
    """Whether a loop of the graph reads it again in each of its turns."""


class SourceLine(Struct, frozen=True):
    """A line of the program."""

    file: Name
    """Path of the source file."""
    line: Count
    """Line number, from 1."""
    text: Name
    """The line itself, with its indentation."""

    @property
    def place(self) -> str:
        """`train.py:12`."""
        return f"{self.file.rpartition('/')[2]}:{self.line}"


class SourceFile(Struct, frozen=True):
    """A file of the program as it was when it ran."""

    file: Name
    """Path of the source file."""
    text: Text
    """All of it."""


class Loop(Struct, frozen=True):
    """An outermost `for` or `while` statement of the program."""

    file: Name
    """Path of the source file."""
    first: Count
    """Number of its first line."""
    last: Count
    """Number of its last line."""

    def has(self, file: str, line: int) -> bool:
        return self.file == file and self.first <= line <= self.last


class Threads(Struct, frozen=True):
    """The sizes of TensorFlow's thread pools as the program set them; 0: TensorFlow's choice, one
    thread for each CPU."""

    inter_op: Small
    """Threads that run ops."""
    intra_op: Small
    """Threads that share the work of one op."""


class LinkCounts(Struct, frozen=True):
    """The connections between a process and one peer together, by who opened them."""

    sent_bytes: Bytes
    """TCP payload that the peer has acknowledged."""
    received_bytes: Bytes
    """TCP payload received."""
    peer: Worker | None = None
    """Null if it is not known."""
    opened: bool | None = None
    """By the process that counted."""
    sent_packets: Count | None = None
    """TCP segments sent, those without payload too."""
    received_packets: Count | None = None
    """TCP segments received, those without payload too."""
    retransmitted_bytes: Bytes | None = None
    """Payload sent again."""
    rtt_ms: Ms | None = None
    """Round trip as TCP estimates it."""


class InterfaceCounts(Struct, frozen=True):
    """A process's own network interface: frames with their headers."""

    name: Name
    """Name of the interface."""
    sent_bytes: Bytes
    """Frames sent."""
    received_bytes: Bytes
    """Frames received."""
    sent_packets: Count | None = None
    """Number of frames sent."""
    received_packets: Count | None = None
    """Number of frames received."""


class ProcessUse(Struct, frozen=True):
    """What a worker process used of its machine since the sample before."""

    worker: Worker
    generation: Generation
    cores: Cores
    """CPU time per second, of the processes that it started, too."""
    resident_bytes: Bytes | None
    """Its memory now; null if it has ended meanwhile."""


class ImportedFile(Struct, frozen=True):
    """A file of a profile that was recorded elsewhere."""

    name: Name
    """Its name."""
    bytes: Bytes
    """Its size."""
    host: Name
    """The machine that it says it is of, else what its name says."""
    num_events: Count
    """Events in it."""


class TableFile(Struct, frozen=True, gc=False):
    """A table of a capture window as it was written."""

    num_rows: Count
    """Rows in the file."""
    crc32: Crc32
    """Of the whole file."""


class Fallback(Struct, frozen=True):
    """Ops of one type that were gathered to core 0."""

    op: Name
    """Type of the ops."""
    reason: Text
    """Why they could not be partitioned."""
    names: Annotated[list[Name], Meta(max_length=MOST_ITEMS)]
    """Graph nodes."""
    count: Count
    """Number of ops."""
    bytes: Bytes | None = None
    """Size of the operands that were gathered."""


class CoreTraffic(Struct, frozen=True):
    """Communications of one kind and size in a step of a TPU program."""

    op: Name
    """What kind it is: all-reduce, halo exchange, and so on."""
    group_size: Small
    """Cores that take part in each."""
    count: Count
    """Number of them in a step."""
    bytes: Bytes | None = None
    """Size of one; null if the shape is unknown."""
    moved_bytes: Bytes | None = None
    """Bytes that one moves between cores."""


TpuOutcome = Literal["refused", "on_host", "slow"]


class TpuFinding(Struct, frozen=True):
    """What a real TPU would do with the ops of one type on one line of the program."""

    outcome: TpuOutcome
    """No compilation; moved to the TPU's host by soft placement; compiled, at a cost."""
    op: Name
    """Type of the ops."""
    name: Name
    """Graph node of the first of them."""
    reason: Text
    """Why, in one sentence."""
    advice: Text
    """What to do instead."""
    count: Count = 1
    """Number of ops."""
    file: Name | None = None
    """The program's file; null if no line of the program made the op."""
    line: Count | None = None
    """Line in that file."""
    code: Text | None = None
    """Text of that line."""
    is_asked_for: bool = False
    """Whether the program itself puts the op there (`tf.tpu.outside_compilation`)."""

    @property
    def where(self) -> str:
        """`model.py:12`, or the name of the graph's node."""
        if self.file:
            return f"{self.file}:{self.line}"
        return f"node {self.name}" if self.name else "the step"

    def sentence(self) -> str:
        """One line: where, which op, what a TPU does with it, why, and what to do."""
        return f"{self.where}: {self.text()}"

    def text(self) -> str:
        """`sentence` without the place."""
        verb = {
            "refused": "would not compile",
            "on_host": "would run on the host, outside of the compiled program",
            "slow": "would compile, at a cost",
        }[self.outcome]
        times = f" ({self.count} ops)" if self.count > 1 else ""
        return f"On a TPU, {self.op}{times} {verb}: {self.reason}. {self.advice}."


class Server(Struct, frozen=True):
    """A parameter server."""

    process: Worker
    """Number of the process in its run, from 0."""
    device: Name
    """Full device name."""


class ServedVariable(Struct, frozen=True):
    """A variable on a parameter server, or a part of one; a size is null if only the step knows it.

    Pulls and pushes are those of one step of one worker.
    """

    name: Name
    """Name of the variable."""
    role: Literal["weight", "state", "optimizer"]
    """A trainable weight, other state of the model, or a variable of the optimizer."""
    bytes: Bytes
    """Size in bytes."""
    server: Small | None
    """Index among the event's servers; null if it is on none."""
    shape: Annotated[list[Count | None], Meta(max_length=254)] = []
    """Shape of the variable or part."""
    part: Small | None = None
    """Index of the part, from 0."""
    num_parts: Small | None = None
    """Number of parts of the variable; 1 if it is whole."""
    pull_bytes: Bytes | None = None
    """Bytes that a step of one worker reads."""
    push_bytes: Bytes | None = None
    """Bytes that a step of one worker sends."""
