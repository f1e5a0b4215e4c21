"""Traces of PyTorch's profiler: what each spelling of them means, and what is not said of them.

The shapes are those of traces that NVIDIA's, AMD's and Meta's devices have left since 2021.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.findings import findings
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.answers.answer import KeyNumber
from strategy_profiles.importers import import_profile
from strategy_profiles.tables.store import Profile
from tests.plugins.imports.made_pytorch import (
    BASE_NS,
    Event,
    at_host,
    labelled,
    launched,
    steps,
    with_reduce,
)


def opened(tmp_path: Path, events: Sequence[Event], **beside: Any) -> Profile:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps({**beside, "traceEvents": list(events)}))
    return strategy_profiles.load(import_profile(file, tmp_path / "run"))


def text_of(profile: Profile) -> str:
    """Everything that the summary says, in one text."""
    return json.dumps(profile.summary())


def key_number(profile: Profile, key: str) -> KeyNumber:
    numbers = key_numbers(gather_facts(profile, profile.segments[0]))
    return next(item for item in numbers if item.key == key)


def step_lengths_ms(profile: Profile) -> list[tuple[int, float]]:
    return [(row["step"], round(row["wall_ms"], 4)) for row in profile.table("steps").to_pylist()]


def test_categories_had_capitals_in_2021(tmp_path: Path) -> None:
    args = {"device": 1, "stream": 7, "bytes": 4096}
    copy = {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)"}
    events = [
        at_host("ProfilerStep#5", 0, 500, "Operator"),
        {**launched("volta_sgemm", 10, 200, 1, 5)[1], "cat": "Kernel"},
        copy | {"pid": 1, "tid": 7, "ts": 300, "dur": 50, "args": args},
    ]
    profile = opened(tmp_path, events)
    assert profile.segments[0].num_replicas == 1
    assert step_lengths_ms(profile) == [(5, 0.5)]
    (copied,) = profile.table("transfers").to_pylist()
    assert (copied["bytes"], copied["recv_device"]) == (4096, "/device:GPU:1")


@pytest.mark.parametrize("group", [{"Group size": 2}, {"Process Group Ranks": "[0, 1]"}])
def test_one_rank_of_two_communicates(tmp_path: Path, group: dict[str, Any]) -> None:
    distributed_info = {"rank": 0, "world_size": 2}
    profile = opened(tmp_path, with_reduce(group), distributedInfo=distributed_info)
    rows = profile.table("collectives").to_pylist()
    assert {(row["op"], row["group_size"], row["bytes"]) for row in rows} == {
        ("all-reduce", 2, 4_000_000)
    }
    assert key_number(profile, "exposed").value == pytest.approx(0.1)
    assert key_number(profile, "traffic").value == pytest.approx(4e6)
    assert key_number(profile, "busbw").value == pytest.approx(40.0)
    assert "1 of 2 ranks" in profile.summary()["segments"][0]["headline"]
    assert "1 of 2 ranks" in key_number(profile, "slowest").note
    said = text_of(profile)
    assert "rank 0 of the program's 2" in said
    assert "one replica: no" not in said
    assert "group of None" not in said


@pytest.mark.parametrize(
    ("beside", "size"),
    [
        ({"world_size": 2}, 2),
        ({"world_size": 8, "pg_config": [{"pg_size": 8}, {"pg_size": 8}]}, 8),
        ({"world_size": 8, "pg_config": [{"pg_size": 8}, {"pg_size": 2}]}, None),
        ({"world_size": 8}, None),
    ],
)
def test_a_group_that_no_kernel_names_is_known_if_there_is_one_size(
    tmp_path: Path, beside: dict[str, Any], size: int | None
) -> None:
    profile = opened(tmp_path, with_reduce({}), distributedInfo={"rank": 0, **beside})
    assert {row["group_size"] for row in profile.table("collectives").to_pylist()} == {size}
    if size is None:
        assert "how many ranks take part" in key_number(profile, "busbw").note


def test_the_annotation_around_a_launch_names_and_sizes_a_collective(tmp_path: Path) -> None:
    """Until 2023 a kernel tells neither, and one that sends and receives can be any collective."""
    kernel = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"
    known = {"Input Dims": [[8, 1024]], "Input type": ["float"]}
    events = [
        *steps(1),
        at_host("nccl:all_to_all", 200, 100, **known),
        *launched(kernel, 600, 100, 1, 250),
        at_host("nccl:all_to_all", 310, 90, **known),
        *launched(kernel, 700, 50, 2, 320),
        *launched(kernel, 750, 50, 3, 330),
    ]
    rows = opened(tmp_path, events).table("collectives").to_pylist()
    assert {row["op"] for row in rows} == {"all-to-all"}
    # Of the second annotation, which kernel moved how much is not known.
    assert [row["bytes"] for row in rows] == [32_768, None, None]


def test_amd_tells_a_copys_size_at_the_call_and_has_one_kernel_for_all_collectives(
    tmp_path: Path,
) -> None:
    call = at_host("hipMemcpyWithStream", 120, 5, "cuda_runtime", correlation=1, size="2560")
    args = {"device": 0, "stream": 0, "correlation": 1, "kind": "HtoD"}
    copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Host -> Device)", "args": args}
    named = {"Collective name": "broadcast", "Group size": 8}
    generic = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
    events = [
        *steps(1),
        call,
        copy | {"pid": 0, "tid": 0, "ts": 450, "dur": 20},
        *launched(generic, 500, 10, 2, 130, **named),
        *launched(generic, 520, 10, 3, 140),
    ]
    profile = opened(tmp_path, events)
    assert [row["bytes"] for row in profile.table("transfers").to_pylist()] == [2560]
    collectives = [
        (row["op"], row["group_size"]) for row in profile.table("collectives").to_pylist()
    ]
    assert collectives == [("broadcast", 8), ("collective", None)]


def test_times_count_from_the_base_that_the_trace_names(tmp_path: Path) -> None:
    profile = opened(tmp_path, steps(1), baseTimeNanoseconds=BASE_NS)
    assert profile.table("steps")["start_ns"].to_pylist() == [BASE_NS + 100_000]
    assert "1970" not in text_of(profile)


def test_times_since_the_epoch_keep_their_nanoseconds(tmp_path: Path) -> None:
    mark = at_host("ProfilerStep#1", 1_623_142_623_460_172.25, 176_078.0)
    profile = opened(tmp_path, [mark], baseTimeNanoseconds=BASE_NS)
    (row,) = profile.table("steps").to_pylist()
    assert (row["start_ns"], row["wall_ms"]) == (1_623_142_623_460_172_250, 176.078)
    assert "1970" not in text_of(profile)


@pytest.mark.parametrize("at_end", [True, False])
def test_a_stub_beside_the_steps_is_not_a_step(tmp_path: Path, *, at_end: bool) -> None:
    number, begin = (7, 3200.0) if at_end else (3, 10.0)
    profile = opened(tmp_path, [*steps(), at_host(f"ProfilerStep#{number}", begin, 49.0)])
    assert [number for number, _ in step_lengths_ms(profile)] == [4, 5, 6]
    assert f"only a part of step {number} (0.0490 ms)" in text_of(profile)


def test_a_short_first_step_with_the_work_of_the_others_is_one(tmp_path: Path) -> None:
    """The host runs ahead until its queue is full."""
    events = [at_host("ProfilerStep#3", 10, 80), *launched("sgemm", 90, 300, 1, 20), *steps()]
    assert step_lengths_ms(opened(tmp_path, events))[0] == (3, 0.08)


@pytest.mark.parametrize("name", ["Optimizer.step#SGD.step", "optimizer.STEP#AdamW.step"])
def test_a_step_ends_with_the_optimizers(tmp_path: Path, name: str) -> None:
    events = [at_host("Optimizer.zero_grad#SGD.zero_grad", 0, 20)]
    for step in range(5):
        begin = step * 1000.0
        events += launched("sgemm", begin + 100, 300, 1 + step, begin + 50)
        events.append(at_host(name, begin + 800, 100))
    profile = opened(tmp_path, events)
    assert step_lengths_ms(profile) == [(0, 0.9)] + [(step, 1.0) for step in range(1, 5)]
    assert name in text_of(profile)
    assert key_number(profile, "step_time").source == "derived"
    (tmp_path / "cut").mkdir()
    cut = [event for event in events if event["ts"] > 700]  # the recording begins inside of a step
    assert step_lengths_ms(opened(tmp_path / "cut", cut)) == [(step, 1.0) for step in range(4)]


def test_an_annotation_that_starts_most_of_the_work_is_a_step(tmp_path: Path) -> None:
    events: list[Event] = []
    for step in range(4):
        begin = step * 1000.0
        events.append(at_host(f"execute_context_{step}(0)_generation_{32 + step}", begin, 500))
        events += launched("attention", begin + 100, 300, 1 + step, begin + 50)
        events += [at_host("nccl:all_reduce", begin + at, 10) for at in (60, 80)]
    profile = opened(tmp_path, events)
    assert [wall for _, wall in step_lengths_ms(profile)] == [1.0, 1.0, 1.0, 0.5]
    assert "execute_context_N(N)_generation_N" in text_of(profile)


def test_what_was_launched_before_the_recording_is_in_no_step(tmp_path: Path) -> None:
    """The devices are a step behind: a step has what the host launched in its own."""
    before = [launched("sgemm", 110 + 300 * at, 290, 100 + at, 0)[1] for at in range(3)]
    after = [
        event
        for step in range(3)
        for event in launched("sgemm", 1010 + 1200.0 * step, 1190, 1 + step, 110 + 1000.0 * step)
    ]
    marks = [at_host(f"ProfilerStep#{step}", 100 + 1000.0 * step, 990) for step in range(3)]
    profile = opened(tmp_path, [*marks, *before, *after])
    rows = profile.table("replica_steps").to_pylist()
    assert [(row["wall_ms"], row["compute_ms"]) for row in rows[:2]] == [(1.2, 1.19)] * 2
    assert "The host runs ahead" in text_of(profile)


def test_devices_of_another_maker_are_replicas(tmp_path: Path) -> None:
    on_device = {"ph": "X", "cat": "mtia_ccp_events", "pid": 9, "tid": 4}
    moved = {"direction": "HOST_TO_DEVICE", "size": 65_536, "stream": 1}
    events = [
        labelled(9, "MTIA 9"),
        at_host("ProfilerStep#1", 0, 1000),
        on_device | {"name": "fc-dtype_Float", "ts": 10, "dur": 600, "args": {"stream": 1}},
        on_device | {"name": "dma_request", "ts": 700, "dur": 100, "args": moved},
        on_device | {"name": "event_wait", "ts": 820, "dur": 100, "args": {"stream": 1}},
    ]
    profile = opened(tmp_path, events)
    assert profile.segments[0].replica_devices == ["/device:MTIA:9"]
    (row,) = profile.table("replica_steps").to_pylist()
    phases = tuple(row[f"{name}_ms"] for name in ("compute", "transfer", "wait", "idle"))
    assert phases == pytest.approx((0.6, 0.1, 0.0, 0.3))
    (copied,) = profile.table("transfers").to_pylist()
    assert (copied["bytes"], copied["recv_device"]) == (65_536, "/device:MTIA:9")


def test_a_category_of_tomorrow_counts_by_its_process(tmp_path: Path) -> None:
    kernel = {"ph": "X", "cat": "xyz_kernel", "name": "matmul", "pid": 3, "tid": 1, "args": {}}
    events = [at_host("ProfilerStep#1", 0, 100), kernel | {"ts": 10, "dur": 50}]
    profile = opened(tmp_path, events)
    said = text_of(profile)
    assert "not recognised: 1 event of category xyz_kernel" in said
    assert "no device that ran" not in said
    (tmp_path / "named").mkdir()
    named = opened(tmp_path / "named", [labelled(3, "XYZ 3"), *events])
    assert named.segments[0].replica_devices == ["/device:XYZ:3"]


def test_a_process_that_is_a_device_by_its_name(tmp_path: Path) -> None:
    """Ascend's traces have no categories and no labels."""
    named = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for pid, name in ((1, "Python"), (4, "Ascend Hardware"))
    ]
    op = {"ph": "X", "name": "MatMul", "pid": 4, "tid": 2, "ts": "120.5", "dur": 30.0, "args": {}}
    other = {"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": "110", "dur": 5, "args": {}}
    profile = opened(tmp_path, [*named, op, other])
    assert profile.segments[0].replica_devices == ["/device:NPU:0"]
    assert "Not recognised: 1 event of process Python" in text_of(profile)


def test_a_trace_of_the_host_alone_says_so_and_names_what_it_called(tmp_path: Path) -> None:
    events = [at_host("ProfilerStep#1", 0, 100), at_host("gloo:all_reduce", 10, 20)]
    profile = opened(tmp_path, events, distributedInfo={"rank": 34, "world_size": 300})
    assert (
        "events of the host only: 2 user_annotation"
        in key_number(profile, "parallel_efficiency").note
    )
    assert "the host calls gloo:all_reduce (1)" in key_number(profile, "traffic").note
    assert "rank 34 of the program's 300" in text_of(profile)


def test_counters_are_no_ops_and_repeated_annotations_are_counted(tmp_path: Path) -> None:
    on_device = {"ph": "X", "pid": 0, "tid": 7, "ts": 10, "dur": 500, "args": {}}
    events = [
        *steps(),
        on_device | {"cat": "gpu_user_annotation", "name": "ProfilerStep#4"},
        on_device | {"cat": "cuda_profiler_range", "name": "sgemm"},
    ]
    profile = opened(tmp_path, events)
    kernels = [row for row in profile.table("spans").to_pylist() if row["clock"] == "device"]
    assert {row["op"] for row in kernels} == {"sgemm"}
    assert len(kernels) == 3
    said = text_of(profile)
    assert "1 of gpu_user_annotation, which repeats other events" in said
    assert "Not recognised: 1 event of category cuda_profiler_range" in said


def test_waiting_for_a_loader_is_input_and_the_advice_is_pytorchs(tmp_path: Path) -> None:
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    waits = [at_host(loader, 500.0 + 10_000 * step, 9_000) for step in range(12)]
    profile = opened(tmp_path, [*steps(12, length=10_000.0), *waits])
    all_findings = findings(gather_facts(profile, profile.segments[0]))
    by_key = {item.key: item for item in all_findings}
    assert "DataLoader(num_workers" in by_key["input-bound"].advice
    assert not any("TensorFlow" in item.sentence + item.advice for item in all_findings)
    assert not any("tf." in item.advice for item in all_findings)


def test_a_folder_of_ranks_is_one_run_in_the_order_of_the_ranks(tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in (2, 10):
        trace = {"traceEvents": steps(), "distributedInfo": {"rank": rank, "world_size": 16}}
        (folder / f"rank-{rank}.json").write_text(json.dumps(trace))
    (folder / "settings.json").write_text('{"ranks": 16}')
    profile = strategy_profiles.load(import_profile(folder, tmp_path / "run"))
    assert profile.segments[0].replica_devices == ["rank-2/device:GPU:0", "rank-10/device:GPU:0"]
    assert "2 of 16 ranks" in profile.summary()["segments"][0]["headline"]


TRACES = Path(__file__).parent / "data"


@pytest.mark.parametrize(
    ("name", "walls", "kernel_ms", "collective_bytes", "groups", "year"),
    [
        ("h100_nccl.json.gz", [222.442, 219.727, 224.936], 165.186, 307_323_096, {2}, 2024),
        ("mi250.json.gz", [9.288], 0.149, 0, set(), 2025),
        (
            "kineto_resnet50.json.gz",
            [176.078, 173.992, 176.918, 181.259, 176.468, 164.261],
            603.558,
            0,
            set(),
            2021,
        ),
        (
            "mi300x_ddp_resnet18.json.gz",
            [118.240, 115.642, 1014.706, 1068.367, 1076.080],
            358.940,
            0,
            set(),
            2026,
        ),
    ],
)
def test_public_traces_have_what_an_independent_parse_found(
    tmp_path: Path,
    name: str,
    walls: list[float],
    kernel_ms: float,
    collective_bytes: int,
    groups: set[int],
    year: int,
) -> None:
    profile = strategy_profiles.load(import_profile(TRACES / name, tmp_path / "run"))
    table_rows = profile.table("steps").to_pylist()
    assert [row["wall_ms"] for row in table_rows] == pytest.approx(walls, abs=1e-3)
    spans = profile.table("spans").select(["clock", "duration_ns"]).to_pylist()
    on_device = sum(row["duration_ns"] for row in spans if row["clock"] == "device")
    assert on_device / 1e6 == pytest.approx(kernel_ms, abs=1e-3)
    rows = profile.table("collectives").to_pylist()
    assert sum(row["bytes"] or 0 for row in rows) == collective_bytes
    assert {row["group_size"] for row in rows} == groups
    assert datetime.fromtimestamp(table_rows[0]["start_ns"] / 1e9, UTC).year == year
