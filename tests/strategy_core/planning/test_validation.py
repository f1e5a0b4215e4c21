"""Files that a request names are looked at before anything runs, without TensorFlow."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_core.planning import validation
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"def build_model(:\n", r"mine.py:1: invalid syntax. Correct that line."),
        (b"x = 1\n  y = 2\n", r"mine.py:2: unexpected indent"),
        (b"x = 1\0", r"mine.py: .*null bytes"),
    ],
)
def test_a_workload_file_that_is_no_python(text: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes(text)
    with pytest.raises(SpecError, match=f"The workload file .*{problem}"):
        validation.check(RunSpec(workload=str(tmp_path / "mine.py")))


def test_a_workload_file_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit\n")
    validation.check(RunSpec(workload=str(tmp_path / "mine.py")))


def test_a_data_file_that_is_absent_or_unusable_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "nothing.csv").touch()
    for name, rule in {
        "absent.csv": "absent.csv does not exist",
        "notes.txt": "in the format of .*notes.txt",
        "nothing.csv": "nothing.csv is empty",
    }.items():
        with pytest.raises(SpecError, match=rule) as refused:
            validation.check(RunSpec(data=str(tmp_path / name)))
        assert refused.value.field == "data"


def test_a_checked_spec_is_checked_again_only_for_devices_that_were_unknown(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.py"
    path.write_text("x = 1\n")
    one_cpu = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "2.21.0")
    spec = RunSpec(workload=str(path), strategy="mirrored", devices="gpu:2")
    checked = validation.check(spec)
    path.unlink()
    assert validation.check(checked) is checked
    with pytest.raises(SpecError, match="GPU"):
        validation.check(checked, one_cpu)
    with pytest.raises(SpecError, match=r"mine\.py"):
        validation.check(spec)
