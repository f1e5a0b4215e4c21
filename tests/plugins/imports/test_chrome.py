"""Chrome traces: those of TensorBoard and XProf, of PyTorch, and what is left of a cut one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from strategy_profiles.tables.store import Profile
from tests.plugins.imports.made import opened


def named(pid: int, process: str, threads: dict[int, str]) -> list[dict[str, Any]]:
    """The events that name a process and its threads."""
    first = {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": process}}
    return [
        first,
        *(
            {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}
            for tid, name in threads.items()
        ),
    ]


def xprof_trace() -> list[dict[str, Any]]:
    """Three steps of 10 ms with a kernel of 4 ms, as XProf writes them: times in microseconds."""
    events = named(1, "/device:GPU:0 (pid 1)", {7: "Stream #13(Kernel)"})
    events += named(701, "/host:CPU (pid 701)", {9: "python"})
    for step in range(3):
        begin = step * 10_000.0
        known = {"correlation_id": str(step + 1), "tf_op": "dense/MatMul:MatMul"}
        kernel = {"ph": "X", "pid": 1, "tid": 7, "ts": begin + 100, "dur": 4000.0}
        events.append(kernel | {"name": "gemm", "args": known})
        launch = {"ph": "X", "pid": 701, "tid": 9, "ts": begin + 1, "dur": 5.0}
        args = {"correlation_id": str(step + 1)}
        events.append(launch | {"name": "cuLaunchKernel", "args": args})
        mark = {"ph": "X", "pid": 701, "tid": 9, "ts": begin, "dur": 9000.0, "name": "train"}
        events.append(mark | {"args": {"step_num": str(step)}})
    return events


def of_text(tmp_path: Path, text: str) -> Profile:
    return opened(tmp_path, text.encode(), "trace.json")


def test_a_trace_of_xprof_has_devices_steps_and_ops(tmp_path: Path) -> None:
    profile = of_text(tmp_path, json.dumps({"traceEvents": xprof_trace()}))
    rows = profile.table("replica_steps").to_pylist()
    assert [(row["step"], row["wall_ms"], row["compute_ms"]) for row in rows] == [
        (0, 10.0, 4.0),
        (1, 10.0, 4.0),
        (2, 9.0, 4.0),
    ]
    kernels = [row for row in profile.table("spans").to_pylist() if row["clock"] == "device"]
    assert {(row["device"], row["name"], row["op"]) for row in kernels} == {
        ("/device:GPU:0", "dense/MatMul", "gemm")
    }
    notes = [note["message"] for note in profile.summary()["notes"]]
    assert any("does not say when it was recorded" in note for note in notes)


def test_a_trace_of_pytorch_has_its_gpus_and_its_steps(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    for step in range(3):
        begin = step * 1000.0
        mark = {"ph": "X", "pid": 5, "tid": 5, "ts": begin, "dur": 900.0, "args": {}}
        events.append(mark | {"name": f"ProfilerStep#{step}", "cat": "user_annotation"})
        for gpu in (0, 1):
            kernel = {"ph": "X", "pid": gpu, "tid": 7, "ts": begin + 10, "dur": 300.0}
            args = {"device": gpu, "stream": 7, "correlation": 2 * step + gpu + 1}
            events.append(kernel | {"name": "volta_sgemm", "cat": "kernel", "args": args})
    profile = of_text(tmp_path, json.dumps(events))
    assert profile.table("steps")["step"].to_pylist() == [0, 1, 2]
    assert profile.segments[0].replica_devices == ["/device:GPU:0", "/device:GPU:1"]
    assert {row["compute_ms"] for row in profile.table("replica_steps").to_pylist()} == {0.3}


def test_a_collective_of_pytorch_has_its_size(tmp_path: Path) -> None:
    gathered = {"dtype": "BFloat16", "In msg nelems": 1000, "Out msg nelems": 4000}
    known = {"device": 0, "stream": 7, "correlation": 1, "Group size": 4} | gathered
    kernel = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL()"}
    step = {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 90, "name": "ProfilerStep#3"}
    events = [step, kernel | {"pid": 0, "tid": 7, "ts": 10, "dur": 20, "args": known}]
    profile = of_text(tmp_path, json.dumps({"traceEvents": events}))
    (row,) = profile.table("collectives").to_pylist()
    assert (row["op"], row["bytes"], row["bytes_source"]) == ("all-gather", 8000, "derived")


def test_a_begin_and_an_end_are_one_event(tmp_path: Path) -> None:
    pair = [
        {"ph": "B", "pid": 1, "tid": 1, "ts": 5.0, "name": "a:MatMul"},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 8.0},
    ]
    profile = of_text(tmp_path, json.dumps(pair))
    (row,) = profile.table("spans").to_pylist()
    assert (row["name"], row["op"], row["duration_ns"]) == ("a", "MatMul", 3000)


def test_the_whole_events_of_a_cut_trace_are_read(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": xprof_trace()})
    profile = of_text(tmp_path, text[: len(text) - 40])
    assert profile.table("spans").num_rows == 8
    levels = {note["level"]: note["message"] for note in profile.summary()["notes"]}
    assert levels["warning"].startswith("The trace is damaged or cut off")


def test_a_value_that_is_not_a_number_costs_its_event_and_no_other(tmp_path: Path) -> None:
    """`json` of Python, and so PyTorch, writes NaN and Infinity, which JSON does not have."""
    whole = json.dumps({"traceEvents": xprof_trace()})
    damaged = xprof_trace()
    ops = [event for event in damaged if event["ph"] == "X"]
    ops[0] |= {"ts": float("nan"), "args": {"of": [float("nan"), 1]}}
    profile = of_text(tmp_path, json.dumps({"traceEvents": damaged}))
    (tmp_path / "whole").mkdir()
    expected = of_text(tmp_path / "whole", whole).table("spans").num_rows
    assert profile.table("spans").num_rows >= expected - 1
    warnings = [
        note["message"] for note in profile.summary()["notes"] if note["level"] == "warning"
    ]
    assert len(warnings) == 1
    assert warnings[0].startswith("2 values of the trace are NaN or infinite")
