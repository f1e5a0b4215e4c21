"""`strategy-lab trace` of programs without TensorFlow: they run as they do alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategy_core.processes.import_path import with_own_code
from strategy_lab import profiles
from tests.event_records import read_records

PROGRAM = """
import sys, app, profiles
print(__name__, __file__, sys.argv, sys.path[0], app.OWNER, profiles.OWNER, sys.stdin.read())
assert "sitecustomize" not in sys.path[0]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with modules under names that the lab's checkout has as well."""
    (tmp_path / "app.py").write_text('OWNER = "user"\n')
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "__init__.py").write_text('OWNER = "user"\n')
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "train.py").write_text(PROGRAM)
    return tmp_path


def python(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**with_own_code(os.environ), "STRATEGY_LAB_TRACE_STRICT": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment,
        input="typed",
        capture_output=True,
        text=True,
        check=False,
    )


def trace(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(project, "-P", "-m", "strategy_core", "trace", "-o", "run", *arguments)


@pytest.mark.parametrize(
    "program",
    [
        ("program.py", "--set", "x", "-o", "y", "--", "z"),
        ("-m", "pkg.train", "-m", "--live"),
        ("-c", PROGRAM.replace("__file__", "1"), "-c", "a"),
    ],
    ids=["script", "module", "code"],
)
def test_a_program_is_the_main_program_with_its_arguments(
    project: Path, program: tuple[str, ...]
) -> None:
    plain, traced = python(project, *program), trace(project, *program)
    assert plain.returncode == 0, plain.stderr
    assert (traced.returncode, traced.stdout) == (0, plain.stdout), traced.stderr
    assert profiles.load(project / "run").summary()["status"] == "finished"
    notes = read_records(project / "run" / "worker-0-0" / "events.jsonl")
    assert "The program did not import TensorFlow." in [note.get("message") for note in notes]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys; sys.exit(3)", "finished"),
        ("raise ValueError('theirs')", "failed"),
        ("raise KeyboardInterrupt", "stopped"),
    ],
)
def test_the_end_of_a_program_is_its_own(project: Path, code: str, status: str) -> None:
    plain, traced = python(project, "-c", code), trace(project, "-c", code)
    assert traced.returncode == plain.returncode
    assert plain.stderr == traced.stderr.partition("\n")[2]
    assert profiles.load(project / "run").summary()["status"] == status


def test_a_missing_program_and_a_run_that_exists_are_refused(project: Path) -> None:
    missing = trace(project, "nowhere.py")
    assert missing.returncode == 2
    assert "nowhere.py" in missing.stderr
    assert not (project / "run").exists()
    trace(project, "-c", "")
    again = trace(project, "-c", "")
    assert again.returncode == 2
    assert "another run" in again.stderr


def test_the_default_name_is_that_of_the_program(project: Path) -> None:
    done = python(project, "-P", "-m", "strategy_core", "trace", "-m", "pkg.train")
    assert "recording into runs/pkg-train-1" in done.stderr
    assert (project / "runs" / "pkg-train-1" / "run.json").exists()
