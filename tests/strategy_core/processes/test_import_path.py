"""A user's modules are the user's, and the lab's are the lab's, whatever a project is made of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategy_core.processes.import_path import import_as_script, source_roots, with_own_code

OF_THE_LAB = ("app", "profiles", "tests", "benchmarks", "conftest")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with modules under names that the lab's checkout has as well."""
    for name in OF_THE_LAB:
        (tmp_path / f"{name}.py").write_text('OWNER = "user"\n')
    return tmp_path


def run_in(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = with_own_code({**os.environ, "PYTHONPATH": ""})
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_command_line_works_beside_modules_of_the_same_names(project: Path) -> None:
    done = run_in(project, "-m", "strategy_core", "summary", "no-such-run")
    assert done.returncode == 2
    assert "no-such-run" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_page_imports_beside_modules_of_the_same_names(project: Path) -> None:
    done = run_in(project, "-m", "strategy_app", "--help")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_script_gets_its_own_modules_and_the_lab_its_own(project: Path) -> None:
    imports = "\n".join(f"import {name}; print({name}.OWNER)" for name in OF_THE_LAB)
    (project / "script.py").write_text(
        f"import strategy_core\nfrom strategy_profiles.tables.store import load\n{imports}\n"
    )
    done = run_in(project, "script.py")
    assert done.stdout.split() == ["user"] * len(OF_THE_LAB), done.stderr


def test_a_workload_imports_what_lies_beside_it_before_what_the_lab_has(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*source_roots(), "/installed"])
    import_as_script(project / "workload.py")
    assert sys.path[0] == str(project.resolve())
    assert sys.path[-len(source_roots()) :] == [*source_roots()]
    assert sys.path.index("/installed") < sys.path.index(str(Path.cwd()))


def test_the_users_python_path_comes_before_the_labs_folders() -> None:
    environment = with_own_code({"PYTHONPATH": "/mine"})
    assert environment["PYTHONPATH"].split(os.pathsep) == ["/mine", *source_roots()]
