"""What tests/doors asks of this leaf: the files that it opens, the arguments of its verb."""

from __future__ import annotations

from tests.doors.guards import PROGRAM

OPENS = {"strategy_mcp/answers.py": "what this process, or one that it started, has written"}
IMPORTED = {"mcp": ""}
GUARDS = {"mcp": {"--runs": (PROGRAM, "")}}
