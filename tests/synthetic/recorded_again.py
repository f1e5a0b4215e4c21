"""Runs of one program of somebody's own, recorded one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from strategy_profiles.run.manifest import change_run_file, program_of
from tests.synthetic.recipe import EPOCH_NS
from tests.synthetic.run import write_run
from tests.synthetic.stacks import FILE

COMMAND = ("strategy-lab", "trace", "train.py")


def write_run_of_program(
    folder: Path,
    minute: int,
    text: str = "step()",
    arguments: Sequence[str] = (),
    file: str = FILE,
    **options: Any,
) -> Path:
    """A run of a program of one line, begun in a minute of the hour."""
    options = {"steps": 100, "windows": 0, "gaps": (), "lines": ((1, text),)} | options
    run = write_run(folder, begins_s=60.0 * minute, **options)
    program = msgspec.to_builtins(program_of(file, arguments, COMMAND))
    created_ns = EPOCH_NS + minute * 60 * 10**9
    change_run_file(run, {"spec": None, "program": program, "created_ns": created_ns})
    return run
