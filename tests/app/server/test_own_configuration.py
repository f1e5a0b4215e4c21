"""What the working folder, the home and the environment say to Streamlit changes no server."""

from __future__ import annotations

import os
import urllib.request
from pathlib import Path

import pytest

from strategy_app.server.own_configuration import OwnConfiguration
from tests import lab_access
from tests.server_process import server_process

CONFIGURATION = """
[server]
baseUrlPath = "moved"
address = "0.0.0.0"
enableStaticServing = true
corsAllowedOrigins = ["http://other.example"]
cookieSecret = "known to others"
[logger]
level = "debug"
[browser]
serverAddress = "other.example"
[of-another-version]
option = 1
"""


def test_there_is_nothing_to_read_until_it_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("USERPROFILE", raising=False)
    monkeypatch.setenv("STREAMLIT_SERVER_COOKIE_SECRET", "known to others")
    with OwnConfiguration() as own:
        assert tmp_path not in (Path.cwd(), Path.home())
        assert not list(Path.cwd().iterdir())
        assert not any(name.startswith("STREAMLIT_") for name in os.environ)
        own.leave()
        assert Path.cwd() == Path.home() == tmp_path
        assert "USERPROFILE" not in os.environ
    assert Path.cwd() == tmp_path


@pytest.mark.run
@pytest.mark.parametrize("content", [CONFIGURATION, "[server\nbroken"], ids=["valid", "broken"])
def test_a_lab_starts_alike_wherever_it_is_started(tmp_path: Path, content: str) -> None:
    settings = tmp_path / ".streamlit"
    settings.mkdir()
    (settings / "config.toml").write_text(content)
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "file.txt").write_text("not to be served")
    environment = lab_access.environment(
        HOME=str(tmp_path),
        STREAMLIT_SERVER_BASE_URL_PATH="moved",
        STREAMLIT_LOGGER_LEVEL="debug",
    )
    log = tmp_path / "log"
    with server_process(log, "--runs", "runs", folder=tmp_path, environment=environment) as lab:
        for path, expected in (("/", b"Strategy Lab"), ("/app/static/file.txt", b"<!")):
            request = urllib.request.Request(lab.url + path, headers=lab_access.HEADERS)
            with urllib.request.urlopen(request) as answer:
                assert expected in answer.read()
        assert (tmp_path / "runs").is_dir(), "relative to where the user is"
    said = log.read_text()
    for unwanted in ("DEBUG", "debug", "moved", "other.example", "config option", "Traceback"):
        assert unwanted not in said
