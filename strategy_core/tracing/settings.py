"""What the command tells the traced processes, through one environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

VARIABLE = "STRATEGY_LAB_TRACE"
STRICT_VARIABLE = "STRATEGY_LAB_TRACE_STRICT"
"""If set, an error of the lab's own ends the program, as its tests need."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The run of a traced program. Its child processes inherit it."""

    run: str
    """Absolute path of the run folder."""
    pid: int
    """The program's first process."""
    capture: dict[str, Any] = field(default_factory=dict)
    """The RunSpec's `capture`."""

    def environment(self) -> dict[str, str]:
        return {VARIABLE: json.dumps(asdict(self))}

    @property
    def is_child(self) -> bool:
        """Whether this process was started by the program, and is not the program."""
        return os.getpid() != self.pid


def read_settings() -> Settings | None:
    """The settings of this process; None if it is not traced."""
    text = os.environ.get(VARIABLE)
    return Settings(**json.loads(text)) if text else None
