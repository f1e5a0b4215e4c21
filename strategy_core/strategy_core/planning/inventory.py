"""What devices a machine has, as plain data: found by `devices.py`, read by everyone.

Free of TensorFlow. `probe` asks TensorFlow in a child process, once per caller's lifetime.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
from dataclasses import asdict, dataclass, replace
from typing import Any

from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.errors import LabError
from strategy_profiles.extras import require
from strategy_profiles.spec.run_spec import MAX_DEVICES

_PREFIX = re.compile(r"^(?:[IWEF]\d{4} [\d:.]+ +\d+ |[\d\-]+ [\d:.]+: [IWEF] )?\S+\.cc:\d+\] ?")
_SAID = (
    "Cannot dlopen some GPU libraries",
    "failed call to cuInit",
    "Could not find cuda drivers",
    "not built with CUDA kernel binaries",
)
"""The most telling one first."""
LOG_ALL = {"TF_CPP_MIN_LOG_LEVEL": "0"}
"""A process that asks for the reason must not have silenced it."""


def why_no_gpu(stderr: str) -> str | None:
    """Return TensorFlow's own line on GPUs that it cannot use; None if it wrote none."""
    lines = [line.strip() for line in stderr.splitlines()]
    for words in _SAID:
        for line in lines:
            if words in line:
                return _PREFIX.sub("", line)[:400]
    return None


_PROBE_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class PhysicalDevice:
    """One CPU (the whole host is one), GPU or TPU, as TensorFlow names it."""

    kind: str
    """`CPU`, `GPU` or `TPU`."""
    name: str
    """`/physical_device:GPU:0`."""
    description: str = ""
    """The GPU's model name, if TensorFlow reports it."""
    compute_capability: str = ""
    """Of a GPU: `9.0`."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """The devices of a machine, and TensorFlow's version there."""

    physical: tuple[PhysicalDevice, ...]
    tensorflow: str
    why_no_gpu: str | None = None
    """TensorFlow's own words, if it sees no GPU and says why."""

    def count(self, kind: str) -> int:
        """Physical devices of a kind: `CPU`, `GPU`, `TPU`."""
        return sum(device.kind == kind for device in self.physical)

    @property
    def possibilities(self) -> list[str]:
        """What a `devices` text may ask for here, in words."""
        words = [f"cpu:1 to cpu:{MAX_DEVICES} (logical CPUs on the host's cores)"]
        gpus = self.count("GPU")
        if gpus:
            words.append(f"gpu:1 to gpu:{gpus} (whole GPUs)")
            words.append(
                f"more than {gpus} logical GPUs with gpu_memory_mb, several on a GPU: without NCCL"
            )
        if self.count("TPU"):
            words.append("tpu")
        return words

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"possibilities": self.possibilities}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Inventory:
        physical = tuple(PhysicalDevice(**device) for device in document["physical"])
        return cls(physical, document["tensorflow"], document.get("why_no_gpu"))


@functools.lru_cache(maxsize=1)
def probe() -> Inventory:
    """The inventory of this machine, from a child process; raises LabError where it cannot."""
    try:
        done = subprocess.run(
            module_command("strategy_core.runtime.logical_devices"),
            env=with_own_code(os.environ) | LOG_ALL,
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(
            f"TensorFlow could not be asked for this machine's devices: {error}"
        ) from None
    try:
        probed = Inventory.from_json(json.loads(done.stdout.strip().splitlines()[-1]))
    except (ValueError, KeyError, IndexError):
        require("tensorflow")
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise LabError(f"TensorFlow could not list this machine's devices: {said[-1]}") from None
    return probed if probed.count("GPU") else replace(probed, why_no_gpu=why_no_gpu(done.stderr))
