"""A demonstration as a Jupyter notebook: explanation, set-up, program and recorded switches.

python -m strategy_contexts.notebook plugins/contexts/notebooks
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from strategy_contexts.course import Demonstration, demonstrations

SET_UP = """\
import tensorflow as tf

# Two virtual CPUs act as two devices; with GPUs, leave this out and name them below.
cpu = tf.config.list_physical_devices("CPU")[0]
if not tf.config.get_logical_device_configuration(cpu):
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(
    ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
)"""

RECORD = """\
from strategy_core import trace_contexts

with trace_contexts() as trace:
    try:
        demonstrate(strategy)
    except Exception as error:
        print(type(error).__name__, error)

for entry in trace.entries:
    replica = "" if entry.replica is None else f" {entry.replica}"
    print("  " * entry.depth + f"{entry.context}{replica}: {entry.call}")"""


def notebook(item: Demonstration) -> dict[str, Any]:
    """The notebook of a demonstration (nbformat 4.5), without outputs."""
    program = item.source.split('"""', 2)[2].strip()
    cells = [
        _cell("markdown", f"# {item.title}\n\n{item.text}", 0),
        _cell("code", SET_UP, 1),
        _cell("code", program, 2),
        _cell("code", RECORD, 3),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def as_text(item: Demonstration) -> str:
    """The text of the notebook file."""
    return json.dumps(notebook(item), indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": text.splitlines(keepends=True)}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for item in demonstrations():
        (folder / f"{item.name}.ipynb").write_text(as_text(item), encoding="utf-8")


if __name__ == "__main__":
    main()
