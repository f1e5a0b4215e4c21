"""What tests share: one launcher with a spare worker, real runs of it, and a count of processes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from strategy_core.launcher.launcher import Launcher
from strategy_core.launcher.state_machine import StateMachine
from strategy_profiles.spec.run_spec import RunSpec
from tests.chromium import launch_chromium
from tests.marks import may_select
from tests.parts import PARTS, long_only
from tests.processes import all_below, command_of
from tests.timeouts import MAX_WAIT_S, wait_until

# The machine may be busy: how long an example takes says nothing.
settings.register_profile("lab", deadline=None)
# `make test` judges a change: the same change passes or fails each time. `make check` and `pytest`
# draw other examples in each run.
settings.register_profile("daily", deadline=None, derandomize=True)
settings.load_profile("lab")

# A shell without job control starts what runs in the background with SIGINT ignored. Processes that
# tests start would inherit that, and those that Ctrl-C should end would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers that are modules of the tests are started without the current folder on their path.
_PATHS = [os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[1])]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, _PATHS))

StateMachine.is_strict = True  # in production an illegal transition is noted, not raised

MAX_WAIT_MS = 60_000
"""How long a browser test waits for what it expects: says nothing of how long it takes."""
expect.set_options(timeout=MAX_WAIT_MS)

DRIVES_THE_OUTSIDE = ("run", "browser")
"""Marks of tests whose processes and browser share the machine with whatever else runs there."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part",
        choices=PARTS,
        default="all",
        help="which tests: all, those of make test (daily), or those it leaves out (long)",
    )
    parser.addoption("--gpus", action="store_true", help="let tests use this machine's GPUs")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("part") == "daily":
        settings.load_profile("daily")
    if not config.getoption("gpus"):
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """To import a file of which `-m` selects nothing takes time, with TensorFlow many seconds."""
    named = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    if collection_path.suffix != ".py" or collection_path in named:
        return None
    expression = str(config.getoption("markexpr", ""))
    return None if may_select(expression, collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright keeps an event loop in the thread of the tests.

    Those that drive processes or a browser have a second try (docs/decisions/testing.md).
    """
    if (part := config.getoption("part")) != "all":
        left_out = long_only(items)
        others = [item for item in items if (item in left_out) == (part == "daily")]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    for item in items:
        if any(item.get_closest_marker(name) for name in DRIVES_THE_OUTSIDE):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def chromiums(playwright: Playwright) -> Iterator[list[Browser]]:
    """Those that were started: one, unless it ended."""
    assert playwright
    launched: list[Browser] = []
    yield launched
    for each in launched:
        each.close()


@pytest.fixture
def browser(playwright: Playwright, chromiums: list[Browser]) -> Browser:
    """One Chromium for all tests that need one; another where it was killed, say for memory."""
    if not chromiums or not chromiums[-1].is_connected():
        chromiums.append(launch_chromium(playwright))
    return chromiums[-1]


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    """A launcher for real runs. A spare worker saves each of them the import of TensorFlow."""
    with Launcher(spare=True, stop_grace_s=MAX_WAIT_S) as shared:
        yield shared


@pytest.fixture(scope="session")
def finished_run(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a real run: digits-cnn, mirrored on 2 devices, then on 4; 40 steps."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    spec = RunSpec.model_validate(
        {
            "devices": "cpu:2",
            "global_batch_size": 64,
            "steps": 40,
            "capture": {"window_steps": 5},
            "reconfigure": [{"step": 20, "changes": {"devices": "cpu:4"}}],
        }
    )
    handle = launcher.launch(spec, folder)
    assert handle.wait(MAX_WAIT_S), "the run did not end"
    assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"
    return folder


@pytest.fixture(scope="session", autouse=True)
def _no_process_left() -> Iterator[None]:
    """Nothing that the tests started outlives them."""
    yield
    with contextlib.suppress(AssertionError):
        wait_until(lambda: not all_below(), 60)
    assert not (left := all_below()), [" ".join(command_of(child)) for child in left]


@pytest.fixture(autouse=True)
def _no_signal_left_blocked() -> Iterator[None]:
    """Processes inherit blocked signals: a later test's server would not end on SIGTERM."""
    yield
    left = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    assert not left, f"the test left signals blocked: {sorted(left)}"


@pytest.fixture(scope="session", autouse=True)
def _tensorflow_only_where_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests without TensorFlow import none: that takes seconds in each process and much memory."""
    yield
    marks = {mark.name for item in request.session.items for mark in item.iter_markers()}
    is_imported = "tensorflow" in sys.modules
    assert not is_imported or marks & {"tf", *DRIVES_THE_OUTSIDE}, (
        "A test without the mark `tf`, or its module, imports TensorFlow. Import it in tests that "
        "have the mark. `python -X importtime -m pytest --collect-only` finds such a module."
    )
