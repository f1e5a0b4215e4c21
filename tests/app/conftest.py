"""Pages under test have no browser that would need a head start, and a launcher of the test's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.elements.lib import policies
from streamlit.runtime.scriptrunner import script_runner

from strategy_app.server import state
from strategy_app.server.asgi_app import server_options


@pytest.fixture(autouse=True)
def _no_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategy_app.widgets.chart.PAINT_S", 0.0)


@pytest.fixture(scope="session", autouse=True)
def _one_scan() -> Iterator[None]:
    """Every `AppTest` reads the metadata of all installed packages, 0.2 s: once is enough."""
    scan = "scan_component_manifests"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, scan, cache(getattr(manifest_scanner, scan)))
        yield


@pytest.fixture(scope="session", autouse=True)
def _labs_options() -> Iterator[None]:
    """Scripts run as in the lab's server. By default Streamlit rewrites each page's syntax tree to
    show the values of its expressions, which takes half the time of a small page."""
    before = {}
    for name, value in server_options("127.0.0.1", 0).items():
        if name.startswith("runner."):
            before[name] = config.get_option(name)
            config.set_option(name, value)
    yield
    for name, value in before.items():
        config.set_option(name, value)


@pytest.fixture(scope="session", autouse=True)
def _no_keras_to_clear() -> Iterator[None]:
    """After each run of a script, Streamlit clears the session of an imported Keras.

    The lab's server imports no Keras. A process that also runs TensorFlow's tests has it, and would
    search its whole heap for garbage after each run of a page, which takes 0.4 s.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(script_runner, "_clean_problem_modules", lambda: None)
        yield


@pytest.fixture
def lab(tmp_path: Path, launcher: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs folder of a lab with the module's own `launcher`."""
    configure = state.configure
    monkeypatch.setattr(state, "configure", lambda runs: configure(runs, launcher=launcher))
    return tmp_path


@pytest.fixture
def no_warning_of_defaults(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    """Fails if Streamlit warns of a field with a default and a value that the page has set.

    It does so once in a process.
    """
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    monkeypatch.setattr(policies._LOGGER, "propagate", True)
    yield
    said = [record.getMessage() for record in caplog.get_records("call")]
    assert not [text for text in said if "was created with a default value" in text]
