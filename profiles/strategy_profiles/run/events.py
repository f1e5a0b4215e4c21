"""The events of a run. Each is one complete record on one JSON line, never a start/end pair.

Every writer has its own append-only `events.jsonl` (one writer per file, see `layout`). A line is
`{"kind": ..., **fields, "at_ns": ..., "line": ..., "line_crc32": ...}`; `at_ns` is the writer's
wall clock (`time.time_ns()`) when the record was written, `line` counts the file's lines, and the
last key is the checksum of the bytes before it (`line_checksum`). These classes are the schema:
writers encode them, readers decode into them (`event_decoder`), and `docs/run-folder.md` is made
from them. A field that a reader does not know is ignored. A line that does not fit is left out and
counted, so a run cut off at any byte stays readable.
"""

# No `from __future__ import annotations`: msgspec evaluates annotations that are texts one by one,
# which takes three quarters of the time that a decoder of all events needs.
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

from strategy_profiles.run.event_parts import (
    CoreTraffic,
    Crc32,
    Device,
    Fallback,
    Gpu,
    Host,
    ImportedFile,
    InterfaceCounts,
    LineInOp,
    LinkCounts,
    Loop,
    ProcessUse,
    ServedVariable,
    Server,
    SourceFile,
    SourceLine,
    StackPlace,
    TableFile,
    Threads,
    ThreadTime,
    TpuFinding,
)
from strategy_profiles.spec.field_types import (
    Bytes,
    Cores,
    Count,
    Counts,
    Devices,
    Generation,
    Int64,
    Json,
    Ms,
    Name,
    NumReplicas,
    NumWorkers,
    Pid,
    Segment,
    SignedMs,
    Small,
    Step,
    Text,
    TimeNs,
    Worker,
    check_json,
)
from strategy_profiles.spec.limits import MOST_ITEMS, MOST_REPLICAS, MOST_WORKERS
from strategy_profiles.spec.stored_spec import check_spec


class Recorded(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Fields of every event."""

    at_ns: TimeNs = 0
    """Writer's wall clock (ns since 1970) when it was written; 0 until then."""
    line: Count = 0
    """Line number in its file, from 1: a gap is a lost line. 0 in runs of earlier versions."""

    @property
    def kind(self) -> str:
        """The event's kind in the file."""
        return str(self.__struct_config__.tag)


def kind_of(event: type[Recorded]) -> str:
    """Return the kind of a class's events in the file."""
    return str(event.__struct_config__.tag)


MarkTimes = tuple[TimeNs, TimeNs, TimeNs]
"""Inputs ready, gradients ready, reduced."""
NUM_MARKS = len(get_args(MarkTimes))
Marks = Annotated[list[MarkTimes], Meta(max_length=MOST_REPLICAS)]
ClosureMarks = tuple[TimeNs, TimeNs | None, TimeNs | None, TimeNs | None, TimeNs]
"""Start, inputs ready, pulled, gradients ready, pushed."""
MeshPlace = Annotated[list[Small], Meta(min_length=4, max_length=4)]
Coordinates = Annotated[list[list[MeshPlace]], Meta(max_length=MOST_REPLICAS)]
OffsetNs = Annotated[int, Meta(gt=-(2**61), lt=2**61, extra={"unit": "ns"})]
SpanNs = Annotated[int, Meta(ge=0, lt=2**61, extra={"unit": "ns"})]


class WorkerStarted(Recorded, frozen=True, tag="worker_started"):
    """A worker process starts work on the run. Both clocks are read at the same moment."""

    worker: Worker
    pid: Pid
    realtime_ns: TimeNs
    """The process's wall clock, ns since 1970."""
    monotonic_ns: TimeNs
    """The process's monotonic clock at the same moment, ns since an arbitrary start."""
    run: Name = ""
    """`uid` of the run's `run.json`; empty if that names none."""


class Environment(Recorded, frozen=True, tag="environment"):
    """What the run ran on, once TensorFlow knows its devices."""

    tensorflow: Name
    """Version of TensorFlow, as in `tf.__version__`."""
    python: Name
    """Version of Python."""
    devices: Annotated[list[Device], Meta(max_length=MOST_REPLICAS)]
    """Every logical device that the process has."""
    host: Host
    """The machine it is on."""
    threads: Threads | None = None
    """TensorFlow's thread pools."""
    gpus: Annotated[list[Gpu], Meta(max_length=MOST_REPLICAS)] = []
    """The physical GPUs that the process sees."""


class SegmentOpened(Recorded, frozen=True, tag="segment"):
    """A configuration takes effect. This closes the previous segment, if any."""

    segment: Segment
    strategy: Name
    """Name in a RunSpec, such as `mirrored`; for another program, the name of the same class."""
    num_replicas: NumReplicas
    """Replicas in the whole run."""
    num_workers: NumWorkers
    """Worker processes; of a pod, its hosts."""
    global_batch_size: Count | None
    """Examples in a step, over all replicas."""
    first_step: Step
    """Number of its first step; steps are numbered from 0 over the whole run."""
    started_ns: TimeNs
    """Wall clock at which this configuration took effect, ns since 1970."""
    replica_devices: Devices
    """Full device name of each replica, by global replica id."""
    cross_device_ops: Name
    """Algorithm by which gradients cross devices, as decided."""
    spec: Json
    """The RunSpec in force."""
    core_devices: Annotated[list[Devices], Meta(max_length=MOST_REPLICAS)] | None = None
    """Under a TPU's strategy: device names by replica and logical core."""
    parameter_bytes: Bytes | None = None
    """Size of the trainable variables, one copy."""
    state_checksum_before: Name | None = None
    """Checksum of model and optimizer state as the segment before left it."""
    state_checksum_after: Name | None = None
    """The same as this segment found it: equal means carried over exactly."""
    moved: Name | None = None
    """`same-worker` or `fresh-worker` where a reconfiguration opened this segment."""
    has_central_copy: bool | None = None
    """Whether the strategy keeps one copy of the variables, away from the replicas."""
    batch_sizes: tuple[Count, Count] | None = None
    """The smallest and the largest number of examples in a step if their sizes vary by design;
    `global_batch_size` is then the median. Derived from the steps, never recorded."""

    def __post_init__(self) -> None:
        check_spec(self.spec)

    @property
    def is_of_lab(self) -> bool:
        """Whether the lab ran it, by a RunSpec. Of other programs `spec` has the number of
        parameter servers, or nothing."""
        return bool(self.spec.keys() - {"parameter_servers"})

    @property
    def title(self) -> str:
        """Strategy, replicas and batch: `mirrored ×4, batch 256`."""
        title, batch = f"{self.strategy} ×{self.num_replicas}", self.global_batch_size
        varies = "of about " if self.batch_sizes else ""
        return title if batch is None else f"{title}, batch {varies}{batch}"

    @property
    def size(self) -> str:
        """`4 replicas`, or `4 replicas of 2 workers`; a pod's, of so many hosts."""
        replicas = "1 replica" if self.num_replicas == 1 else f"{self.num_replicas} replicas"
        processes = "hosts" if self.core_devices else "workers"
        return f"{replicas} of {self.num_workers} {processes}" if self.num_workers > 1 else replicas


class StepDone(Recorded, frozen=True, gc=False, tag="step"):
    """A step: start on the worker's wall clock, length on its monotonic one.

    A step lasts from asking for its batch until its result is there.
    """

    segment: Segment
    step: Step
    start_ns: TimeNs
    """When its batch was asked for, by the wall clock."""
    wall_ms: Ms
    """How long it took, by the monotonic clock."""
    loss: float | None
    """Mean over the global batch; of Keras's `fit`, over the epoch so far."""
    examples: Count | None
    """Examples in it, over all replicas."""
    captured: bool
    """Whether it was inside a capture window."""
    input_ms: Ms | None = None
    """Host time in which the step waited for its batch."""
    marks_ns: Marks | None = None
    """By local replica, on the worker's wall clock (`tf.timestamp`)."""


MADE_AGAIN = "the program makes a new tf.function for each call"
"""Begin of `Retraced.argument` if the function itself is another one each time."""
VALUE_CHANGES, SHAPE_CHANGES = "is a Python value that changes", "changes its shape or type"
"""What `Retraced.argument` says of an argument."""
COMPILED_AGAIN = "the model was compiled or built again before it"
"""`Retraced.argument` of the function with which Keras's `fit` trains."""


class Retraced(Recorded, frozen=True, tag="retraced"):
    """A `tf.function` was traced again in a step that is not the first of its segment."""

    segment: Segment
    step: Step
    function: Name
    """Name of the function."""
    num_traces: Count
    """How often the function was traced in this step, from 1."""
    argument: Text | None = None
    """What changed since its trace before, in words; null if that is not known."""


class EpochEnded(Recorded, frozen=True, tag="epoch"):
    """What Keras's `fit` did between the last step of an epoch and the first of the next.

    After the last epoch, until `fit` was over.
    """

    segment: Segment
    step: Step
    """Number of the epoch's last step."""
    start_ns: TimeNs
    """When that step ended, by the wall clock."""
    wall_ms: Ms
    """Time until the next step began, by the monotonic clock."""
    validation_ms: Ms | None = None
    """Part of it until the epoch was validated; null if it was not."""
    callbacks_ms: Ms | None = None
    """Part of it that the callbacks' `on_epoch_end` took; null if that was not measured."""


class EpochEnding(Recorded, frozen=True, tag="epoch_ending"):
    """What Keras's `fit` began to do after the last step of an epoch, written when it begins.

    A viewer of the running run cannot tell otherwise why no step follows; `epoch` has the times.
    """

    doing: Literal["validation", "callbacks", "next_epoch"]
    """The validation, the callbacks' `on_epoch_end`, or the first batch of the next epoch."""


class WindowCaptured(Recorded, frozen=True, tag="window"):
    """A full capture is in the run folder, converted to tables under `folder`."""

    window: Small
    """Number of the window, counted by each process."""
    segment: Segment
    first_step: Step
    """Number of the first step in it."""
    num_steps: Count
    """Steps in it."""
    folder: Annotated[str, Meta(pattern=r"^window-\d{1,9}$")]
    """Relative to the worker's folder; holds one Parquet file per table."""
    num_events: Count
    """Events in the XPlane file that were decoded."""
    num_spans: Count
    """Rows of the table `spans`."""
    start_ms: Ms
    """What starting the profiler took."""
    stop_ms: Ms
    """What stopping the profiler took, the wait for the last step's events included, and the
    processor time of writing the capture beside the next steps."""
    convert_ms: Ms
    """Processor time of the conversion."""
    xplane: Name | None = None
    """Raw XPlane file relative to the worker's folder, where kept."""
    error: Text | None = None
    """Why there are no tables; null if there are."""
    num_unmatched: Count = 0
    """Op events whose node is in no traced graph; their spans have no device."""
    num_ambiguous: Count = 0
    """Op events whose name belongs to nodes on several devices."""
    slower_ms: SignedMs = 0.0
    """How much longer the window's steps took than those before it, together."""
    tables: Annotated[dict[Name, TableFile], Meta(max_length=64)] = {}
    """By table its file in `folder`; empty in runs of earlier versions."""
    problems: Annotated[list[Text], Meta(max_length=64)] = []
    """What the capture lacks, as TensorFlow's profiler says or as its planes show."""
    synced_steps: Count = 0
    """On GPUs, the steps between the window before this one and this one."""
    synced_ms: Ms | None = None
    """Time of these steps, with no work left on any device before the first and after the last;
    null if it was not measured."""


class PlacementRecorded(Recorded, frozen=True, tag="placement"):
    """Placement of a segment's ops and variables: a Parquet file in the worker's folder."""

    segment: Segment
    file: Annotated[str, Meta(pattern=r"^placement-\d{1,9}\.parquet$")] | None
    """File name in the worker's folder; null if there is none."""
    num_rows: Count
    """Rows in it."""
    reason: Text | None = None
    """Why there is no file; null if there is one."""
    crc32: Crc32 | None = None
    """CRC-32 of the whole file; null in runs of earlier versions."""
    num_compiled: Count | None = None
    """Functions and clusters of ops that XLA compiles; null if the graph does not tell."""
    shared_names: Annotated[list[Name], Meta(max_length=MOST_ITEMS)] = []
    """Collectives of functions in turns that share a name but not a size. An event of a capture has
    only the name, so their sizes are unknown."""


class CoresExpanded(Recorded, frozen=True, tag="cores"):
    """Distribution of a TPU program over emulated cores. Written after a segment's first step."""

    segment: Segment
    topology: MeshPlace
    """The mesh (x, y, z, core)."""
    coordinates: Coordinates
    """Place on the mesh, by replica and logical core."""
    spmd: bool
    """One program partitioned over the cores, instead of ops assigned to them."""
    num_ops: Counts
    """Graph nodes by device."""
    partitioned: Counts
    """Ops split over the cores of their replica, by op type."""
    fallbacks: Annotated[list[Fallback], Meta(max_length=MOST_ITEMS)]
    """Ops gathered to core 0."""
    collectives: Annotated[list[CoreTraffic], Meta(max_length=MOST_ITEMS)]
    """Communications of a step."""
    moved_bytes: Counts
    """Bytes that a step moves between cores, by reason, as far as shapes tell."""

    def coordinates_of(self, replica: int, core: int) -> tuple[int, ...] | None:
        """Coordinates of a logical core; None if the event has none for it."""
        cores = self.coordinates[replica] if replica < len(self.coordinates) else []
        return tuple(cores[core]) if core < len(cores) else None


class StepCheckedForTpu(Recorded, frozen=True, tag="tpu_check"):
    """What a real TPU would do with the step that emulated cores ran. Written after the first step
    of a segment."""

    segment: Segment
    findings: Annotated[list[TpuFinding], Meta(max_length=MOST_ITEMS)]
    """What a TPU would refuse, run on its host, or run slowly."""
    unchecked: Annotated[list[Text], Meta(max_length=MOST_ITEMS)]
    """What was not checked, each with its reason."""
    num_ops: Count
    """Ops that were checked."""
    lookup_ms: Ms | None
    """Time to look up all ops among XLA's kernels."""
    lowering_ms: Ms | None
    """Time that TensorFlow's XLA bridge took."""
    reason: Text | None = None
    """Why the step was not checked at all; null if it was."""

    def of(self, outcome: str) -> list[TpuFinding]:
        """The findings with an outcome."""
        return [each for each in self.findings if each.outcome == outcome]


class ClosureDone(Recorded, frozen=True, tag="closure"):
    """Coordinator of parameter servers: a worker has run a closure, which is a step of the run."""

    segment: Segment
    step: Step
    worker: Worker
    """Number of the process that ran it."""
    scheduled_ns: TimeNs
    """Coordinator's wall clock when it was put into the queue."""
    marks_ns: ClosureMarks
    """On the worker's wall clock (`tf.timestamp`); null if a workload's own step does not tell."""
    finished_ns: TimeNs
    """Coordinator's wall clock when its result was there."""


class VariablesServed(Recorded, frozen=True, tag="served"):
    """The variables on each parameter server, and the bytes a step moves. Once per segment."""

    segment: Segment
    servers: Annotated[list[Server], Meta(max_length=MOST_WORKERS)]
    """By parameter server."""
    variables: Annotated[list[ServedVariable], Meta(max_length=MOST_ITEMS)]
    """Every variable, or every part of one."""
    feed: Literal["worker", "coordinator"] = "worker"
    """Who reads the data: `worker`, or `coordinator` where it cannot leave that process."""

    def __post_init__(self) -> None:
        if any((variable.server or 0) >= len(self.servers) for variable in self.variables):
            raise ValueError("a variable on a server that is not listed")


class MemorySampled(Recorded, frozen=True, gc=False, tag="memory"):
    """Memory of a device, or of the worker's process (`source` says which)."""

    device: Name
    """Full device name, or `host`."""
    step: Step
    """Step after which it was read."""
    bytes_in_use: Bytes
    """Bytes held after the step."""
    peak_bytes: Bytes | None
    """Most bytes held so far; null from a source that keeps no peak."""
    source: Name
    """`tensorflow-allocator` or `process-resident`."""


class StacksSampled(Recorded, frozen=True, tag="stacks"):
    """Where the thread that trains was, sampled at random intervals. In `stacks.jsonl`."""

    program_ns: TimeNs
    """When the process started, by the wall clock."""
    since_ns: TimeNs
    """When the sampling of this event began, by the wall clock."""
    after_us: Annotated[list[Count], Meta(max_length=MOST_ITEMS)]
    """Time from each sample, or from the begin, to the next, in microseconds."""
    place: Annotated[list[Small], Meta(max_length=MOST_ITEMS)]
    """By sample the number of its place in `places`."""
    places: Annotated[list[StackPlace], Meta(max_length=MOST_ITEMS)]
    """The places of this event's samples."""
    loops: Annotated[list[Loop], Meta(max_length=MOST_ITEMS)] = []
    """The loops of the program's files that no event before had."""
    around: Annotated[list[SourceLine], Meta(max_length=MOST_ITEMS)] = []
    """The lines around the innermost ones of its places, that no event before had."""
    cpu_us: Annotated[list[Count], Meta(max_length=MOST_ITEMS)] = []
    """Processor time of the process between two samples, as `after_us`, in microseconds."""
    sources: Annotated[list[SourceFile], Meta(max_length=MOST_ITEMS)] = []
    """The program's files that no event before had, unless they are large."""
    for_us: Annotated[list[Count], Meta(max_length=MOST_ITEMS)] = []
    """Time that each sample counts for, in microseconds, if that is not `after_us`: calls that keep
    Python's lock have the samples after them at the same places of each step."""
    threads: Annotated[list[ThreadTime], Meta(max_length=64)] = []
    """What other Python threads of the program computed in the time of these samples."""
    in_ops: Annotated[list[LineInOp], Meta(max_length=64)] = []
    """Where ops that run Python were meanwhile, of these samples."""


class ResourcesSampled(Recorded, frozen=True, tag="resources"):
    """What the run's processes and all programs of this machine used of its CPUs.

    From the launcher; from the recorder, if a program of one process records itself.
    """

    interval_ms: Ms
    """Time since the sample before, over which the use is a mean."""
    num_cores: Count
    """CPUs of the machine."""
    busy_cores: Cores
    """CPU time per second of all programs together, those of this run included."""
    stolen_cores: Cores
    """CPU time per second that the hypervisor gave to other virtual machines."""
    processes: Annotated[list[ProcessUse], Meta(max_length=MOST_WORKERS)]
    """The living processes that this launcher started, or the recording one."""


class ClockMeasured(Recorded, frozen=True, tag="clock"):
    """How far the reference worker's wall clock is from this worker's, or why that is unknown.

    `own time + offset_ns` is the reference's time. The truth lies within `uncertainty_ns` (half
    the least round trip), however different the delays of the two directions are.
    """

    reference: Worker
    """Number of the worker whose clock is the common one."""
    measured_ns: TimeNs
    """When, by this worker's own wall clock."""
    offset_ns: OffsetNs | None
    """Reference's time - own time; null if it is unknown."""
    uncertainty_ns: SpanNs | None
    """Half the least round trip: the offset is off by no more than this."""
    round_trip_ns: SpanNs | None
    """Round trip of the quickest exchange."""
    num_exchanges: Count
    """Messages there and back, of which the quickest counts."""
    source: Name
    """How it was measured."""
    reason: Text | None = None
    """Why it is unknown; null if it is known."""


class LinkBytes(Recorded, frozen=True, tag="links"):
    """Bytes between this process and the others of its cluster since it started.

    Closed connections stay counted.
    """

    segment: Segment | None
    """The segment in force; null before the first one."""
    step: Step | None
    """Steps of the run that were done; None in a process that does no steps itself."""
    links: Annotated[list[LinkCounts], Meta(max_length=4 * MOST_WORKERS)]
    """By peer and by who opened the connections."""
    interface: InterfaceCounts | None = None
    """Null if the process has no network interface of its own."""
    reason: Text | None = None
    """Why the system does not tell, where it does not."""


class CommandSent(Recorded, frozen=True, tag="command"):
    """Launcher: a command was sent to the run's processes. Its `answer` has the same number."""

    number: Count
    """The command's number."""
    command: Name
    """`reconfigure` or `stop`."""
    changes: Json = {}
    """Of `reconfigure`: the new values by dotted path."""

    def __post_init__(self) -> None:
        check_json(self.changes)


class CommandAnswered(Recorded, frozen=True, tag="answer"):
    """A numbered command was applied or refused; a refused one left the run as it was."""

    number: Count
    """The command's number."""
    command: Name
    """`reconfigure`, `stop`, `run` or, of a program that waits, `record`."""
    status: Literal["applied", "rejected"]
    """Whether it is in force."""
    step: Step | None = None
    """Steps done when it was answered."""
    message: Text | None = None
    """Why it was refused."""
    took_ms: Ms | None = None
    """From taking it up until its first step was done."""


EXIT_CODE = "The program ended with exit code "
"""Begin of the message of `Failed` if no more than that is known: `sys.exit` has no error."""
ENDED_BY = "The program was ended by "
"""Begin of the same before the name of a signal."""


class Failed(Recorded, frozen=True, tag="failed"):
    """The run cannot continue. `message` is for the user, `detail` has the technical details."""

    message: Text
    """One sentence for the user."""
    detail: Text = ""
    """Traceback of the error; empty if there is none."""
    follows: bool = False
    """It only reports another worker's end; the lost worker or its launcher knows the cause."""
    place: Text = ""
    """The program's line that the error came from, such as `train.py:12`; empty if unknown."""
    strategies: Count | None = None
    """Strategies with several replicas that the program had, if their collectives met."""


FinishedStatus = Literal["finished", "stopped", "replaced"]


class Finished(Recorded, frozen=True, tag="finished"):
    """The worker ended in order: `finished` (all steps done), `stopped` (by a command), or
    `replaced` (a fresh worker has taken over)."""

    status: FinishedStatus
    """How the worker ended: all steps done, stopped by a command, or replaced."""
    steps: Count
    """Steps done."""
    why: Text | None = None
    """Why it was stopped, if its user did not ask for it, and how to go on."""


class Launched(Recorded, frozen=True, tag="launched"):
    """Launcher: a worker process was assigned to this run."""

    worker: Worker
    generation: Generation
    pid: Pid
    pid_started_ns: TimeNs
    """Start time of the process, so that a reused pid is not mistaken for it."""
    from_spare: bool
    """Whether the spare worker took the run: it was ready, or importing TensorFlow."""
    task: Name | None = None
    """What the process is in a cluster: `worker 1`, `parameter server 0`."""
    address: Name | None = None
    """`host:port` of its server in the cluster."""
    host: Name | None = None
    """Name of the machine it is on, where the run may have processes on others."""
    run: Name = ""
    """`uid` of the run's `run.json`; empty if that names none."""


class Exited(Recorded, frozen=True, tag="exited"):
    """Launcher: a worker process ended, and why as far as the launcher can tell."""

    worker: Worker
    generation: Generation
    exit_code: Int64 | None
    """Negative for a signal; null if it is unknown."""
    verdict: Name
    """`finished`, `stopped`, `replaced`, `failed`, `crashed`, `killed`, `hung`, `out-of-memory`."""
    message: Text | None = None
    """Why, in one sentence or more."""
    follows: Worker | None = None
    """Number of the process whose end caused this one's, if any."""
    lost_ns: TimeNs | None = None
    """When the launcher detected its failure or unexpected end; null if it ended normally, or the
    launcher ended it because of another process."""

    @property
    def is_consequence(self) -> bool:
        """Whether it ended because another process was lost."""
        return self.follows is not None and self.follows != self.worker


class Imported(Recorded, frozen=True, tag="imported"):
    """The run was recorded elsewhere: where it comes from, and what its files do not tell."""

    source: Text
    """The path that was imported."""
    files: Annotated[list[ImportedFile], Meta(max_length=MOST_WORKERS)]
    """By process number."""
    unknown: Annotated[dict[Name, Text], Meta(max_length=64)] = {}
    """By what is missing (`steps`, `replicas`, `loss` and so on) the reason, without a full
    stop."""
    num_ranks: Count | None = None
    """How many ranks the program has, of which the files may be some; null if they do not say."""
    framework: Name | None = None
    """`PyTorch`, if its profiler recorded the files; else null."""


IMPORTED = "imported"
"""The strategy of an imported run, which does not name its own."""

OWN_PROFILER = "own_profiler"
"""Field of a note: the first and the last step in which the program's own profiler was on."""

WHY_NO_OPS = "why_no_ops"
"""Field of a note: why the captures of a segment may hold no op, without a full stop."""

NO_OPS_IN = "segment"
"""Field of the same note, and of those below: the number of that segment."""

IN_TURNS = "replicas_in_turns"
"""Field of a note: the line that calls `strategy.run` outside of a `tf.function`, so that the
replicas of a process run one after the other."""

FETCHED_EACH = "fetched_after_each_schedule"
"""Field of a note: the line at which a coordinator waits for each step before it schedules the next
one, so that one of its workers works at a time."""

WHOLE_BATCH_EACH = "whole_batch_on_each_replica"
"""Field of a note: the line whose batch is not divided, so that each replica trains on all of
it."""

OWN_BATCH_EACH = "own_batch_as_global_batch"
"""Field of a note: the line that divides the losses of a replica by the number of its own examples,
as if they were the global batch."""

UNLIKE_EACH = "unlike_on_replicas"
"""Field of a note: the shapes of a tensor that differed among the replicas in the first step."""

WHOLE_READS = "whole_reads"
"""Field of a note: the variables that each step of a worker reads as a whole, as `WholeRead`s."""


class Note(Recorded, frozen=True, tag="note"):
    """Something a reader of the run should know; `level` is `info` or `warning`."""

    level: Literal["info", "warning"]
    """How much it matters."""
    message: Text
    """One sentence for the user."""
    fields: Json = {}
    """Values that belong to it, for programs."""

    def __post_init__(self) -> None:
        check_json(self.fields)


Event: TypeAlias = (
    WorkerStarted
    | Environment
    | SegmentOpened
    | StepDone
    | Retraced
    | EpochEnding
    | EpochEnded
    | WindowCaptured
    | PlacementRecorded
    | CoresExpanded
    | StepCheckedForTpu
    | ClosureDone
    | VariablesServed
    | MemorySampled
    | LinkBytes
    | StacksSampled
    | ResourcesSampled
    | ClockMeasured
    | CommandSent
    | CommandAnswered
    | Failed
    | Finished
    | Launched
    | Exited
    | Imported
    | Note
)
