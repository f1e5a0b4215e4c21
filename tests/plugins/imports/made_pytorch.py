"""Traces of PyTorch's profiler of programs that never ran, with a known truth."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]
BASE_NS = 1_711_925_406_000_000_000
"""1 April 2024, as Kineto writes it: times of events count from here."""


def at_host(name: str, ts: float, dur: float, cat: str = "user_annotation", **args: Any) -> Event:
    event = {"ph": "X", "cat": cat, "name": name, "pid": 5, "tid": 5, "ts": ts, "dur": dur}
    return event | {"args": args}


def launched(
    name: str, ts: float, dur: float, number: int, at: float, **args: Any
) -> tuple[Event, Event]:
    """A kernel on GPU 0, and the call of the host that launched it at the time `at`."""
    call = at_host("cudaLaunchKernel", at, 1.0, "cuda_runtime", correlation=number)
    known = {"device": 0, "stream": 7, "correlation": number} | args
    kernel = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur}
    return call, kernel | {"args": known}


def steps(num_steps: int = 3, length: float = 1000.0, first: int = 4) -> list[Event]:
    """Annotated steps, each with a kernel of 300 us that it launches at once."""
    events: list[Event] = []
    for step in range(num_steps):
        begin = 100.0 + step * length
        events.append(at_host(f"ProfilerStep#{first + step}", begin, length - 10))
        events += launched("sgemm", begin + 50, 300.0, 1000 + step, begin + 5)
    return events


def with_reduce(group: dict[str, Any]) -> list[Event]:
    """Steps with an all-reduce of 4 MB for 100 us, of which computation hides nothing."""
    sized = {"dtype": "Float", "In msg nelems": 1_000_000, "Collective name": "allreduce", **group}
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"
    reduces = [
        launched(name, 600.0 + step * 1000, 100.0, 2000 + step, 110.0 + step * 1000, **sized)
        for step in range(3)
    ]
    return [*steps(), *(event for pair in reduces for event in pair)]


def labelled(pid: int, label: str) -> Event:
    return {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": label}}
