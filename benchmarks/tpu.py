"""The emulated TPUStrategy against MirroredStrategy: a step and its tracing on the same devices.

    python -m benchmarks.tpu [--quick] [--cores 4] [--workload digits-cnn resnet50]
    python -m benchmarks.tpu --pod [--quick] [--cores 8]        two hosts against one process

Each contestant lives in a process of its own (ring collectives of several strategies cannot share
one) and they take turns, so that a busy spell of the machine meets all of them; ratios are taken
within a round, and the fastest algorithm of MirroredStrategy is the one compared with. Targets:
step 1.05x, tracing 1.5x. Then the partitioned ops: see `tpu_partitioned`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks.measuring.paired import median_ratio
from benchmarks.measuring.record import record_ratio
from benchmarks.programs.tpu_contestant import BATCH_PER_CORE, CONTESTANTS, NUM_HOSTS, ON_HOSTS

ROUNDS = {"digits-cnn": (40, 20), "resnet50": (10, 1)}
"""Rounds, and steps of each contestant in a round."""
TRACES = {"digits-cnn": 5, "resnet50": 2}
WARM_UP_STEPS = 2


def main() -> None:
    options = _options()
    for workload in options.workload:
        _compare(workload, options)
    if options.pod:
        return
    command = [sys.executable, "-m", "benchmarks.tpu_partitioned", "--cores", str(options.cores)]
    subprocess.run([*command, *(["--quick"] if options.quick else [])], check=True)


class Contestant:
    """One child process: see `tpu_contestant`."""

    def __init__(self, name: str, workload: str, cores: int) -> None:
        self.name = name
        self.traced_s: list[float] = []
        self.step_s: list[float] = []
        self.cpu_s: list[float] = []
        command = [
            sys.executable,
            "-m",
            "benchmarks.programs.tpu_contestant",
            name,
            workload,
            str(cores),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.kill()
        self._process.wait()

    def ask(self, **command: int) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with exit code {self._process.wait()}")
        answer: dict[str, float] = json.loads(line)
        return answer


def _compare(workload: str, options: argparse.Namespace) -> None:
    """Traces, then steps, of all contestants in turn; a line per contestant, and the ratios."""
    rounds, length = (8, 10) if options.quick else ROUNDS[workload]
    with ExitStack() as stack:
        every = [
            stack.enter_context(Contestant(name, workload, options.cores))
            for name in (ON_HOSTS if options.pod else CONTESTANTS)
        ]
        for turn in range(2 if options.quick else TRACES[workload]):
            for each in _in_turn(every, turn):
                each.traced_s.append(each.ask(trace=1)["s"])
        for each in every:
            each.ask(steps=WARM_UP_STEPS)
        for turn in range(rounds):
            for each in _in_turn(every, turn):
                taken = each.ask(steps=length)
                each.step_s.append(taken["s"])
                each.cpu_s.append(taken["cpu_s"])
    report = _report_pod if options.pod else _report
    report(workload, options, every)


def _report_pod(workload: str, options: argparse.Namespace, every: Sequence[Contestant]) -> None:
    pod, alone, one_host, pod_apart, alone_apart = every
    each = options.cores // NUM_HOSTS
    print(f"\n{workload}, {options.cores} cores, batch {BATCH_PER_CORE[workload]} each")
    for what, measured in ((f"{NUM_HOSTS} hosts of {each} cores", pod), ("one process", alone)):
        step_ms = statistics.median(measured.step_s) * 1e3
        trace_s = statistics.median(measured.traced_s)
        print(f"  {what:34} step {step_ms:9.2f} ms   tracing {trace_s:6.2f} s")
    print(f"  step    pod / one process          {median_ratio(pod.step_s, alone.step_s)}")
    print(f"  its CPU time, of all processes     {median_ratio(pod.cpu_s, alone.cpu_s)}")
    print(f"  tracing pod / one process          {median_ratio(pod.traced_s, alone.traced_s)}")
    record_ratio(f"{workload}, pod, step", median_ratio(pod.step_s, alone.step_s), len(pod.step_s))
    print("  of which:")
    print(f"  step    one host / one process     {median_ratio(one_host.step_s, alone.step_s)}")
    print(f"  its CPU time, of both processes    {median_ratio(one_host.cpu_s, alone.cpu_s)}")
    print("  without exchange of gradients:")
    print(
        f"  step    pod / one process          {median_ratio(pod_apart.step_s, alone_apart.step_s)}"
    )
    print(
        f"  its CPU time, of all processes     {median_ratio(pod_apart.cpu_s, alone_apart.cpu_s)}"
    )
    exchange_s = [both - apart for both, apart in zip(pod.cpu_s, pod_apart.cpu_s, strict=True)]
    in_one_s = [both - apart for both, apart in zip(alone.cpu_s, alone_apart.cpu_s, strict=True)]
    for what, taken_s in ((pod.name, exchange_s), (alone.name, in_one_s)):
        print(
            f"  CPU time of exchange, update: {what:4} {statistics.median(taken_s) * 1e3:9.2f} ms"
        )


def _report(workload: str, options: argparse.Namespace, every: Sequence[Contestant]) -> None:
    ours, *mirrored = every
    best = min(mirrored, key=lambda each: statistics.median(each.step_s))
    quickest = min(mirrored, key=lambda each: statistics.median(each.traced_s))
    print(f"\n{workload}, {options.cores} cores, batch {BATCH_PER_CORE[workload]} each")
    for each in every:
        step_ms = statistics.median(each.step_s) * 1e3
        trace_s = statistics.median(each.traced_s)
        kind = "TPUStrategy, emulated" if each is ours else f"Mirrored, {each.name}"
        print(f"  {kind:34} step {step_ms:9.2f} ms   tracing {trace_s:6.2f} s")
    for each in mirrored:
        mark = ", target 1.05x" if each is best else ""
        print(f"  step    tpu / {each.name:24} {median_ratio(ours.step_s, each.step_s)}{mark}")
    step = median_ratio(ours.step_s, best.step_s)
    tracing = median_ratio(ours.traced_s, quickest.traced_s)
    record_ratio(f"{workload}, step", step, len(ours.step_s))
    record_ratio(f"{workload}, tracing", tracing, len(ours.traced_s))
    print(f"  its CPU time, all threads {'':14} {median_ratio(ours.cpu_s, best.cpu_s)}")
    print(
        f"  tracing tpu / {quickest.name:24} "
        f"{median_ratio(ours.traced_s, quickest.traced_s)}, target 1.5x"
    )


def _in_turn(every: Sequence[Any], turn: int) -> list[Any]:
    shift = turn % len(every)
    return [*every[shift:], *every[:shift]]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="digits-cnn only, few rounds")
    parser.add_argument("--cores", type=int, default=None)
    parser.add_argument("--pod", action="store_true", help="the cores on hosts of their own")
    parser.add_argument("--workload", nargs="+", choices=BATCH_PER_CORE, default=None)
    options = parser.parse_args()
    options.cores = options.cores or (8 if options.pod else 4)
    options.workload = options.workload or list(BATCH_PER_CORE)[: 1 if options.quick else 2]
    return options


if __name__ == "__main__":
    main()
