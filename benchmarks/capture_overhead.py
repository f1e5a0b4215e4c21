"""What recording costs: the bare strategy's loop against the same loop with marks, with captures
within the default budget, and with every step captured.

    python -m benchmarks.capture_overhead [--quick] [--workload digits-cnn] [--devices 2 4]

Each run is a process of its own; the kinds take turns, so that a busy spell of the machine meets
all of them. A run's time goes from its fourth step to the recorder's closing: profiler,
conversion and writing included. Ratios compare a run with the bare one of its round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from profiles.layout import worker_folder
from profiles.spec import RunSpec, parse_spec

WARM_UP_STEPS = 3
KINDS: dict[str, dict[str, Any] | None] = {
    "bare": None,
    "budget": {"marks": False},
    "marks": {"marks": True, "overhead_budget": 1e-9},
    "default": {"marks": True},
    "every step": {"marks": False, "every_step": True},
}
"""The recorder's settings of each kind; None for no recorder at all."""
TARGETS = {
    "budget": "1.01",
    "marks": "1.05 at 10 ms, 1.01 at 100 ms",
    "default": "marks and budget",
    "every step": "1.20 at 10 ms, 1.05 at 100 ms",
}


def main() -> None:
    options = _options()
    if options.child:
        print(json.dumps(_measure(options.child, _spec(options, options.devices[0]))))
        return
    for workload in options.workload:
        for devices in options.devices:
            _compare(options, workload, devices)


def _compare(options: argparse.Namespace, workload: str, devices: int) -> None:
    """All kinds in turn, `rounds` times; one line per kind."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in options.kinds}
    for turn in range(options.rounds):
        order = options.kinds if turn % 2 == 0 else options.kinds[::-1]
        for kind in order:
            found[kind].append(_run_child(options, kind, workload, devices))
    bare = [run["ms_per_step"] for run in found["bare"]]
    print(f"\n{workload}, mirrored, {devices} devices, {options.steps} steps, ", end="")
    print(f"{options.rounds} rounds, bare step {statistics.median(bare):.2f} ms")
    print(f"{'kind':<12}{'total':>8}{'from':>8}{'to':>8}{'step alone':>12}{'captured':>10}  target")
    for kind in options.kinds[1:]:
        runs = found[kind]
        ratios = [r["ms_per_step"] / b for r, b in zip(runs, bare, strict=True)]
        alone = [r["median_ms"] / b["median_ms"] for r, b in zip(runs, found["bare"], strict=True)]
        captured = statistics.median(run["captured"] for run in runs)
        print(
            f"{kind:<12}{statistics.median(ratios):>7.3f}x{min(ratios):>7.3f}x{max(ratios):>7.3f}x"
            f"{statistics.median(alone):>11.3f}x{captured:>9.1%}"
            f"  {TARGETS[kind]}"
        )


def _run_child(
    options: argparse.Namespace, kind: str, workload: str, devices: int
) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.capture_overhead", "--child", kind]
    command += ["--steps", str(options.steps), "--devices", str(devices), "--workload", workload]
    command += ["--batch", str(options.batch)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{kind} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _measure(kind: str, spec: RunSpec) -> dict[str, float]:
    """One run in this process: milliseconds per step in all, and of the median step."""
    from strategy_core import devices, segment

    settings = KINDS[kind]
    marks = bool(settings and settings["marks"])
    spec = spec.with_changes({"capture.marks": marks})
    devices.create_logical_devices(spec)
    built = segment.build(spec)
    with tempfile.TemporaryDirectory() as folder:
        step, close = _bare(built) if settings is None else _recorded(built, settings, folder)
        for _ in range(WARM_UP_STEPS):
            step()
        walls = []
        begin = time.perf_counter()
        for _ in range(spec.steps):
            before = time.perf_counter()
            step()
            walls.append(time.perf_counter() - before)
        captured = close()
        total = time.perf_counter() - begin
    return {
        "ms_per_step": total / spec.steps * 1e3,
        "median_ms": statistics.median(walls) * 1e3,
        "captured": captured / spec.steps,
    }


Loop = tuple[Callable[[], None], Callable[[], int]]


def _bare(built: Any) -> Loop:
    def step() -> None:
        batch, shares = next(built.custom.batches)
        built.custom.step(batch, shares).loss_and_examples.numpy()

    return step, lambda: 0


def _recorded(built: Any, settings: dict[str, Any], folder: str) -> Loop:
    from profiles.event_log import read_events
    from profiles.spec import Capture
    from strategy_core.recorder import Recorder

    home = worker_folder(Path(folder), 0)
    recorder = Recorder(home, capture=Capture(**settings))
    recorder.open_segment(built.opened(0, 0))

    def step() -> None:
        with recorder.step() as recorded:
            with recorded.input():
                batch, shares = next(built.custom.batches)
            outcome = built.custom.step(batch, shares)
            loss, examples = outcome.loss_and_examples.numpy()
            marks = None if outcome.marks is None else outcome.marks.numpy()
            recorded.result(loss=float(loss), marks=marks, examples=int(examples))

    def close() -> int:
        recorder.close("finished")
        events, _cursor = read_events(home.events)
        errors = [e["error"] for e in events if e["kind"] == "window" and e["error"]]
        assert not errors, errors
        return sum(bool(e["captured"]) for e in events if e["kind"] == "step")

    return step, close


def _spec(options: argparse.Namespace, num_devices: int) -> RunSpec:
    return parse_spec(
        {
            "strategy": "mirrored",
            "devices": f"cpu:{num_devices}",
            "workload": options.workload[0],
            "global_batch_size": options.batch,
            "steps": options.steps,
        }
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workload", nargs="+", default=["digits-cnn"])
    parser.add_argument("--devices", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--batch", type=int, default=128, help="global batch size")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--quick", action="store_true", help="a minute instead of an hour")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.steps, options.rounds, options.devices = 500, 2, options.devices[:1]
    if options.kinds[0] != "bare":
        options.kinds.insert(0, "bare")
    return options


if __name__ == "__main__":
    main()
