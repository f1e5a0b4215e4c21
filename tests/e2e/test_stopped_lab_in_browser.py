"""An open page says that the lab's server was stopped, or started again, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from strategy_app.server.lost_server import RESTARTED, STOPPED
from strategy_core.processes.running_labs import TOKEN_VARIABLE
from tests import lab_access
from tests.conftest import MAX_WAIT_MS
from tests.growing_run import begin_run
from tests.server_process import server_process

pytestmark = pytest.mark.browser


def test_an_open_page_of_a_lab_that_is_stopped_and_started_again(
    browser: Browser, tmp_path: Path
) -> None:
    runs, log = tmp_path / "runs", tmp_path / "log"
    begin_run(runs / "under-way", steps=30)
    options = ("--runs", str(runs))
    with browser.new_context() as context:
        with server_process(log, *options) as lab:
            page = context.new_page()
            page.set_default_timeout(MAX_WAIT_MS)
            page.goto(lab_access.with_token(f"{lab.url}/?run=under-way"))
            chip, notice = page.locator(".live .chip"), page.locator(".lab-lost-server")
            expect(chip).to_have_text("Running")
            expect(notice).to_have_count(0)
        expect(notice).to_have_text(STOPPED)
        expect(chip).to_have_text("Not connected")
        others = page.get_by_text("connected to the internet")
        expect(others.locator("visible=true")).to_have_count(0)
        with server_process(log, *options, port=lab.port):
            expect(notice).to_have_count(0)  # with the same token the page goes on
            expect(chip).to_have_text("Running")
        other = lab_access.environment(**{TOKEN_VARIABLE: "another-token-of-the-tests"})
        with server_process(log, *options, port=lab.port, environment=other):
            expect(notice).to_have_text(RESTARTED)
            expect(chip).to_have_text("Not connected")
            page.wait_for_timeout(3000)  # by then Streamlit's client has said what it thinks
            refusal = page.get_by_text("Authorization: Bearer")
            expect(refusal.locator("visible=true")).to_have_count(0)
