"""TPU programs: the names of the package that adds the strategy `tpu`.

    from strategy_core import tpu
    strategy = tpu.build(num_replicas=4, cores_per_replica=2)

They are loaded on first use. No TensorFlow is imported for `tpu.mesh`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from strategy_core.runtime.library_files import count_as_lab
from strategy_profiles.registered import registered


@cache
def _package() -> ModuleType:
    added = registered("strategies").get("tpu")
    if added is None:
        raise AttributeError("No package that emulates TPUs is installed")
    package = import_module(added.value.partition(".")[0])
    count_as_lab(Path(package.__path__[0]))
    return package


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # of a module's own, as Python asks for `__path__`
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_package(), name)


def __dir__() -> list[str]:
    return dir(_package())
