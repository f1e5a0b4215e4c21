"""What the command tells the traced processes, through one environment variable."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

WAIT_VARIABLE = "STRATEGY_LAB"
"""If set, a program waits for `strategy-lab attach`: 1, or the folder for its runs."""
VARIABLE = "STRATEGY_LAB_TRACE"
STRICT_VARIABLE = "STRATEGY_LAB_TRACE_STRICT"
"""If set, an error of the lab's own ends the program, as its tests need."""


class Settings(NamedTuple):
    """The run of a traced program. Its child processes inherit it."""

    run: str
    """Absolute path of the run folder."""
    pid: int
    """The program's first process."""
    capture: dict[str, Any]
    """The RunSpec's `capture`."""
    waits: bool = False
    """Whether the program waits for `strategy-lab attach`, and is not recorded before."""
    worker: int | None = None
    """Number of the first process among those of its cluster; None if TF_CONFIG names none."""

    def environment(self) -> dict[str, str]:
        return {VARIABLE: json.dumps(self._asdict())}

    @property
    def is_child(self) -> bool:
        """Whether this process was started by the program, and is not the program."""
        return os.getpid() != self.pid


def read_settings() -> Settings | None:
    """The settings of this process; None if it is not traced."""
    text = os.environ.get(VARIABLE)
    if text:
        return Settings(**json.loads(text))
    return Settings("", os.getpid(), {}, waits=True) if os.environ.get(WAIT_VARIABLE) else None


def runs_of_environment() -> Path:
    """The folder for the runs of a program that waits because of the environment variable."""
    value = os.environ.get(WAIT_VARIABLE, "")
    return Path("runs" if value in ("", "1") else value)
