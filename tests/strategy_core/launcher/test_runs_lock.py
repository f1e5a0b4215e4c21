"""Two labs on one folder of runs: one trains, and the other says which does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategy_core.launcher import runs_lock
from strategy_core.launcher.launcher import Launcher
from strategy_core.processes.running_labs import registered
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import RunSpec
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run
PRETENDED = (sys.executable, "-P", str(Path(__file__).parent / "pretend_worker.py"))
HOLD = """
import sys, time
from pathlib import Path
from strategy_core.launcher import runs_lock
held = runs_lock.take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(3600)
"""


def launch(launcher: Launcher, folder: Path, steps: int | None = 3) -> bool:
    return launcher.launch(RunSpec(devices="cpu:2", steps=steps), folder).wait(MAX_WAIT_S)


def test_a_lab_says_which_other_one_trains_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    runs = tmp_path / "runs"
    with (
        Launcher(worker_command=PRETENDED) as one,
        Launcher(worker_command=PRETENDED) as other,
        registered(runs, "http://127.0.0.1:8501/?token=secret"),
    ):
        first = one.launch(RunSpec(devices="cpu:2", steps=None), runs / "first")
        with pytest.raises(LabError) as refused:
            launch(other, runs / "second")
        said = f"Run 'first' (the lab at http://127.0.0.1:8501, process {os.getpid()}) trains in"
        assert said in str(refused.value)
        assert "secret" not in str(refused.value)
        assert not (runs / "second").exists()
        assert launch(other, tmp_path / "elsewhere" / "third"), "another folder is another's"
        first.stop()
        assert first.wait(MAX_WAIT_S)
        assert launch(other, runs / "second")
        assert launch(one, runs / "fourth")
        assert launch(one, runs / "fifth"), "one after the other"


def test_the_lock_ends_with_its_owner(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"held\n"
        assert runs_lock.trains_in(tmp_path) == f"Run 'a' (process {owner.pid})"
        with pytest.raises(LabError, match=f"Run 'a' \\(process {owner.pid}\\) trains"):
            runs_lock.take(tmp_path / "b")
        owner.kill()
        owner.wait()
        assert runs_lock.trains_in(tmp_path) is None
        runs_lock.take(tmp_path / "b").close()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 4096, b'{"pid": -1, "run": 3}'])
def test_the_content_of_a_lock_file_is_not_trusted(tmp_path: Path, content: bytes) -> None:
    with runs_lock.take(tmp_path / "a"):
        (tmp_path / runs_lock.LOCK_FILE).write_bytes(content)
        with pytest.raises(LabError, match="Another process trains"):
            runs_lock.take(tmp_path / "b")


def test_after_a_run_no_process_trains(tmp_path: Path) -> None:
    assert runs_lock.trains_in(tmp_path) is None
    with runs_lock.take(tmp_path / "a"):
        assert runs_lock.trains_in(tmp_path) == f"Run 'a' (process {os.getpid()})"
    assert runs_lock.trains_in(tmp_path) is None


def test_a_pipe_or_link_in_place_of_the_lock_file_keeps_no_run_out(tmp_path: Path) -> None:
    """Neither is a link followed, nor does a pipe make anybody wait."""
    os.mkfifo(tmp_path / runs_lock.LOCK_FILE)
    runs_lock.take(tmp_path / "a").close()
    (tmp_path / runs_lock.LOCK_FILE).unlink()
    (tmp_path / runs_lock.LOCK_FILE).symlink_to(tmp_path / "other")
    runs_lock.take(tmp_path / "a").close()
    assert not (tmp_path / "other").exists()
