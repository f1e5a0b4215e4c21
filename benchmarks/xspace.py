"""XSpace to all tables, against XProf's overview page and trace viewer on the same file.

    python -m benchmarks.xspace [--quick] [--events 30000 300000 3000000] [--xprof-venv PATH]

Captures of about so many events are recorded here: real steps of digits-cnn, mirrored on four
virtual devices. Ours is everything from the file to the four Parquet tables of a window. XProf
lives in a virtual environment of its own, outside the checkout; it is made on demand with
`pip install xprof`. Each conversion is timed in a process that has its imports done.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring.record import record_figure

NUM_DEVICES = 4
EVENTS_PER_STEP = 4_000
"""About what a step of the workload leaves; the table says how many there really were."""
DEFAULT_VENV = Path.home() / ".cache" / "strategy-lab" / "xprof-venv"

XPROF_SCRIPT = """
import json, resource, sys, time
from xprof.convert import raw_to_tool_data
path, rounds = sys.argv[1], int(sys.argv[2])
for tool in ("overview_page", "trace_viewer"):
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        data, _kind = raw_to_tool_data.xspace_to_tool_data([path], tool, {})
        times.append(time.perf_counter() - begin)
        assert data, tool
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"tool": tool, "seconds": times, "peak": peak, "bytes": len(data)}))
"""


def main() -> None:
    options = _options()
    if options.record:
        _record(Path(options.record), options.events[0])
        return
    if options.convert:
        print(json.dumps(_convert(Path(options.convert), options.rounds)))
        return
    xprof = _xprof_python(options.xprof_venv)
    print(
        f"{'events':>10}{'file':>9}{'ours':>9}{'per event':>11}{'spans':>10}{'memory':>9}"
        f"{'overview':>10}{'trace':>9}{'memory':>9}{'ratio':>8}{'from':>7}{'to':>7}"
    )
    for events in options.events:
        with tempfile.TemporaryDirectory() as folder:
            _child("--record", folder, "--events", str(events))
            _compare(Path(folder), events, options.rounds, xprof)


def _compare(folder: Path, events: int, rounds: int, xprof: str) -> None:
    """Both sides in turn; one line."""
    capture = str(_capture(folder))
    ours = json.loads(_child("--convert", str(folder), "--rounds", str(rounds)))
    script = [xprof, "-c", XPROF_SCRIPT, capture, str(rounds)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"XProf failed:\n{done.stderr[-2000:]}")
    theirs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    overview, trace = (side["seconds"] for side in theirs)
    both = [first + second for first, second in zip(overview, trace, strict=True)]
    seconds = statistics.median(ours["seconds"])
    record_figure(f"{events:,} events", statistics.median(both) / seconds, "x")
    print(
        f"{ours['events']:>10,}{Path(capture).stat().st_size / 1e6:>6.1f} MB"
        f"{seconds:>7.2f} s{seconds / ours['events'] * 1e6:>8.2f} µs{ours['spans']:>10,}"
        f"{ours['peak'] / 1e6:>6.0f} MB"
        f"{statistics.median(overview):>8.2f} s{statistics.median(trace):>7.2f} s"
        f"{max(side['peak'] for side in theirs) / 1e6:>6.0f} MB"
        f"{statistics.median(both) / seconds:>7.1f}x"
        f"{min(both) / max(ours['seconds']):>6.1f}x{max(both) / min(ours['seconds']):>6.1f}x",
        flush=True,
    )


def _convert(folder: Path, rounds: int) -> dict[str, Any]:
    """Convert the folder's capture: seconds per round, and the memory of this process."""
    from strategy_profiles.capture.convert import WindowOf, convert
    from strategy_profiles.capture.helper import rehearse

    rehearse()
    devices = json.loads((folder / "devices.json").read_text())
    times, converted = [], None
    for turn in range(rounds):
        target = folder / f"tables-{turn}"
        begin = time.perf_counter()
        converted = convert(
            _capture(folder), folder / "graph.parquet", target, WindowOf(0, 0), devices
        )
        times.append(time.perf_counter() - begin)
    assert converted is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "seconds": times,
        "events": converted.num_events,
        "spans": converted.num_spans,
        "peak": peak,
    }


def _record(folder: Path, events: int) -> None:
    """Real steps under the profiler, and their graph."""
    import tensorflow as tf

    from strategy_core.recorder import placement
    from strategy_core.runtime import logical_devices as devices
    from strategy_core.training import segment
    from strategy_profiles.capture.graph import write_graph
    from strategy_profiles.spec.run_spec import parse_spec

    spec = parse_spec({"devices": f"cpu:{NUM_DEVICES}", "workload": "digits-cnn"})
    devices.create_logical_devices(spec)
    built = segment.build(spec)
    step = _step(built)
    placement.begin_trace()
    step()
    write_graph(placement.read_nodes(placement.end_trace(folder / "t")), folder / "graph.parquet")
    (folder / "devices.json").write_text(json.dumps(list(built.opened(0, 0).replica_devices)))
    step()
    tf.profiler.experimental.start(str(folder / "capture"))
    for number in range(max(1, events // EVENTS_PER_STEP)):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            step()
    tf.profiler.experimental.stop()


def _step(built: Any) -> Callable[[], None]:
    def step() -> None:
        batch, shares = next(built.custom.batches)
        built.custom.step(batch, shares).numpy()

    return step


def _capture(folder: Path) -> Path:
    return next((folder / "capture").rglob("*.xplane.pb"))


def _child(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.xspace", *arguments]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout.splitlines()[-1] if done.stdout else ""


def _xprof_python(venv: Path) -> str:
    """The interpreter of XProf's environment; creates the environment if it does not exist."""
    python = venv / "bin" / "python"
    if not python.exists():
        print(f"Making {venv} with: pip install xprof", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "xprof"], check=True)
    return str(python)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", nargs="+", type=int, default=[30_000, 300_000, 3_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--xprof-venv", type=Path, default=DEFAULT_VENV)
    parser.add_argument("--quick", action="store_true", help="the smallest capture only")
    parser.add_argument("--record", help=argparse.SUPPRESS)
    parser.add_argument("--convert", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.events = [30_000]
    return options


if __name__ == "__main__":
    main()
