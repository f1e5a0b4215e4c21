"""In CI nothing is skipped: a test that cannot run there is a test that failed."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Generator

import pytest

pytest_plugins = ["tests.installing.built_wheel"]
STATUS = pytest.StashKey[int]()

# Until all tests are collected. Modules and tests are there until the end: each search for garbage
# among them, later ones as well, takes time and finds nothing.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)  # otherwise libraries report what is frozen as leaked


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CI skips nothing: {report.longrepr}"
    return report


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[STATUS] = exitstatus


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave without tearing TensorFlow down: after hundreds of graphs that takes two minutes."""
    status = config.stash.get(STATUS, None)
    if status is None or "tensorflow" not in sys.modules or hasattr(config, "workerinput"):
        return
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
