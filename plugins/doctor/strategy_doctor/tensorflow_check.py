"""TensorFlow and what it needs for GPUs: versions, driver, NCCL. A child process imports it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from strategy_core.planning.inventory import LOG_ALL, why_no_gpu
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.runtime.nvml import NOT_INSTALLED, Card, cards, state_of
from strategy_doctor.check import Check, broken, missing, present
from strategy_profiles.extras import EXTRAS

TIMEOUT_S = 120.0
"""A cold import takes seconds; on a busy machine or a network disk up to a minute."""
Json = Mapping[str, Any]
_DRIVER = Path("/proc/driver/nvidia/version")
_WSL_DRIVER = Path("/usr/lib/wsl/lib/libcuda.so.1")
"""Under WSL2 the driver is that of Windows, and the kernel's file does not exist."""
_SHARED, _LEAST_SHARED = Path("/dev/shm"), 1 << 30
_NO_GPU = "runs on GPUs; virtual CPU devices emulate strategies, without their speed"


def tensorflow_checks(
    environment: Mapping[str, str] = os.environ, timeout_s: float = TIMEOUT_S
) -> Iterator[Check]:
    """TensorFlow first; if it works, what GPUs need."""
    known = installed_tensorflow(environment, timeout_s)
    if isinstance(known, Check):
        yield known
        return
    yield present("tensorflow", "TensorFlow", f"{known['tensorflow']}, Keras {known['keras']}")
    yield from gpu_checks(known, driver_version(_DRIVER, _WSL_DRIVER), _package_version)
    yield from nvml_checks(cards(), has_driver=driver_version(_DRIVER, _WSL_DRIVER) is not None)


def installed_tensorflow(environment: Mapping[str, str], timeout_s: float) -> Json | Check:
    """What the installed TensorFlow says of itself, or the check that says why it cannot."""
    command = module_command("strategy_doctor.installation")
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            env=with_own_code(environment) | LOG_ALL,
        )
    except subprocess.TimeoutExpired:
        return _broken(f"its import takes longer than {timeout_s:.0f} s and was ended")
    try:
        answer = dict(json.loads(done.stdout.strip().splitlines()[-1]))
        return answer | {"why_no_gpu": why_no_gpu(done.stderr)}
    except (ValueError, IndexError):
        if not EXTRAS["tensorflow"].is_installed:
            return _not_installed()
        return _broken(_why(done.returncode, done.stderr))


def gpu_checks(
    installed: Json, driver: str | None, package: Callable[[str], str | None]
) -> Iterator[Check]:
    """GPUs, their driver, CUDA and NCCL; `package` returns the version of an installed one."""
    gpus = [device for device in installed["physical"] if device["kind"] == "GPU"]
    if driver is None:
        yield missing("gpu_driver", "GPU driver", "no NVIDIA driver is loaded", _NO_GPU)
    else:
        yield present("gpu_driver", "GPU driver", f"NVIDIA {driver}")
    if installed["cuda"] is None:
        state = "this TensorFlow was built for CPUs alone"
        yield missing("cuda", "CUDA", state, _NO_GPU, _cuda_advice(driver))
    else:
        state = f"built for CUDA {installed['cuda']}, cuDNN {installed['cudnn']}"
        yield present("cuda", "CUDA", state)
    if gpus:
        names = ", ".join(device["description"] or device["name"] for device in gpus)
        yield _runs_on(gpus, names, installed.get("capabilities") or [])
    else:
        said = installed.get("why_no_gpu")
        state = f"TensorFlow sees none. It says: {said}" if said else "TensorFlow sees none"
        unusable = driver is not None and installed["cuda"] is not None
        advice = _cuda_advice(driver) if unusable else ""
        yield missing("gpus", "GPUs", state, _NO_GPU, advice)
    yield _nccl(package, is_wanted=len(gpus) > 1)
    if len(gpus) > 1:
        yield shared_memory_check(shutil.disk_usage(_SHARED).total if _SHARED.exists() else None)


def shared_memory_check(num_bytes: int | None) -> Check:
    """NCCL's processes on one machine share memory there; Docker gives a container 64 MB."""
    if num_bytes is None or num_bytes >= _LEAST_SHARED:
        return present("shared_memory", "Shared memory", "enough for NCCL between processes")
    state = f"{num_bytes >> 20} MB in {_SHARED}"
    costs = "several workers with NCCL may fail at their first collective"
    return missing("shared_memory", "Shared memory", state, costs, "docker run --shm-size=1g")


def _runs_on(gpus: Sequence[Json], names: str, built_for: Sequence[str]) -> Check:
    """The GPUs, and whether this TensorFlow has code for them."""
    majors = {each.removeprefix("sm_").removeprefix("compute_")[:-1] for each in built_for}
    capabilities = [str(gpu.get("compute_capability") or "") for gpu in gpus]
    unknown = sorted({each for each in capabilities if each and each.split(".")[0] not in majors})
    if not built_for or not unknown:
        return present("gpus", "GPUs", f"{len(gpus)}: {names}")
    state = (
        f"{len(gpus)}: {names}; this TensorFlow has no code for compute capability "
        f"{', '.join(unknown)}"
    )
    costs = "the first step takes minutes while the driver compiles, or fails with an older driver"
    return missing("gpus", "GPUs", state, costs, "Install a newer TensorFlow and a newer driver")


def nvml_checks(known: tuple[Card, ...] | str, *, has_driver: bool) -> Iterator[Check]:
    """The state of the cards, on a machine that has a driver or cards."""
    if isinstance(known, str):
        if has_driver:
            advice = "Install it with: pip install nvidia-ml-py" if known == NOT_INSTALLED else ""
            yield missing("nvml", "GPU state", known, "clocks, power and memory of GPUs", advice)
        return
    for number, card in enumerate(known):
        yield present(f"nvml_{number}", f"NVML's card {number}", state_of(card))


def driver_version(path: Path, of_windows: Path | None = None) -> str | None:
    """The version of the loaded NVIDIA kernel module; None if there is none."""
    try:
        match = re.search(r"\b(\d+\.\d[\d.]*)", path.read_text())
    except OSError:
        return "of Windows, under WSL2" if of_windows is not None and of_windows.exists() else None
    return match[1] if match else "of an unknown version"


def _nccl(package: Callable[[str], str | None], *, is_wanted: bool) -> Check:
    versions = {name: package(name) for name in ("nvidia-nccl-cu12", "nvidia-nccl-cu13")}
    for name, version in versions.items():
        if version is not None:
            return present("nccl", "NCCL", f"{version} (package {name})")
    advice = "Install it with: pip install 'strategy-lab[cuda]'" if is_wanted else ""
    costs = "all-reduce between GPUs by NCCL; other cross-device algorithms work"
    return missing("nccl", "NCCL", "no package has it here", costs, advice)


def _package_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cuda_advice(driver: str | None) -> str:
    return "" if driver is None else "Install it with: pip install 'strategy-lab[cuda]'"


def _broken(why: str) -> Check:
    advice = "Install TensorFlow again: pip install --force-reinstall tensorflow"
    return broken("tensorflow", "TensorFlow", why, advice)


def _not_installed() -> Check:
    advice = EXTRAS["tensorflow"].advice
    return broken("tensorflow", "TensorFlow", "it is not installed", advice)


def _why(code: int, stderr: str) -> str:
    if code < 0:
        return f"its import ended by signal {-code}"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"it cannot be imported: {lines[-1][:300]}" if lines else f"it ended with code {code}"
