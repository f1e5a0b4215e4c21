"""The doctor says what is there and what each missing part costs, whatever the machine is like."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from strategy_core.cli.main import main
from strategy_core.planning.inventory import why_no_gpu
from strategy_core.runtime.nvml import NOT_INSTALLED, Card
from strategy_doctor.check import Check
from strategy_doctor.limits_check import cpu_limit, limit_checks
from strategy_doctor.package_check import extra_checks, package_check, python_check
from strategy_doctor.system_check import folder_check, port_check, ptrace_check
from strategy_doctor.tensorflow_check import (
    driver_version,
    gpu_checks,
    nvml_checks,
    shared_memory_check,
    tensorflow_checks,
)
from strategy_profiles.extras import extras

CPU = {"kind": "CPU", "name": "/physical_device:CPU:0", "description": ""}
GPU = {"kind": "GPU", "name": "/physical_device:GPU:0", "description": "NVIDIA H100"}


def with_tensorflow(folder: Path, text: str) -> dict[str, str]:
    """An environment whose `tensorflow` is this program."""
    (folder / "tensorflow.py").write_text(text)
    return os.environ | {"PYTHONPATH": str(folder)}


def checks_by_key(checks: object) -> dict[str, Check]:
    return {check.key: check for check in checks}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import no_such_library", "No module named 'no_such_library'"),
        ("import os; os.abort()", "its import ended by signal 6"),
        ("raise SystemExit(3)", "it ended with code 3"),
    ],
)
def test_a_broken_tensorflow_is_a_sentence(tmp_path: Path, program: str, why: str) -> None:
    (check,) = tensorflow_checks(with_tensorflow(tmp_path, program))
    assert check.state == "broken"
    assert why in check.found
    assert "Traceback" not in check.found
    assert check.advice


def test_a_tensorflow_that_hangs_is_ended(tmp_path: Path) -> None:
    environment = with_tensorflow(tmp_path, "import time; time.sleep(1000)")
    (check,) = tensorflow_checks(environment, timeout_s=1)
    assert "longer than 1 s" in check.found


@pytest.mark.slow
def test_with_a_broken_tensorflow_the_verb_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = with_tensorflow(tmp_path, "raise ImportError('a library is missing')")
    monkeypatch.setenv("PYTHONPATH", environment["PYTHONPATH"])
    assert main(["doctor", "--runs", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert "a library is missing" in output
    assert "Training cannot run here." in output


def test_doctor_reports_each_part_that_gpus_need() -> None:
    inventory = {"cuda": "12.5", "cudnn": "9", "physical": [CPU, GPU, GPU]}
    checks = checks_by_key(gpu_checks(inventory, "570.1", lambda _name: "2.25"))
    assert {check.state for check in checks.values()} == {"ok"}
    assert "2: NVIDIA H100" in checks["gpus"].found
    blind = checks_by_key(gpu_checks(inventory | {"physical": [CPU]}, "570.1", lambda _name: None))
    assert blind["gpu_driver"].state == "ok"
    assert "strategy-lab[cuda]" in blind["gpus"].advice
    none = checks_by_key(
        gpu_checks({"cuda": None, "cudnn": None, "physical": [CPU]}, None, lambda _: None)
    )
    assert {check.state for check in none.values()} == {"missing"}
    assert all(check.costs and not check.advice for check in none.values())


def test_the_driver_is_read_from_the_kernel(tmp_path: Path) -> None:
    said = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.172.08  Release Build\n"
    (tmp_path / "version").write_text(said)
    assert driver_version(tmp_path / "version") == "570.172.08"
    assert driver_version(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("group", "files", "expected"),
    [
        ("0::/", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/", {"cpu.max": "max 100000"}, None),
        ("0::/a/b", {"a/b/cpu.max": "50000 100000"}, 0.5),
        (
            "4:cpu,cpuacct:/",
            {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"},
            2.0,
        ),
        ("0::/", {"cpu.max": "nonsense"}, None),
        ("0::/", {}, None),
    ],
)
def test_a_container_has_its_own_number_of_cpus(
    tmp_path: Path, group: str, files: dict[str, str], expected: float | None
) -> None:
    write(tmp_path, "proc/self/cgroup", f"{group}\n")
    for name, text in files.items():
        write(tmp_path, f"sys/fs/cgroup/{name}", f"{text}\n")
    assert cpu_limit(tmp_path) == expected


def test_the_memory_limit_of_a_small_container_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/\n")
    write(tmp_path, "sys/fs/cgroup/memory.events", "oom_kill 0\n")
    write(tmp_path, "sys/fs/cgroup/memory.max", f"{1 << 30}\n")
    memory = checks_by_key(limit_checks(tmp_path))["memory"]
    assert memory.state == "missing"
    assert "limited to 1.0 GiB" in memory.found


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_another_python_and_other_packages_are_named() -> None:
    assert python_check().state == "ok"
    assert python_check("3.9.1").state == "broken"
    assert package_check().state == "ok"
    wrong = package_check(["numpy<1", "no-such-package>=1", "ray; extra == 'ray'"])
    assert "numpy is" in wrong.found
    assert "no-such-package is not installed" in wrong.found
    assert "ray" not in wrong.found


def test_a_folder_that_cannot_be_written_keeps_training_from_running(tmp_path: Path) -> None:
    assert folder_check(tmp_path / "runs" / "new").state == "ok"
    assert not (tmp_path / "runs").exists()
    (tmp_path / "file").write_text("")
    assert folder_check(tmp_path / "file").state == "broken"


def test_every_extra_is_looked_for_and_ptrace_and_port_are_tried() -> None:
    assert [check.key for check in extra_checks()] == [f"extra_{name}" for name in extras()]
    for check in (*extra_checks(), ptrace_check(), port_check()):
        assert check.state == "ok" or check.costs


def test_every_extra_that_is_advised_can_be_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert extras().keys() <= project["project"]["optional-dependencies"].keys()


@pytest.mark.tf
def test_doctor_reports_no_fault_where_training_can_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["doctor", "--json", "--runs", str(tmp_path)]) == 0
    checks = {check["key"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["tensorflow"]["state"] == "ok"
    assert checks["tensorflow"]["found"][0].isdigit()


DLOPEN = (
    "W0000 00:00:1790000000.123456    77 gpu_device.cc:2431] Cannot dlopen some GPU libraries. "
    "Please make sure the missing libraries mentioned above are installed properly if you would "
    "like to use GPU."
)
CUDA = {"cuda": "12.5.1", "cudnn": "9", "physical": [CPU]}


def test_why_tensorflow_sees_no_gpu_is_in_its_own_words() -> None:
    noise = "I0000 00:00:1.2 7 cuda_executor.cc:9] a line\n" + DLOPEN + "\nanother"
    said = why_no_gpu(noise)
    assert said is not None
    assert said.startswith("Cannot dlopen some GPU libraries. Please make sure")
    gpus_check = checks_by_key(
        gpu_checks(CUDA | {"why_no_gpu": said}, "570.1", lambda _name: None)
    )["gpus"]
    assert "It says: Cannot dlopen some GPU libraries" in gpus_check.found
    assert gpus_check.state == "missing"
    assert why_no_gpu("I0000 00:00:1.2 7 port.cc:153] oneDNN is on") is None


def test_a_silenced_tensorflow_still_says_why(tmp_path: Path) -> None:
    """The child process that is asked logs, although this process's variable forbids it."""
    program = "import os, sys; sys.exit(os.environ['TF_CPP_MIN_LOG_LEVEL'])"
    environment = with_tensorflow(tmp_path, program) | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    (check,) = tensorflow_checks(environment)
    assert check.found == "it cannot be imported: 0"


def test_under_wsl2_the_driver_is_that_of_windows(tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.1"
    assert driver_version(tmp_path / "version", library) is None
    library.touch()
    assert driver_version(tmp_path / "version", library) == "of Windows, under WSL2"


def test_a_card_that_this_tensorflow_has_no_code_for_is_named() -> None:
    built = CUDA | {"capabilities": ["sm_60", "sm_80", "sm_90", "compute_90"]}
    new = GPU | {"description": "NVIDIA B200", "compute_capability": "10.0"}
    gpus_check = checks_by_key(
        gpu_checks(built | {"physical": [new]}, "570.1", lambda _name: "2.25")
    )["gpus"]
    assert gpus_check.state == "missing"
    assert "no code for compute capability 10.0" in gpus_check.found
    old = GPU | {"compute_capability": "9.0"}
    gpus_check = checks_by_key(
        gpu_checks(built | {"physical": [old]}, "570.1", lambda _name: "2.25")
    )["gpus"]
    assert gpus_check.state == "ok"


def test_a_driver_without_nvml_lacks_clocks_power_and_memory() -> None:
    (check,) = nvml_checks(NOT_INSTALLED, has_driver=True)
    assert (check.state, check.advice) == ("missing", "Install it with: pip install nvidia-ml-py")
    assert list(nvml_checks(NOT_INSTALLED, has_driver=False)) == []


def test_nvmls_numbers_are_not_given_for_tensorflows() -> None:
    """NVML counts along the bus, also cards that CUDA_VISIBLE_DEVICES hides."""
    slow, fast = (Card(model, f"0000000{n}:01:00.0", *[None] * 11) for n, model in enumerate("AB"))
    checks = list(nvml_checks((slow, fast), has_driver=True))
    assert [(check.title, check.found) for check in checks] == [
        ("NVML's card 0", "A, bus 00000000:01:00.0"),
        ("NVML's card 1", "B, bus 00000001:01:00.0"),
    ]


def test_dockers_shared_memory_is_too_little_for_nccl() -> None:
    docker = shared_memory_check(64 << 20)
    assert (docker.state, docker.found) == ("missing", "64 MB in /dev/shm")
    assert docker.advice == "docker run --shm-size=1g"
    assert shared_memory_check(2 << 30).state == "ok"
