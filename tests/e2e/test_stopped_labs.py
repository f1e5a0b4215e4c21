"""The drill of `tests.stopped_labs`, short: a lab ends in a run, which loses nothing."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests import stopped_labs

pytestmark = [pytest.mark.run, pytest.mark.timeout(1200)]
CASES = [
    ("steps", signal.SIGTERM, False),
    ("start", signal.SIGTERM, False),
    ("first step", signal.SIGKILL, False),
    ("change", signal.SIGTERM, False),
    ("end", signal.SIGKILL, False),
    ("change", signal.SIGKILL, True),
    ("steps", signal.SIGINT, True),
    ("capture", signal.SIGKILL, False),
]


@pytest.mark.long(keep=2)
@pytest.mark.parametrize(("moment", "number", "is_cluster"), CASES)
def test_a_run_of_a_lab_that_ends_loses_nothing(
    moment: str, number: signal.Signals, is_cluster: bool, tmp_path: Path
) -> None:
    chance = random.Random(f"{moment} {number}")
    stopped_labs.stop(moment, number, tmp_path / "runs", chance, is_cluster=is_cluster)
