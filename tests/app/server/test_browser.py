"""`strategy-lab` opens the lab in the browser, if there is one, once the server answers."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from strategy_app.access.policy import Access
from strategy_app.server.banner import addresses
from strategy_app.server.browser import redirect_file
from strategy_core.cli.ui import has_browser
from tests import lab_access
from tests.timeouts import MAX_WAIT_S, wait_until


@pytest.mark.parametrize(
    ("environment", "platform", "is_there"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "linux", False),
        ({}, "darwin", True),
        ({"CI": "true", "DISPLAY": ":0"}, "linux", False),
        ({"SSH_CONNECTION": "1 2 3 4", "DISPLAY": ":10"}, "linux", False),
        ({"BROWSER": "firefox"}, "linux", True),
    ],
)
def test_a_window_is_opened_where_somebody_sees_it(
    environment: dict[str, str], platform: str, is_there: bool
) -> None:
    assert has_browser(environment, platform) is is_there


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8501"),
        ("0.0.0.0", "http://127.0.0.1:8501"),
        ("::1", "http://[::1]:8501"),
        ("lab.local", "http://lab.local:8501"),
    ],
)
def test_the_address_is_one_that_a_browser_here_reaches(host: str, url: str) -> None:
    assert addresses(Access(host))[0] == url


def test_only_its_owner_can_read_the_file_that_leads_to_the_lab(tmp_path: Path) -> None:
    file = redirect_file(tmp_path, "http://127.0.0.1:8501/?token=a&b")
    assert file.stat().st_mode & 0o777 == 0o600
    assert "token=a&amp;b" in file.read_text()


@pytest.mark.run
def test_the_command_shows_the_page_once_it_is_there(tmp_path: Path) -> None:
    """A browser of the test's own: it notes the address that it is asked to show.

    That address is on its command line, which every user can read, so the token is not in it.
    """
    opened, browser = tmp_path / "shown", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "strategy_core", "ui", "--runs", str(tmp_path / "runs")]
    environment = lab_access.environment(BROWSER=f"{browser} %s")
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            wait_until(lambda: opened.exists() or process.poll() is not None)
            assert process.poll() is None
            url = opened.read_text()
            assert url.startswith("file:///")
            assert lab_access.TOKEN not in url
            file = Path(url.removeprefix("file://"))
            assert file.stat().st_mode & 0o777 == 0o600
            assert file.parent.stat().st_mode & 0o777 == 0o700
            (target,) = re.findall(r'href="([^"]+)"', file.read_text())
            request = urllib.request.Request(target, headers={"accept": "text/html"})
            with urllib.request.urlopen(request, timeout=MAX_WAIT_S) as answer:
                assert answer.status == 200
            wait_until(lambda: not file.parent.exists())
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(MAX_WAIT_S)
