"""Why a worker ended: what it said itself counts first, then who killed it, then the signal."""

from __future__ import annotations

import re
import signal

import pytest

from strategy_core.processes.exit_reason import ExitEvidence, exit_reason
from strategy_core.processes.protocol import EXIT_OUT_OF_MEMORY

CASES = [
    (ExitEvidence(0, finished="finished"), "finished", None),
    (ExitEvidence(0, finished="stopped"), "stopped", None),
    (ExitEvidence(0, finished="replaced", replaced=True), "replaced", None),
    (ExitEvidence(-9, replaced=True), "replaced", None),
    (ExitEvidence(1, failed="NaN in the loss"), "failed", "NaN in the loss"),
    (ExitEvidence(-9, finished="finished", killed_for="impatient"), "finished", None),
    (ExitEvidence(EXIT_OUT_OF_MEMORY, failed="out of memory: 3 GB"), "out-of-memory", "3 GB"),
    (
        ExitEvidence(-9, killed_for="hung", kill_note="No event for 60 s.", last_step=4),
        "hung",
        "step was 4",
    ),
    (
        ExitEvidence(-9, killed_for="asked"),
        "killed",
        "Killed on request. It had not finished a step.",
    ),
    (
        ExitEvidence(-9, killed_for="impatient", kill_note="Stop was asked."),
        "stopped",
        "Stop was asked.",
    ),
    (ExitEvidence(-9, killed_for="impatient"), "stopped", "^It did not end in time."),
    (ExitEvidence(-9, killed_for="asked", out_of_memory=True), "killed", "on request"),
    (ExitEvidence(-9, out_of_memory=True, memory_note="Counted."), "out-of-memory", "Counted."),
    (ExitEvidence(-9, memory_note="Not counted."), "killed", "outside the lab.*Not counted"),
    (ExitEvidence(-signal.SIGTERM), "killed", "SIGTERM"),
    (ExitEvidence(-signal.SIGSEGV, stderr="at 0x0"), "crashed", "SIGSEGV.*at 0x0"),
    (ExitEvidence(-signal.SIGABRT), "crashed", "SIGABRT without any output"),
    (ExitEvidence(3), "crashed", "code 3"),
    (ExitEvidence(-99), "crashed", "signal 99"),
]


@pytest.mark.parametrize(("ending", "verdict", "message"), CASES)
def test_the_exit_reason_follows_from_the_evidence(
    ending: ExitEvidence, verdict: str, message: str | None
) -> None:
    reason = exit_reason(ending)
    assert reason.verdict == verdict
    assert (reason.message is None) == (message is None)
    assert re.search(message or "", reason.message or "", re.DOTALL), reason.message
