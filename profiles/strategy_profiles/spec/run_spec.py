"""RunSpec: what was asked. Validated, versioned, loads from YAML and JSON.

Each field is checked here. What a strategy asks of them is in `strategy_core.planning.spec_rules`,
and what the machine has to have in `strategy_core.planning.validation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticKnownError

from strategy_profiles.errors import SpecError
from strategy_profiles.user_input.files import read_text
from strategy_profiles.user_input.text import TextError, parse_json, quoted
from strategy_profiles.user_input.wrong_field import what_it_takes
from strategy_profiles.user_input.yaml_text import parse_yaml


def spec_error(error: ValidationError, spec: type[BaseModel]) -> SpecError:
    """Return the first error as a SpecError; `spec` is the model that was validated."""
    first: Mapping[str, Any] = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        group = ".".join(str(part) for part in first["loc"][:-1])
        known = ", ".join(sorted(_fields(spec, first["loc"][:-1])))
        where = f" of {group}" if group else ""
        return SpecError(
            f"A run has no field '{path}'", advice=f"Fields{where}: {known}", field=path
        )
    if first["type"] == "missing":
        return SpecError(f"{path} is missing: it has no default", field=path)
    said = f"{path}={quoted(first['input'])}" if path else quoted(first["input"])
    return SpecError(f"{said} is not valid: {what_it_takes(first)}", field=path)


def _fields(spec: type[BaseModel], groups: Sequence[int | str]) -> Iterable[str]:
    """The names of the fields of a group, or of an item of a list, within a model."""
    for name in groups:
        if isinstance(name, int):
            continue
        inner = spec.model_fields[name].annotation
        spec = next(each for each in (inner, *get_args(inner)) if hasattr(each, "model_fields"))
    return spec.model_fields


MAX_TIMEOUT_S = 1e7
"""About four months: longer ones overflow the clocks of Python's waits."""

CrossDeviceOps = Literal[
    "auto", "nccl", "hierarchical-copy", "reduction-to-one-device", "collective-ring"
]
Loop = Literal["custom", "fit"]

CROSS_DEVICE_OPS: tuple[str, ...] = get_args(CrossDeviceOps)


_WRONG_KINDS: dict[type, Literal["bool_type", "int_type", "float_type"]] = {
    bool: "bool_type",
    int: "int_type",
    float: "float_type",
}


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    @field_validator("*", mode="before")
    @classmethod
    def _keep_its_kind(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse what Pydantic would change: true as 1, 1 as true, a text of digits as a number."""
        annotation: Any = cls.model_fields[info.field_name or ""].annotation
        kinds = _kinds_of(annotation)
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, bool | int | float | str) and kinds and type(item) not in kinds:
                raise PydanticKnownError(_WRONG_KINDS[next(iter(kinds))])
        return value


@cache
def _kinds_of(annotation: Any) -> tuple[type, ...]:
    """Return the kinds of plain values that a field of numbers or of true and false may have; none
    for other fields, whose values are never changed."""
    parts = get_args(annotation)
    if not parts:
        kinds = {bool: (bool,), int: (int, float), float: (float, int)}
        return kinds.get(annotation, ())
    return tuple(kind for part in parts for kind in _kinds_of(part))


class Capture(_Model):
    """How much of the run is recorded in full."""

    overhead_budget: float = Field(0.01, gt=0, le=1)
    """Share of the run's time that windows may cost, stop and conversion included, and that writing
    steps down takes. Each segment's first window comes before it is paid for."""
    every_step: bool = False
    """Capture every step in full, whatever it costs."""
    window_steps: int = Field(10, ge=1, le=1000)
    """Steps of a capture window. One of steps of a few ms goes on for 50 ms or 20 steps."""
    marks: bool = True
    """Light per-replica timestamps on every step."""
    keep_xplane: bool = True
    """Keep the raw XPlane files, so that TensorBoard and XProf open the same run."""
    every_worker: bool = False
    """Capture every worker of a cluster in full, not the leader alone. TensorFlow 2.21 can crash
    a worker that is not the leader when its profiler stops: the run may be lost."""
    contexts: bool = False
    """Trace the context switches of each segment's first step."""
    limit_mb: int = Field(4096, ge=1, lt=2**31)
    """A run without a number of steps is stopped once its folder holds this many megabytes."""


class TpuLayout(_Model):
    """How a TPU's cores are laid out and shared among replicas."""

    topology: tuple[int, int, int, int] | None = None
    """The mesh (x, y, z, core); None: the usual one for the number of cores."""
    cores_per_replica: int = Field(1, ge=1, le=64)
    """Cores that one replica is spread over."""
    split_axis: int | None = Field(None, ge=0, le=64)
    """Axis of the features that is split over a replica's cores; None: the first core has all."""
    spmd: bool = False
    """One program partitioned over the cores, instead of ops assigned to cores."""


class ClusterOptions(_Model):
    """How long the processes of a run wait for each other."""

    start_timeout_s: float = Field(60.0, gt=0, le=MAX_TIMEOUT_S)
    """A process that is not there by then is given up, and the run with it."""
    heartbeat_timeout_s: float = Field(5.0, ge=1, le=MAX_TIMEOUT_S)
    """TensorFlow's coordination service gives a silent process up after this long."""
    collective_timeout_s: float | None = Field(None, gt=0, le=MAX_TIMEOUT_S)
    """Every collective that takes longer fails; None: it waits as long as its peers live."""
    checkpoint_every_steps: int = Field(0, ge=0, lt=2**31)
    """The leader saves the training state this often; 0: only before a change and at the end."""
    restarts: int = Field(0, ge=0, le=100)
    """So often may a run that lost a process begin again from its last checkpoint."""


class NetworkOptions(_Model):
    """The network between the processes of a cluster on one host."""

    contain: bool = True
    """Isolate the cluster in its own network if the system allows it, so that no other user reaches
    its servers."""
    interfaces: bool = False
    """Each process has a network interface to itself; a rate or a delay implies it."""
    rate_mbit: float | None = Field(None, ge=1, le=100_000)
    """What a process can send, and receive, in 10^6 bits per second; None: no limit."""
    delay_ms: float | None = Field(None, gt=0, le=10_000)
    """How long a packet is on its way, one way; None: no delay."""

    @property
    def emulates(self) -> bool:
        """Whether each process has a link of its own."""
        return self.interfaces or self.rate_mbit is not None or self.delay_ms is not None


class ParameterServerOptions(_Model):
    """How variables are spread over parameter servers."""

    partitioner: Literal["none", "fixed", "min-size", "max-size"] = "none"
    """How weights are cut into parts along their first axis: TensorFlow's partitioners."""
    parts: int = Field(0, ge=0, le=256)
    """Of `fixed` the number of parts, of `min-size` the most; 0: as many as there are servers."""
    part_bytes: int = Field(262_144, ge=1, lt=2**63)
    """Of `min-size` and `max-size` the size of a part."""


class Delay(_Model):
    """A real delay inside one replica's step, put between its gradients and their all-reduce."""

    kind: Literal["delay"] = "delay"
    """The only kind there is."""
    replica: int = Field(ge=0)
    """Among the replicas of its worker."""
    ms: float = Field(gt=0, le=60_000)
    """Length of the delay, in milliseconds."""
    worker: int = Field(0, ge=0)
    """Process number of its worker."""


class ScriptedChange(_Model):
    """A live reconfiguration planned ahead: applied before `step` runs."""

    step: int = Field(ge=1, lt=2**31)
    """Number of the first step with the change in force."""
    changes: dict[str, Any]
    """New values by dotted path, such as `capture.every_step`."""


class RunSpec(_Model):
    """What was asked of a run."""

    spec_version: Literal[1] = 1
    """Version of this format."""
    strategy: str = "mirrored"
    """One of `strategy_core.planning.strategy_catalog`, which checks the name."""
    devices: str = "auto"
    """`cpu:4` (a count), `gpu:0,gpu:1` (a list), `tpu` or `auto`."""
    workers: int = Field(1, ge=1, le=256)
    """Worker processes; of the tpu strategy the hosts that share its cores."""
    parameter_servers: int = Field(0, ge=0, le=256)
    """Parameter server processes, for the strategy of that name."""
    workload: str = "digits-cnn"
    """Name of a built-in workload, or the path of a file that defines one."""
    workload_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the workload: keyword-only parameters of its functions."""
    data: str | None = None
    """The user's own data: .npz, .csv, .parquet, .tfrecord or a folder of images."""
    global_batch_size: int = Field(256, ge=1, lt=2**31)
    """Examples in a step, over all replicas."""
    steps: int | None = Field(100, ge=1, lt=2**31)
    """Training steps of the whole run, over all segments; None: it goes on until it is stopped."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Seed of the initial weights and of the order of the data."""
    learning_rate: float | None = Field(None, ge=0)
    """Overrides the workload's own; changes while the run goes on, its optimizer's state kept."""
    loop: Loop = "custom"
    """`custom`: the lab's own training step; `fit`: Keras `fit`."""
    xla: bool = False
    """XLA compiles each replica's forward and backward pass; of `fit` the whole step."""
    cross_device_ops: CrossDeviceOps = "auto"
    """Algorithm by which gradients cross devices; `auto`: the strategy's default."""
    num_packs: int = Field(1, ge=0, lt=2**31)
    """Of `nccl` and `hierarchical-copy`: packs that gradients are merged into; 0: none."""
    bytes_per_pack: int = Field(0, ge=0, lt=2**63)
    """Of collectives: gradients are merged into packs of this size; 0: one pack."""
    tpu: TpuLayout = TpuLayout()
    """How a TPU's cores are laid out and shared."""
    cluster: ClusterOptions = ClusterOptions()
    """How long processes wait for each other, and what happens when one is lost."""
    network: NetworkOptions = NetworkOptions()
    """The network between the processes on this host."""
    parameter_server: ParameterServerOptions = ParameterServerOptions()
    """How variables are spread over parameter servers."""
    gpu_memory_mb: int | None = Field(None, ge=64, lt=2**31)
    """Memory of each logical GPU if several share one physical GPU."""
    capture: Capture = Capture()
    """What is recorded."""
    inject: tuple[Delay, ...] = ()
    """Delays inside replicas' steps."""
    live_delays: bool = False
    """The custom loop's step has a place for a delay in each replica: the first one, while the run
    goes on, needs no new trace. The page asks for it."""
    reconfigure: tuple[ScriptedChange, ...] = ()
    """Changes planned ahead, by step."""
    hang_timeout_s: float = Field(60.0, gt=0, le=MAX_TIMEOUT_S)
    """A run without any event for this long is hung."""

    def model_post_init(self, _context: object) -> None:
        parse_devices(self.devices)

    @property
    def device_request(self) -> DeviceRequest:
        return parse_devices(self.devices)

    def with_changes(self, changes: Mapping[str, Any]) -> RunSpec:
        """Return a new spec with values by dotted path, e.g. `{"capture.every_step": True}`."""
        document = self.model_dump(mode="json")
        for path, value in changes.items():
            _set_path(document, path, value)
        return parse_spec(document)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class DeviceRequest(_Model):
    """A parsed `devices` text. `indices` is empty if the text has only a count."""

    kind: Literal["cpu", "gpu", "tpu", "auto"]
    count: int | None
    indices: tuple[int, ...] = ()


_ONE_DEVICE = re.compile(r"(cpu|gpu):([0-9]{1,6})", re.IGNORECASE)
_DEVICE_RULE = "Write 'auto', 'tpu', a count such as 'cpu:4', or a list such as 'gpu:0,gpu:1'"
MAX_DEVICES = 64


def parse_devices(text: str) -> DeviceRequest:
    """Parse a `devices` text. Raises SpecError if it is invalid."""
    plain = text.strip().lower()
    if plain == "auto":
        return DeviceRequest(kind="auto", count=None)
    if plain == "tpu":
        return DeviceRequest(kind="tpu", count=None)
    matches = [_ONE_DEVICE.fullmatch(part.strip()) for part in plain.split(",")]
    if not all(matches):
        raise SpecError(
            f"devices={quoted(text)} is not valid", advice=_DEVICE_RULE, field="devices"
        )
    kinds = {match[1] for match in matches if match}
    numbers = [int(match[2]) for match in matches if match]
    if len(kinds) != 1:
        raise SpecError(
            f"devices={quoted(text)} mixes CPUs and GPUs",
            advice="Name devices of one kind",
            field="devices",
        )
    kind: Literal["cpu", "gpu"] = "cpu" if kinds == {"cpu"} else "gpu"
    # 'gpu:0' can only be the device with that number: a count of nothing has no meaning.
    is_count = len(numbers) == 1 and "," not in plain and numbers[0] != 0
    if is_count and numbers[0] > MAX_DEVICES:
        raise SpecError(
            f"devices={quoted(text)} is too many: a run has at most {MAX_DEVICES}", field="devices"
        )
    if is_count:
        return DeviceRequest(kind=kind, count=numbers[0])
    if len(set(numbers)) != len(numbers):
        raise SpecError(f"devices={quoted(text)} names a device twice", field="devices")
    return DeviceRequest(kind=kind, count=len(numbers), indices=tuple(numbers))


def parse_spec(document: Mapping[str, Any]) -> RunSpec:
    """Create a RunSpec from a plain mapping. Raises SpecError with the user's field names."""
    try:
        return RunSpec.model_validate(dict(document))
    except ValidationError as error:
        raise spec_error(error, RunSpec) from None


def load_spec(path: str | Path) -> RunSpec:
    """Read a RunSpec from a .yaml, .yml or .json file; raises SpecError."""
    file = Path(path)
    text = read_text(file, "The spec file")
    try:
        document = parse_json(text) if file.suffix == ".json" else parse_yaml(text)
    except TextError as error:
        raise SpecError(f"The spec file {file} {error}") from None
    if not isinstance(document, dict):
        raise SpecError(
            f"The spec file {file} holds {quoted(document)} instead of fields",
            advice="Write one field a line, such as 'steps: 100'",
        )
    return parse_spec(document)


def _set_path(document: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    target = document
    for parent in parents:
        nested = target.get(parent)
        if not isinstance(nested, dict):
            raise SpecError(
                f"A run has no field {quoted(path)}: {quoted(parent)} holds no fields",
                field=path,
            )
        target = nested
    target[last] = value
