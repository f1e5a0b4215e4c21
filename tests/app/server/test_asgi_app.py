"""The server as it is started: its options, its port, its one lab, its packaged components."""

from __future__ import annotations

import importlib
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit import config, net_util
from streamlit.web import bootstrap

from strategy_app.__main__ import main
from strategy_app.components.packaged import FRONTEND
from strategy_app.server import state
from strategy_app.server.asgi_app import free_port, server_options
from strategy_profiles.errors import SpecError


def test_every_option_is_one_that_streamlit_has() -> None:
    known = config.get_config_options()
    assert set(server_options("127.0.0.1", 1)) <= set(known)
    assert {"runner.postScriptGC", "runner.magicEnabled", "logger.hideWelcomeMessage"} <= set(known)


def test_a_port_in_use_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"127.0.0.1:{port}" in said
    assert "--port" in said


def test_an_unusable_runs_folder_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for runs in (tmp_path / "file", tmp_path / "file" / "below"):
        assert main(["--port", "0", "--runs", str(runs)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert str(runs) in said
        assert "--runs" in said


@pytest.mark.parametrize("port", [-1, 70_000])
def test_a_number_that_is_not_a_port_is_refused(port: int) -> None:
    with pytest.raises(SpecError, match=f"cannot listen on 127.0.0.1:{port}"):
        free_port("127.0.0.1", port)


def test_an_address_that_is_not_ours_is_refused() -> None:
    with pytest.raises(SpecError, match=r"cannot listen on 203\.0\.113\.1:0"):
        free_port("203.0.113.1", 0)


def test_a_second_import_of_the_state_finds_the_same_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = state.configure(tmp_path)
    monkeypatch.delitem(sys.modules, "strategy_app.server.state")
    again = importlib.import_module("strategy_app.server.state")
    assert again is not state
    assert again.lab() is lab


@pytest.mark.slow
def test_the_browser_process_never_imports_tensorflow() -> None:
    code = (
        "import sys, strategy_app.server.asgi_app, strategy_app.control.watch, "
        "strategy_app.forms.configure, strategy_app.server.timeline_routes\n"
        "sys.exit(any(name.split('.')[0] in ('tensorflow', 'keras') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_start_asks_nothing_of_the_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit's greeting for 0.0.0.0 asks a server outside for this machine's address."""
    addresses: list[str] = []
    monkeypatch.setattr(net_util, "get_external_ip", lambda: addresses.append("external"))
    monkeypatch.setattr(net_util, "get_internal_ip", lambda: addresses.append("internal"))
    options = server_options("0.0.0.0", 8501)
    usual = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: options.get(name) or usual(name))
    monkeypatch.setattr(config, "is_manually_set", options.__contains__)
    bootstrap._print_url(is_running_hello=False)
    assert addresses == []
    monkeypatch.setitem(options, "logger.hideWelcomeMessage", False)
    bootstrap._print_url(is_running_hello=False)
    assert addresses == ["internal", "external"]


@pytest.mark.parametrize("folder", ["live", "timeline"])
def test_a_component_has_its_files(folder: str) -> None:
    assert (FRONTEND / folder / "index.js").is_file()
    assert (FRONTEND / folder / "style.css").is_file()


def test_no_script_of_ours_parses_markup_or_fetches_from_outside() -> None:
    for path in FRONTEND.rglob("*.js"):
        if path.name.endswith(".min.js"):
            continue  # a library, which does so within its own charts
        text = path.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text, f"{word} in {path.name}"
        assert "http://" not in text
        assert "https://" not in text
