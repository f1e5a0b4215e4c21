"""The types of what a stored spec says, so far as it says it.

A stored spec may come from another version: fields may be missing, and unknown ones are kept.
Known ones have the types and ranges that readers rely on. `strategy_profiles.spec.run_spec.RunSpec`
is what a request is checked with.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from strategy_profiles.decoders import converted
from strategy_profiles.spec.field_types import (
    Bytes,
    Count,
    Json,
    Ms,
    Name,
    Small,
    Step,
    Worker,
    check_json,
)


class _Delay(Struct):
    replica: Small
    ms: Ms
    worker: Worker = 0


class _Tpu(Struct):
    cores_per_replica: Annotated[int, Meta(ge=1, lt=2**16)] = 1
    topology: Annotated[list[Small], Meta(max_length=4)] | None = None
    split_axis: Small | None = None
    spmd: bool = False


class _Capture(Struct):
    every_step: bool = False
    window_steps: Small = 10
    overhead_budget: float = 0.01


class _Network(Struct):
    contain: bool = True
    interfaces: bool = False
    rate_mbit: float | None = None
    delay_ms: Ms | None = None


class _ParameterServer(Struct):
    partitioner: Name = "none"
    parts: Small = 0
    part_bytes: Bytes = 0


class _Change(Struct):
    step: Step
    changes: Json


class _Spec(Struct):
    strategy: Name = ""
    devices: Name = ""
    workers: Worker = 1
    parameter_servers: Small = 0
    workload: Name = ""
    workload_options: Json = {}
    data: Name | None = None
    global_batch_size: Count = 0
    steps: Step | None = 0
    seed: Small = 0
    learning_rate: float | None = None
    loop: Name = ""
    xla: bool = False
    cross_device_ops: Name = ""
    num_packs: Small = 0
    bytes_per_pack: Bytes = 0
    tpu: _Tpu | None = None
    cluster: Json = {}
    network: _Network | None = None
    parameter_server: _ParameterServer | None = None
    gpu_memory_mb: Count | None = None
    capture: _Capture | None = None
    inject: Annotated[list[_Delay], Meta(max_length=65_536)] = []
    live_delays: bool = False
    reconfigure: Annotated[list[_Change], Meta(max_length=65_536)] = []
    hang_timeout_s: float = 0.0


def check_spec(spec: Json) -> None:
    """Raise ValueError if a known field has another type, or the spec is nested too deeply."""
    check_json(spec)
    converted(spec, _Spec)
