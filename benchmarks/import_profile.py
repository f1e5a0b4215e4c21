"""A large profile of a GPU machine to a run folder, against other readers of the same file.

    python -m benchmarks.import_profile [--events 3000000] [--padding 0] [--rounds 3]
                                        [--xprof-venv PATH]

The file is made here: four GPUs with two streams each, their launches on four threads, a thousand
annotated steps; an event has the stats that TensorFlow's profiler writes, in all about 100 bytes,
its numbers as many bytes as they need.
Ours is everything from the file to the tables of a run. The other readers do less: TensorFlow's
protobuf message is only parsed and its durations are added up, XProf (if its virtual environment
exists) makes its overview page. Every round runs in a process of its own, the sides in turn.
Memory is the kernel's VmHWM: `ru_maxrss` of a process begins with that of the one that started it.
With `--padding` each event has a text of so many bytes as well; protobuf refuses a file above 2 GB,
so ours is then alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring.record import record_figure
from benchmarks.xspace import DEFAULT_VENV

NUM_GPUS = 4
NUM_STEPS = 1000
STEP_PS = 20_000_000_000
START_NS = 1_700_000_000_000_000_000
NUM_KERNELS = 200
Part = tuple[NDArray[np.uint8], NDArray[np.bool_]]
"""Bytes of all events side by side, and which of them an event has."""

_OURS = """
import json, sys, time
from pathlib import Path
from strategy_profiles.importers import import_profile
begin = time.perf_counter()
import_profile(Path(sys.argv[1]), Path(sys.argv[2]) / "run")
seconds = time.perf_counter() - begin
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
print(json.dumps({"seconds": seconds, "cpu": time.process_time(), "peak": peak}))
"""
_PROTOBUF = """
import json, sys, time
from pathlib import Path
from tensorflow.tsl.profiler.protobuf import xplane_pb2
before = time.process_time()
begin = time.perf_counter()
space = xplane_pb2.XSpace.FromString(open(sys.argv[1], "rb").read())
total = sum(e.duration_ps for p in space.planes for l in p.lines for e in l.events)
seconds = time.perf_counter() - begin
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
print(json.dumps({"seconds": seconds, "cpu": time.process_time() - before, "peak": peak}))
"""
_XPROF = """
import json, sys, time
from pathlib import Path
from xprof.convert import raw_to_tool_data
before = time.process_time()
begin = time.perf_counter()
raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], "overview_page", {})
seconds = time.perf_counter() - begin
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
print(json.dumps({"seconds": seconds, "cpu": time.process_time() - before, "peak": peak}))
"""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "made.xplane.pb"
        num_events = write_profile(file, options.events, options.padding)
        print(f"{num_events:,} events, {file.stat().st_size / 1e6:.0f} MB")
        sides = {"import": (sys.executable, _OURS)}
        xprof = options.xprof_venv / "bin" / "python"
        if not options.padding:
            sides["protobuf"] = (sys.executable, _PROTOBUF)
        if xprof.exists() and not options.padding:
            sides["XProf overview"] = (str(xprof), _XPROF)
        measured: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for turn in range(options.rounds):
            for side, (python, script) in sides.items():
                home = folder / f"{side.split()[0]}-{turn}"
                home.mkdir()
                own = home / file.name  # XProf keeps its results beside the file
                own.hardlink_to(file)
                measured[side].append(_child(python, script, str(own), str(home)))
        print(f"{'':16}{'median':>9}{'least':>9}{'processor':>11}{'memory':>10}")
        for side, rounds in measured.items():
            print(_line(side, rounds))
            padded = f", {options.padding} bytes of text each" if options.padding else ""
            record_figure(f"{side}{padded}", [each["seconds"] for each in rounds], "s")
            record_figure(
                f"{side}{padded}, processor time", [each["cpu"] for each in rounds], "s CPU"
            )
            record_figure(
                f"{side}{padded}, memory", max(each["peak"] for each in rounds) / 1e9, "GB"
            )


def _line(side: str, rounds: Sequence[dict[str, float]]) -> str:
    seconds = [each["seconds"] for each in rounds]
    processor = statistics.median(each["cpu"] for each in rounds)
    peak = max(each["peak"] for each in rounds)
    return (
        f"{side:16}{statistics.median(seconds):>7.2f} s{min(seconds):>7.2f} s{processor:>9.2f} s"
        f"{peak / 1e6:>7.0f} MB"
    )


def _child(python: str, script: str, *arguments: str) -> dict[str, float]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [python, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def write_profile(path: Path, num_events: int, padding: int = 0) -> int:
    """Write a profile of about so many events; returns their number.

    Each event has a text of `padding` bytes.
    """
    per_line = max(num_events // (NUM_GPUS * 4), NUM_STEPS)
    per_line -= per_line % NUM_STEPS
    with path.open("wb") as file:
        for gpu in range(NUM_GPUS):
            lines = [
                _field(
                    3,
                    _line_head(stream, f"Stream #{stream}(Kernel)")
                    + _events(per_line, base, padding),
                )
                for stream, base in ((13, gpu * 2 * per_line), (14, (gpu * 2 + 1) * per_line))
            ]
            file.write(_field(1, _plane(f"/device:GPU:{gpu}", lines, "kernel")))
        lines = [
            _field(
                3,
                _line_head(100 + i, f"python/{100 + i}") + _events(per_line, i * per_line, padding),
            )
            for i in range(2 * NUM_GPUS)
        ]
        lines.append(_field(3, _line_head(1, "main/1") + _step_marks()))
        file.write(_field(1, _plane("/host:CPU", lines, "launch")))
        own = _field(6, _number(1, 1) + _number(3, START_NS))
        names = _field(5, _number(1, 1) + _field(2, _field(2, b"profile_start_time")))
        file.write(_field(1, _field(2, b"Task Environment") + names + own))
    return per_line * NUM_GPUS * 4 + NUM_STEPS


def _events(count: int, first_correlation: int, padding: int) -> bytes:
    """Return events at equal distances, each with its stats, as the fields of a line.

    Numbers are as short as they can be. Every fifth kernel has no op of the program.
    """
    distance = NUM_STEPS * STEP_PS // count
    offset = np.arange(count, dtype=np.int64) * distance
    rng = np.random.default_rng(first_correlation)
    kernel = rng.integers(0, NUM_KERNELS, count)
    length = np.exp(rng.uniform(np.log(500_000), np.log(distance), count)).astype(np.int64)
    has_op = kernel % 5 > 0
    body = _beside(
        _tag(count, b"\x08"),
        _varint(kernel + 1),
        _tag(count, b"\x10"),
        _varint(offset),
        _tag(count, b"\x18"),
        _varint(length),
        _stat(1, b"\x18", first_correlation + np.arange(count)),
        _stat(2, b"\x38", kernel + 300),
        _only(_stat(3, b"\x38", kernel + 600), has_op),
        _only(_stat(4, b"\x38", kernel + 900), has_op),
        _stat(5, b"\x38", kernel % 7 + 1200),
        _stat(6, b"\x20", kernel % 7),
        _stat(7, b"\x20", offset),
        _stat(8, b"\x18", kernel + 2**28),
        _stat(10, b"\x20", kernel % 3),
        _stat(11, b"\x18", first_correlation + np.arange(count)),
        _stat(12, b"\x20", offset // STEP_PS),
        *([_tag(count, _field(4, _number(1, 13) + _field(5, bytes(padding))))] if padding else []),
    )
    size = body[1].sum(axis=1)
    data, is_used = _beside(_tag(count, b"\x22"), _varint(size), body)
    return data[is_used].tobytes()


def _stat(stat: int, tag: bytes, value: Any) -> Part:
    count = len(value)
    body = _beside(_tag(count, bytes([0x08, stat]) + tag), _varint(value))
    return _beside(_tag(count, b"\x22"), _varint(body[1].sum(axis=1)), body)


def _only(part: Part, has: NDArray[np.bool_]) -> Part:
    return part[0], part[1] & has[:, None]


def _beside(*parts: Part) -> Part:
    return np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])


def _tag(count: int, data: bytes) -> Part:
    fields = np.tile(np.frombuffer(data, np.uint8), (count, 1))
    return fields, np.ones(fields.shape, bool)


def _varint(values: Any) -> Part:
    rest = np.asarray(values, np.int64)
    width = max((int(rest.max(initial=0)).bit_length() + 6) // 7, 1)
    out, is_used = np.empty((len(rest), width), np.uint8), np.empty((len(rest), width), bool)
    for index in range(width):
        is_used[:, index] = (rest > 0) | (index == 0)
        out[:, index] = (rest & 0x7F) | np.where(rest >= 0x80, 0x80, 0)
        rest = rest >> 7
    return out, is_used


def _step_marks() -> bytes:
    marks = [
        _number(1, 400)
        + (_number(2, step * STEP_PS + 2**42))
        + _number(3, STEP_PS - 10**6)
        + _field(4, _number(1, 9) + _number(4, step + 1))
        for step in range(NUM_STEPS)
    ]
    return b"".join(_field(4, mark) for mark in marks)


def _plane(name: str, lines: Sequence[bytes], kind: str) -> bytes:
    stats = [
        "correlation_id",
        "kernel_details",
        "tf_op",
        "hlo_op",
        "hlo_module",
        "program_id",
        "occupancy",
        "_c",
        "step_num",
        "context_id",
        "_p",
        "group_id",
        "padding",
    ]
    names = dict(enumerate(stats, start=1))
    for number in range(NUM_KERNELS):
        names[number + 300] = f"grid:{number},1,1 block:256,1,1"
        names[number + 600] = f"model/layer_{number}/MatMul:MatMul"
        names[number + 900] = f"fusion.{number}"
    names |= {number + 1200: f"jit_module_{number}" for number in range(7)}
    events = {number + 1: f"{kind}_{number}" for number in range(NUM_KERNELS)} | {400: "train"}
    entries = [
        _field(tag, _number(1, key) + _field(2, _number(1, key) + _field(2, text.encode())))
        for tag, known in ((4, events), (5, names))
        for key, text in known.items()
    ]
    return b"".join([_field(2, name.encode()), *lines, *entries])


def _line_head(thread: int, name: str) -> bytes:
    return _number(1, thread) + _field(2, name.encode()) + _number(3, 1000)


def _number(field: int, value: int) -> bytes:
    return _plain(field << 3) + _plain(value)


def _field(field: int, value: bytes) -> bytes:
    return _plain(field << 3 | 2) + _plain(len(value)) + value


def _plain(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--padding", type=int, default=0, help="bytes of a text in each event")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--xprof-venv", type=Path, default=DEFAULT_VENV)
    return parser.parse_args()


if __name__ == "__main__":
    main()
