"""Run one of TensorFlow's test files on emulated cores: `... SOURCE FILE NUM_CORES RESULTS.json`.

TensorFlow's tests build their strategy from four names of TensorFlow: the resolver, the connection,
the initialisation and the strategy. These names are replaced by the emulation's; nothing else is.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
import traceback
import unittest
from functools import partial
from pathlib import Path
from typing import Any

MESHES = {2: (1, 1, 1, 2), 8: (2, 2, 1, 2)}
"""By number of cores: one chip, and a v3-8."""


class Recorded(unittest.TestResult):
    """Outcome of each test: `passed`, `skipped` or `failed`, with the last line of its error."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, tuple[str, str]] = {}

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        self.outcomes.setdefault(test.id(), ("passed", ""))

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self.outcomes.setdefault(test.id(), ("skipped", reason))

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self.outcomes[test.id()] = ("failed", _last_line(err))

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self.outcomes[test.id()] = ("failed", _last_line(err))

    def addSubTest(self, test: Any, _subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.outcomes[test.id()] = ("failed", _last_line(err))


def main() -> None:
    source, file, results = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[4])
    num_cores = int(sys.argv[3])
    sys.argv = ["test_tpu.py"]  # TensorFlow's combinations yield TPU tests under this name alone
    _use_emulation(num_cores)
    sys.meta_path.append(_Checkout(source))  # the installed ones come first
    module = _load(source / file)
    recorded = Recorded()
    for test in _tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)):
        test.run(recorded)
        results.write_text(json.dumps(recorded.outcomes))  # what is done counts after a crash


def _use_emulation(num_cores: int) -> None:
    from strategy_core import tpu

    tpu.configure_virtual_cores(num_cores)
    from tensorflow.python.distribute import tpu_strategy
    from tensorflow.python.distribute.cluster_resolver import tpu_cluster_resolver
    from tensorflow.python.eager import context, remote
    from tensorflow.python.tpu import tpu_strategy_util

    strategy = tpu.TPUStrategy  # imported before TensorFlow's name for it is replaced
    resolver = partial(tpu.TPUClusterResolver, topology_shape=MESHES[num_cores])
    tpu_cluster_resolver.TPUClusterResolver = resolver
    for module in (tpu_cluster_resolver, tpu_strategy_util):
        module.initialize_tpu_system = tpu.initialize_tpu_system
        module.shutdown_tpu_system = tpu.shutdown_tpu_system
    remote.connect_to_cluster = tpu.connect_to_cluster
    tpu_strategy.TPUStrategyV2 = strategy
    tpu_strategy.TPUStrategy = strategy
    reset = context._reset_context

    def reset_context() -> None:
        """A test that resets TensorFlow would lose the emulated cores, which real ones outlast."""
        reset()
        tpu.configure_virtual_cores(num_cores)

    context._reset_context = reset_context


class _Checkout(importlib.abc.MetaPathFinder):
    """Finds helpers that test files import and the wheel leaves out: `tensorflow.python.*`."""

    def __init__(self, source: Path) -> None:
        self._source = source

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        path = self._source / f"{name.replace('.', '/')}.py"
        if not name.startswith("tensorflow.python.") or not path.is_file():
            return None
        return importlib.util.spec_from_file_location(name, path)


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    from absl import flags

    flags.FLAGS(sys.argv[:1])
    return module


def _tests_of(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    tests: list[unittest.TestCase] = []
    for item in suite:
        tests += _tests_of(item) if isinstance(item, unittest.TestSuite) else [item]
    return tests


def _last_line(err: Any) -> str:
    lines = [line for line in traceback.format_exception_only(err[0], err[1]) if line.strip()]
    return " ".join("".join(lines).split())[:300]


if __name__ == "__main__":
    main()
