"""Profiles of programs that never ran, with a known truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import strategy_profiles
from strategy_profiles.importers import import_profile
from strategy_profiles.tables.store import Profile
from tests.made_xplane import Inline, MadeLine, MadePlane, started, xspace

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000_000
"""Picoseconds of a millisecond."""


def opened(folder: Path, data: bytes, name: str = "host.xplane.pb") -> Profile:
    """The run that a profile is imported as."""
    (folder / name).write_bytes(data)
    return strategy_profiles.load(import_profile(folder / name, folder / "run"))


def gpu_profile(num_gpus: int = 2, num_steps: int = 4, *, annotated: bool = True) -> bytes:
    """Return steps of 10 ms on several GPUs, launched by one thread of the host.

    In each step every GPU copies 1 MB from the host for 1 ms, computes for 4 ms (the last GPU for
    5 ms) and enters an all-reduce that all leave 8 ms after the step's first event.
    """
    launches: list[tuple[str, int, int, dict[str, int | str]]] = []
    lines: list[list[MadeLine]] = []
    correlation = 0
    for gpu in range(num_gpus):
        kernels, copies = [], []
        for step in range(num_steps):
            begin = step * 10 * MS + MS
            compute = (5 if gpu == num_gpus - 1 else 4) * MS
            work = [
                ("MemcpyH2D", begin, MS, {"memcpy_details": "kind:HtoD size:1000000 async:1"}),
                ("gemm_kernel", begin + MS, compute, {"tf_op": "dense/MatMul:MatMul"}),
                (
                    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
                    begin + MS + compute,
                    7 * MS - compute,
                    {"tf_op": "CollectiveReduceV2:CollectiveReduceV2"},
                ),
            ]
            for at, (name, start, length, stats) in enumerate(work):
                correlation += 1
                event = (name, start, length, {"correlation_id": correlation, **stats})
                (copies if at == 0 else kernels).append(event)
                launch = step * 10 * MS + at * 1_000_000
                launches.append(
                    ("cuLaunchKernel", launch, 900_000, {"correlation_id": correlation})
                )
        lines.append(
            [
                MadeLine("Stream #13(MemcpyH2D)", copies, 13),
                MadeLine("Stream #14(Kernel)", kernels, 14),
                MadeLine("XLA Modules", [("module(1)", 0, 9 * MS, {})], 1),
            ]
        )
    host = [MadeLine("cuda/7", sorted(launches, key=lambda event: event[1]), 7)]
    if annotated:
        marks = [("train", i * 10 * MS, 9 * MS, {"step_num": 5 + i}) for i in range(num_steps)]
        host.append(MadeLine("python/1", marks, 1))
    planes = [MadePlane(f"/device:GPU:{gpu}", own) for gpu, own in enumerate(lines)]
    return xspace([*planes, MadePlane("/host:CPU", host), started(START_NS)], ["trainer:6009"])


def old_gpu_profile(num_steps: int = 2, copied: str = "") -> bytes:
    """Return steps as TensorFlow 2.3 names their parts, of 2 of 8 replicas, every 100 ms.

    In each, replica 4 computes for 4 ms on GPU:4, and 50 ms later replica 6 for 5 ms on GPU:6. Both
    then copy for 1 ms; `copied` are the details of each copy. GPU:1 copies once, GPU:0 does
    nothing.
    """
    kernel = "void tensorflow::functor::FillPhiloxRandomKernelLaunch<long>()"
    copy = "Stream #123(MemcpyH2D)"
    planes = [
        MadePlane("/device:GPU:0"),
        MadePlane("/device:GPU:1", [MadeLine(copy, [("MemcpyH2D", 0, MS, {})])]),
    ]
    for gpu, late, length in ((4, 10, 4), (6, 60, 5)):
        begins = [(step * 100 + late) * MS for step in range(num_steps)]
        stats = {"level 0": f"replica_{gpu}/bert/dropout/random_uniform:RandomUniform"}
        kernels = [(kernel, at, length * MS, stats) for at in begins]
        details = {"memcpy_details": Inline(copied)} if copied else {}
        copies = [
            ("MemcpyH2D", at + length * MS, MS, {"correlation_id": at, **details}) for at in begins
        ]
        steps = [(str(step), at, (length + 1) * MS, {}) for step, at in enumerate(begins)]
        lines = [
            MadeLine("Stream #134(Compute)", kernels),
            MadeLine(copy, copies),
            MadeLine("Steps", steps),
        ]
        planes.append(MadePlane(f"/device:GPU:{gpu}", lines))
    return xspace([*planes, MadePlane("/host:CPU")])


def tpu_profile(num_cores: int = 2, num_steps: int = 4, line: str = "XLA Ops") -> bytes:
    """Return executions of one program, every 20 ms, on lines that begin at time 0.

    Each computes for 12 ms and then reduces 4 kB for 6 ms.
    """
    reduce = (
        "%all-reduce.1 = f32[1000]{0:T(1024)} all-reduce(f32[1000]{0} %fusion.1), to_apply=%add"
    )
    fusion = "%fusion.1 = f32[1000]{0} fusion(f32[1000]{0} %p), kind=kLoop"
    planes = []
    for core in range(num_cores):
        begins = [step * 20 * MS + 1_000 * core for step in range(num_steps)]
        ops = [
            event
            for begin in begins
            for event in ((fusion, begin, 12 * MS, {}), (reduce, begin + 12 * MS, 6 * MS, {}))
        ]
        modules = [
            ("jit_step(77)", begin, 18 * MS, {"run_id": i}) for i, begin in enumerate(begins)
        ]
        kinds = {
            reduce: ("all-reduce.1", {"hlo_category": "all-reduce", "tf_op": "jit(step)/psum:"}),
            fusion: ("fusion.1", {"hlo_category": "loop fusion"}),
        }
        lines = [MadeLine("XLA Modules", modules, 2), MadeLine(line, ops, 3)]
        planes.append(MadePlane(f"/device:TPU:{core}", lines, kinds=kinds))
    return xspace([*planes, MadePlane("/host:CPU"), started(START_NS)])


def host_profile(names: Sequence[str], num_steps: int = 3) -> bytes:
    """Return a host that runs each op for 1 ms, one after the other, in annotated steps."""
    ops = [
        (name, (step * 100 + at) * MS, MS, {})
        for step in range(num_steps)
        for at, name in enumerate(names)
    ]
    marks = [("train", step * 100 * MS, 90 * MS, {"step_num": step}) for step in range(num_steps)]
    lines = [MadeLine("tf_Compute/2", ops, 2, 0), MadeLine("python/1", marks, 1, 0)]
    return xspace([MadePlane("/host:CPU", lines), started(START_NS)], ["laptop"])
