"""A recording as text, one line per switch, call and print, indented by depth.

python -m tests.plugins.contexts.transcript     rewrites the expected ones: read the diff
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strategy_contexts.demonstrations import COURSE

EXPECTED = Path(__file__).parent / "expected"
REPLICAS = 4
"""Of the expected transcripts. Those of 2 replicas come with the lab (`test_shipped.py`)."""


def transcript(recording: Mapping[str, Any]) -> str:
    """What happened, in order; addresses and temporary names left out."""
    lines = []
    for entry in recording["trace"]["entries"]:
        who = entry["context"] + ("" if entry["replica"] is None else f" {entry['replica']}")
        mark = "=>" if entry["switch"] else "--"
        call = f"{entry['call']} (line {entry['source']['line']}, {entry['phase']})"
        lines.append((entry["seq"], f"{'  ' * entry['depth']}{mark} {who}: {call}"))
        lines.append((entry["end_seq"], f"{'  ' * entry['depth']}<= {who}: {entry['call']}"))
    lines += [(line["seq"], f'print "{line["text"]}"') for line in recording["trace"]["printed"]]
    text = [line for _, line in sorted(lines)]
    if error := recording["error"]:
        text.append(f"error in line {error['line']}: {error['type']}")
    return "\n".join(text) + "\n"


def record(name: str, num_replicas: int, folder: Path) -> Any:
    """Record a demonstration on so many virtual CPUs."""
    import tensorflow as tf

    from strategy_contexts import course, demonstration

    strategy = tf.distribute.MirroredStrategy(
        [f"CPU:{index}" for index in range(num_replicas)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )
    return demonstration.record(
        course.demonstration(name).source, strategy, folder / f"{name}_{num_replicas}.py"
    )


def main() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
    EXPECTED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in COURSE:
            text = transcript(record(name, REPLICAS, Path(folder)).to_json())
            (EXPECTED / f"{name}.txt").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
