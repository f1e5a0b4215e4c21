"""What happened: one completed record per thing, one JSON line each, never start/end pairs.

Every writer has its own append-only `events.jsonl` (one writer per file, see `layout`).
A line is `{"kind": ..., "at_ns": ..., **fields}`; `at_ns` is the writer's wall clock
(`time.time_ns()`) when the record was written. Readers ignore kinds and fields they do not
know and stop at a half-written last line, so a run cut off at any byte stays readable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """A worker process took the run. The two clocks are read together: the clock's anchor."""

    kind: ClassVar[str] = "worker_started"
    worker: int
    pid: int
    realtime_ns: int
    monotonic_ns: int


@dataclass(frozen=True, slots=True)
class Environment:
    """What the run ran on, once TensorFlow knows its devices."""

    kind: ClassVar[str] = "environment"
    tensorflow: str
    python: str
    devices: list[dict[str, Any]]
    """Each `{"name": "/job:...", "kind": "CPU", "physical": "...", "logical": true}`."""
    host: dict[str, Any]
    """`{"name", "boot", "cpus", "memory_bytes", "platform"}`; `boot` names the running kernel."""


@dataclass(frozen=True, slots=True)
class SegmentOpened:
    """A configuration came into force. The segment before it, if any, is closed by it."""

    kind: ClassVar[str] = "segment"
    segment: int
    strategy: str
    num_replicas: int
    num_workers: int
    global_batch_size: int | None
    first_step: int
    started_ns: int
    replica_devices: list[str]
    """Full device name of each replica, by global replica id."""
    cross_device_ops: str
    spec: dict[str, Any]
    core_devices: list[list[str]] | None = None
    """Under a TPU's strategy: device names by replica and logical core."""
    parameter_bytes: int | None = None
    state_checksum_before: str | None = None
    """Checksum of model and optimizer state as the segment before left it."""
    state_checksum_after: str | None = None
    """The same as this segment found it: equal means carried over exactly."""
    moved: str | None = None
    """`same-worker` or `fresh-worker` where a reconfiguration opened this segment."""

    @property
    def size(self) -> str:
        """`4 replicas`, or `4 replicas of 2 workers`; a pod's, of so many hosts."""
        replicas = "1 replica" if self.num_replicas == 1 else f"{self.num_replicas} replicas"
        processes = "hosts" if self.core_devices else "workers"
        return f"{replicas} of {self.num_workers} {processes}" if self.num_workers > 1 else replicas


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step: start on the worker's wall clock, length on its monotonic one.

    A step lasts from asking for its batch until its result is there.
    """

    kind: ClassVar[str] = "step"
    segment: int
    step: int
    start_ns: int
    wall_ms: float
    loss: float | None
    examples: int | None
    captured: bool
    input_ms: float | None = None
    """Host time in which the step waited for its batch."""
    marks_ns: list[list[int]] | None = None
    """Per replica `[inputs_ready, gradients_ready, reduced]`, wall clock (`tf.timestamp`)."""


@dataclass(frozen=True, slots=True)
class Retraced:
    """A `tf.function` was traced again in a step that is not the first of its segment."""

    kind: ClassVar[str] = "retraced"
    segment: int
    step: int
    function: str
    num_traces: int
    """In this step."""
    argument: str | None = None
    """What changed since its trace before, in words; None where the signatures do not tell."""


@dataclass(frozen=True, slots=True)
class WindowCaptured:
    """A full capture is in the run folder, converted to tables under `folder`."""

    kind: ClassVar[str] = "window"
    window: int
    segment: int
    first_step: int
    num_steps: int
    folder: str
    """Relative to the worker's folder; holds one Parquet file per table."""
    num_events: int
    num_spans: int
    start_ms: float
    stop_ms: float
    convert_ms: float
    xplane: str | None = None
    """Raw XPlane file relative to the worker's folder, where kept."""
    error: str | None = None
    num_unmatched: int = 0
    """Op events whose node is in no traced graph; their spans have no device."""
    num_ambiguous: int = 0
    """Op events whose name belongs to nodes on several devices."""
    slower_ms: float = 0.0
    """How much longer the window's steps took than those before it, together."""


@dataclass(frozen=True, slots=True)
class PlacementRecorded:
    """Where ops and variables of a segment sit: a Parquet file relative to the worker's folder."""

    kind: ClassVar[str] = "placement"
    segment: int
    file: str | None
    num_rows: int
    reason: str | None = None
    """Why there is none, where there is none."""


@dataclass(frozen=True, slots=True)
class CoresExpanded:
    """How a TPU program was spread over emulated cores: written after a segment's first step."""

    kind: ClassVar[str] = "cores"
    segment: int
    topology: list[int]
    """The mesh (x, y, z, core)."""
    coordinates: list[list[list[int]]]
    """Place on the mesh, by replica and logical core."""
    spmd: bool
    num_ops: dict[str, int]
    """Graph nodes by device."""
    partitioned: dict[str, int]
    """Ops split over the cores of their replica, by op type."""
    fallbacks: list[dict[str, Any]]
    """Ops gathered to core 0: `{"op", "reason", "names", "count", "bytes"}`."""
    collectives: list[dict[str, Any]]
    """Communications of a step: `{"op", "group_size", "count", "bytes", "moved_bytes"}`."""
    moved_bytes: dict[str, int]
    """Bytes that a step moves between cores, by reason, as far as shapes tell."""


@dataclass(frozen=True, slots=True)
class ClosureDone:
    """Coordinator of parameter servers: a worker did a closure, which is a step of the run."""

    kind: ClassVar[str] = "closure"
    segment: int
    step: int
    worker: int
    """Process number of who did it."""
    scheduled_ns: int
    """Coordinator's wall clock when it was put into the queue."""
    marks_ns: list[int | None]
    """Start, inputs ready, pulled, gradients ready, pushed: the worker's wall clock
    (`tf.timestamp`); None where a workload's own step does not tell."""
    finished_ns: int
    """Coordinator's wall clock when its result was there."""


@dataclass(frozen=True, slots=True)
class VariablesServed:
    """What sits on which parameter server, and what a step moves: once per segment."""

    kind: ClassVar[str] = "served"
    segment: int
    servers: list[dict[str, Any]]
    """By parameter server: `{"process": 3, "device": "/job:ps/replica:0/task:0/device:CPU:0"}`."""
    variables: list[dict[str, Any]]
    """Each `{"name", "role", "server", "shape", "bytes", "part", "num_parts", "pull_bytes",
    "push_bytes"}`; `role` is `weight`, `state` or `optimizer`, sizes None where only the step
    knows them. Pulls and pushes are those of one step of one worker."""
    feed: str = "worker"
    """Who reads the data: `worker`, or `coordinator` where it cannot leave that process."""


@dataclass(frozen=True, slots=True)
class MemorySampled:
    """Memory of a device, or of the worker's process (`source` says which)."""

    kind: ClassVar[str] = "memory"
    device: str
    step: int
    bytes_in_use: int
    peak_bytes: int | None
    source: str


@dataclass(frozen=True, slots=True)
class ClockMeasured:
    """How far the reference worker's wall clock is from this worker's, or why nobody can say.

    `own time + offset_ns` is the reference's time. The truth lies within `uncertainty_ns` (half
    the least round trip), however unlike the two ways of a message are.
    """

    kind: ClassVar[str] = "clock"
    reference: int
    """Number of the worker whose clock all are told by."""
    measured_ns: int
    """When, by this worker's own wall clock."""
    offset_ns: int | None
    uncertainty_ns: int | None
    round_trip_ns: int | None
    num_exchanges: int
    """Messages there and back, of which the quickest counts."""
    source: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LinkBytes:
    """Bytes between this process and the others of its cluster since it started.

    Each link is `{"peer": 1, "opened": true, "sent_bytes": ..., "received_bytes": ...,
    "sent_packets": ..., "received_packets": ..., "retransmitted_bytes": ... or null,
    "rtt_ms": ...}`: the connections with one peer together, by who opened them. `peer` is null
    where it cannot be told. Closed connections stay counted.
    """

    kind: ClassVar[str] = "links"
    segment: int | None
    step: int | None
    """Steps of the run that were done; None in a process that does no steps itself."""
    links: list[dict[str, Any]]
    interface: dict[str, Any] | None = None
    """`{"name", "sent_bytes", "received_bytes", "sent_packets", "received_packets"}` of this
    process's own network interface, frames with their headers; None where it has none."""
    reason: str | None = None
    """Why the system does not tell, where it does not."""


@dataclass(frozen=True, slots=True)
class CommandAnswered:
    """A numbered command was applied or refused; a refused one left the run as it was."""

    kind: ClassVar[str] = "answer"
    number: int
    command: str
    status: str
    """`applied` or `rejected`."""
    step: int | None = None
    message: str | None = None
    took_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The run cannot go on. `message` is for people, `detail` for the curious."""

    kind: ClassVar[str] = "failed"
    message: str
    detail: str = ""
    follows: bool = False
    """It only tells of another worker's end: who was lost knows more, or whoever watched it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The worker closed its books: `finished` (all steps done), `stopped` (asked to), or
    `replaced` (a fresh worker has taken over)."""

    kind: ClassVar[str] = "finished"
    status: str
    steps: int


@dataclass(frozen=True, slots=True)
class Launched:
    """Launcher: a worker process was given this run."""

    kind: ClassVar[str] = "launched"
    worker: int
    generation: int
    pid: int
    pid_started_ns: int
    """Start time of the process, so that a reused pid is not mistaken for it."""
    from_spare: bool
    task: str | None = None
    """What the process is in a cluster: `worker 1`, `parameter server 0`."""
    address: str | None = None
    """`host:port` of its server in the cluster."""
    host: str | None = None
    """Name of the machine it is on, where the run may have processes on others."""


@dataclass(frozen=True, slots=True)
class Exited:
    """Launcher: a worker process ended, and why as far as the launcher can tell."""

    kind: ClassVar[str] = "exited"
    worker: int
    generation: int
    exit_code: int | None
    verdict: str
    """`finished`, `stopped`, `replaced`, `failed`, `crashed`, `killed`, `hung`, `out-of-memory`."""
    message: str | None = None
    follows: int | None = None
    """Number of the process whose end was the reason for this one's, where it was."""
    lost_ns: int | None = None
    """When the launcher saw it fail, or end where it should not have; None where it ended well or
    was ended by the launcher for another's sake."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader of the run should know; `level` is `info` or `warning`."""

    kind: ClassVar[str] = "note"
    level: str
    message: str
    fields: dict[str, Any] = field(default_factory=dict)


Event = (
    WorkerStarted
    | Environment
    | SegmentOpened
    | StepDone
    | Retraced
    | WindowCaptured
    | PlacementRecorded
    | CoresExpanded
    | ClosureDone
    | VariablesServed
    | MemorySampled
    | LinkBytes
    | ClockMeasured
    | CommandAnswered
    | Failed
    | Finished
    | Launched
    | Exited
    | Note
)


def to_record(event: Event, at_ns: int) -> dict[str, Any]:
    """The JSON-ready line of an event."""
    # Not `asdict`: it copies deeply, which is half the cost of recording a step.
    values = {name: getattr(event, name) for name in event.__slots__}
    return {"kind": event.kind, "at_ns": at_ns, **values}
