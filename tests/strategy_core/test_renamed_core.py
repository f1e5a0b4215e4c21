"""A traced program with a `strategy_core` of its own gets it, and is recorded nevertheless."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategy_core.processes.import_path import package_root, with_own_code
from strategy_core.tracing.command import environment_of
from strategy_core.tracing.settings import Settings

PROGRAM = """
import multiprocessing, sys
import strategy_core
assert strategy_core.OWNER == "user"

def owner():
    import strategy_core
    assert strategy_core.OWNER == "user"

if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=owner)
    child.start()
    child.join()
    print(child.exitcode, "strategy_lab.core.tracing.startup" in sys.modules)
"""
EVERY_MODULE = """
import importlib, pkgutil, sys
from strategy_lab.renamed_core import import_core
record = import_core("tracing.startup").sys.modules["strategy_lab.core"].record
assert record.__module__ == "strategy_lab.core.recorder.program"
for name in ("tracing", "recorder", "tpu"):
    package = import_core(name)
    for found in pkgutil.walk_packages(package.__path__, f"{name}."):
        if "__main__" not in found.name and ".site." not in found.name:
            import_core(found.name)
print(sorted(name for name in sys.modules if name.startswith("strategy_core")))
"""


@pytest.fixture(params=["strategy_core.py", "strategy_core/__init__.py"])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    own = tmp_path / request.param
    own.parent.mkdir(exist_ok=True)
    own.write_text('OWNER = "user"\n')
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def traced(project: Path, *arguments: str, cwd: Path | None = None) -> str:
    run = project / "run"
    run.mkdir()
    settings = Settings(str(run), 0)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd or project,
        env=environment_of(with_own_code(os.environ), settings)
        | {"STRATEGY_LAB_TRACE_STRICT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("program", [["program.py"], ["-m", "program"]])
def test_the_program_and_its_children_get_their_own_package(
    project: Path, program: list[str]
) -> None:
    assert traced(project, *program) == "0 True"


def test_a_script_in_another_folder_gets_the_one_beside_it(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert traced(project, str(project / "program.py"), cwd=elsewhere) == "0 True"


def test_a_program_without_one_gets_that_of_the_lab(tmp_path: Path) -> None:
    code = (
        "import strategy_core as lab, sys; print(lab.__file__, 'strategy_lab.core' in sys.modules)"
    )
    own = package_root() / "strategy_core" / "__init__.py"
    assert traced(tmp_path, "-c", code) == f"{own} False"


@pytest.mark.tf
def test_no_module_of_the_recorder_imports_another_under_its_usual_name(project: Path) -> None:
    assert traced(project, "-c", EVERY_MODULE).splitlines()[-1] == "[]"
