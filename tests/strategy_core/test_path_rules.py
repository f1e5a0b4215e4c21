"""Whether a file is the lab's is decided by its folder, never by how its name begins."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from strategy_core.processes import stack_probe
from strategy_core.processes.import_path import own_packages
from strategy_core.runtime.library_files import (
    is_framework_file,
    is_lab_file,
    is_program_file,
)

STACK = """Thread 0x00007f (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "{file}", line 70 in run_step
  File "/work/train.py", line 9 in <module>
"""


@pytest.mark.parametrize("package", own_packages(), ids=lambda package: package.name)
def test_a_file_beside_a_package_of_the_lab_is_the_programs(package: Path) -> None:
    assert is_lab_file(str(package / "anything.py"))
    assert is_lab_file(str(package / "below" / "anything.py"))
    for name in (f"{package.name}_train.py", f"{package.name}s/train.py", "appdirs.py"):
        assert not is_lab_file(str(package.parent / name)), name


def test_a_program_in_a_folder_called_as_a_source_root_is_the_programs() -> None:
    for file in ("/work/app_train.py", "/work/app/train.py", "/work/strategy_core/train.py"):
        assert is_program_file(file)


def test_a_framework_may_have_a_part_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """As TensorFlow, where it does not find a part of Keras."""
    tensorflow = ModuleType("tensorflow")
    tensorflow.__path__ = [None, "/frameworks/tensorflow"]  # type: ignore[list-item]
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    assert is_framework_file("/frameworks/tensorflow/python/ops.py")


def test_a_loop_of_another_package_is_no_step_of_the_labs() -> None:
    rules = {
        folder: stack_probe.read(STACK.format(file=f"{folder}/training/custom_loop.py"))
        for folder in ("/y/strategy_core", "/y/my_strategy_core")
    }
    assert [each.is_in_step for each in rules.values() if each] == [True, False]
