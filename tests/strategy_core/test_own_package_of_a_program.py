"""A program with a `strategy_core` of its own gets it; `trace` refuses it in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategy_core.processes.import_path import own_packages, with_own_code
from strategy_core.tracing.command import environment_of
from strategy_core.tracing.settings import Settings
from strategy_core.tracing.site.sitecustomize import own_package

PROGRAM = "import strategy_core; print(strategy_core.OWNER)"


@pytest.fixture(params=["strategy_core.py", "strategy_core/__init__.py"])
def own(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The program's package; `program.py` is beside it, in `tmp_path`."""
    own = tmp_path / request.param
    own.parent.mkdir(exist_ok=True)
    own.write_text('OWNER = "user"\n')
    (tmp_path / "program.py").write_text(PROGRAM)
    return own


def python(
    folder: Path, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=with_own_code(os.environ) if environment is None else environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [False, True], ids=["beside it", "from another folder"])
def test_trace_refuses_it_in_one_line_and_leaves_no_folder(
    tmp_path: Path, own: Path, elsewhere: bool
) -> None:
    cwd = tmp_path / "elsewhere" if elsewhere else tmp_path
    cwd.mkdir(exist_ok=True)
    program = str(tmp_path / "program.py")
    done = python(cwd, "-P", "-m", "strategy_core", "trace", "-o", "run", program)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(own) in done.stderr
    assert not (cwd / "run").exists()


@pytest.mark.parametrize("program", [["program.py"], ["-m", "program"], ["-c", PROGRAM]])
def test_a_process_below_a_traced_one_gets_its_own_and_is_not_recorded(
    tmp_path: Path, own: Path, program: list[str]
) -> None:
    environment = environment_of(with_own_code(os.environ), Settings(str(tmp_path / "run"), 0, {}))
    done = python(tmp_path, *program, environment=environment)
    assert (done.returncode, done.stdout) == (0, "user\n")
    assert done.stderr == (
        "strategy-lab: this process is not recorded: the program's own strategy_core "
        f"({own}) has the name of the lab's package\n"
    )


def test_a_folder_of_that_name_without_code_hides_nothing(tmp_path: Path) -> None:
    """As the repository's root has one, in which the package is."""
    (tmp_path / "strategy_core").mkdir()
    assert own_package(str(tmp_path)) is None
    settings = Settings(str(tmp_path / "run"), 0, {})
    code = "import strategy_core as lab; print(lab.__file__)"
    environment = environment_of(with_own_code(os.environ), settings)
    done = python(tmp_path, "-c", code, environment=environment)
    assert done.stdout.strip() == str(own_packages()[0] / "__init__.py")
    assert done.stderr == ""
