"""Sound runs of every kind, small: what cases mutate. One was recorded, the others are made up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from strategy_profiles.run.event_columns import add_columns
from strategy_profiles.run.layout import launcher_file, worker_folder
from strategy_profiles.run.manifest import change_run_file
from strategy_profiles.tables.merged_windows import NUM_WINDOWS
from tests.profiles.served_run import write_served_run
from tests.synthetic import EPOCH_NS, write_run

_RECORDED = Path(__file__).parents[1] / "data" / "captured_step"
_SMALL = {"ops_per_step": 5, "window_steps": 3, "windows": 1, "checksums": True}
_EARLIER = _SMALL | {"checksums": False}
"""Tables and event lines whose damage only their contents show."""


def write_runs(root: Path) -> dict[str, Path]:
    """Write every kind into a folder of its own below `root`."""
    made = {}
    for name, write in _KINDS.items():
        made[name] = root / name
        write(made[name])
    return made


def _mirrored(run: Path) -> None:
    write_run(run, replicas=4, steps=24, segments=2, contexts=True, straggler=(1, 15.0), **_SMALL)


def _workers(run: Path) -> None:
    ahead = {"hosts": ("a", "b"), "clock_ahead_ms": (0.0, 5.0), "leader_only": True}
    write_run(run, replicas=4, workers=2, steps=16, **ahead, **_EARLIER)
    for worker in (0, 1):
        _add_links(run / f"worker-{worker}-0" / "events.jsonl", 1 - worker)


def _add_links(events: Path, peer: int) -> None:
    lines = events.read_text().splitlines()
    for number in range(3):
        link = {
            "peer": peer,
            "opened": True,
            **{f"{way}_bytes": 10_000 * (number + 1) for way in ("sent", "received")},
            **{f"{way}_packets": 10 * (number + 1) for way in ("sent", "received")},
            "retransmitted_bytes": 0,
            "rtt_ms": 0.2,
        }
        counted = {"kind": "links", "segment": 0, "step": 5 * number, "links": [link]}
        line = json.dumps(counted | {"at_ns": EPOCH_NS + number * 10**9})
        lines.insert(len(lines) - 1, line)
    _write_lines(events, lines)


def _write_lines(events: Path, lines: list[str]) -> None:
    """Write lines as earlier versions did: numbered, without checksums."""
    numbered = [json.loads(line) | {"line": number} for number, line in enumerate(lines, 1)]
    for line in numbered:
        line.pop("line_crc32", None)
    events.write_text("".join(f"{json.dumps(line)}\n" for line in numbered))


def _tpu(run: Path) -> None:
    write_run(run, strategy="tpu", replicas=2, cores_per_replica=2, steps=12, **_SMALL)


def _served(run: Path) -> None:
    write_served_run(run, counts=(10, 6))


def _host(run: Path) -> None:
    """What one of two hosts wrote: to be collected."""
    write_run(run, replicas=4, workers=2, steps=12, **_SMALL)
    tasks = [{"role": "worker", "index": i, "address": f"h{i}:1"} for i in (0, 1)]
    change_run_file(run, {"cluster": {"run_id": "r", "tasks": tasks}})
    shutil.rmtree(run / "worker-1-0")
    lines = (run / "launcher.jsonl").read_text().splitlines()
    own = [line for line in lines if json.loads(line).get("worker", 0) == 0]
    _write_lines(launcher_file(run), own)


def _long(run: Path) -> None:
    """More windows than are copied into one file per table, most of its steps in columns, and the
    epochs of Keras's `fit`."""
    parts = {"wall_ms": 50.0, "validation_ms": 30.0, "callbacks_ms": 5.0}
    ends = [{"step": step, **parts} for step in (9, 19, 29)]
    many = {"windows": NUM_WINDOWS + 1, "window_steps": 1, "epoch_ends": ends}
    write_run(run, replicas=2, steps=40, **_SMALL | many)
    add_columns(worker_folder(run, 0).events, block_bytes=6000)


def _recorded(run: Path) -> None:
    """One step of digits-cnn on four CPU devices, with its graph."""
    shutil.copytree(_RECORDED, run)


_KINDS: dict[str, Callable[[Path], None]] = {
    "mirrored": _mirrored,
    "workers": _workers,
    "tpu": _tpu,
    "served": _served,
    "host": _host,
    "long": _long,
    "recorded": _recorded,
}
