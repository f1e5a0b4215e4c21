"""The unpacked runs of a lecture go with their lab, however that ended."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from strategy_contexts.lecture.recording import RUNS, remove_unpacked
from strategy_core.processes import scratch


def test_the_runs_of_a_lecture_stay_until_its_lab_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_unpacked()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    unpacked_run = RUNS[0].recorded().path
    assert scratch.remove_abandoned(tmp_path, now=time.time() + 3600) == []
    shutil.copytree(unpacked_run.parent, left := tmp_path / f"{scratch.UNPACKED_PREFIX}killed")
    os.utime(left)
    assert scratch.remove_abandoned(tmp_path, now=time.time() + 3600) == [left]
    assert unpacked_run.is_dir()
    remove_unpacked()
    assert list(tmp_path.iterdir()) == []
