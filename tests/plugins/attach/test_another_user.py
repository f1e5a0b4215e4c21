"""Programs and folders of another user: what may not be read or written is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strategy_core.tracing.waiting_folder import open_log
from strategy_profiles.run.manifest import WAITS, create_run_file
from tests.doors.test_another_user import as_another_user, places

__all__ = ["places"]

pytestmark = pytest.mark.slow


def test_a_folder_of_runs_that_may_not_be_read_is_named(places: dict[str, Path]) -> None:
    places["RUNS"].chmod(0)
    code, said = as_another_user(["attach", "--runs", str(places["RUNS"])], places["OWN"])
    places["RUNS"].chmod(0o755)
    assert (code, said.startswith("strategy-lab: Permission denied")) == (2, True), said


def test_a_program_of_another_user_is_not_attached_to(places: dict[str, Path]) -> None:
    """The sentence names whose program it is, and no command is left in its folder."""
    waits = places["RUNS"] / "waits"
    create_run_file(waits, recorded_by=WAITS)
    open_log(waits).close()
    if os.getuid():
        waits.chmod(0o555)
    code, said = as_another_user(["attach", str(waits)], places["OWN"])
    waits.chmod(0o755)
    assert code == 2, said
    assert f"belongs to {waits.owner()}" in said, said
    assert not (waits / "commands").exists()
