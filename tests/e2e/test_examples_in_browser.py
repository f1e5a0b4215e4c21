"""A newcomer without a run opens an example, and sees its cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from strategy_profiles.examples import EXAMPLES
from tests import lab_access
from tests.e2e.conftest import served

pytestmark = pytest.mark.browser


def test_an_empty_folder_offers_examples_that_open(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as lab:
        page = browser.new_page()
        page.goto(lab_access.with_token(lab.address("runs")))
        expect(page.get_by_text("strategy-lab trace train.py")).to_be_visible()
        page.get_by_role("button", name=EXAMPLES[0].title).click()
        expect(page.get_by_text("Replica 2 is late").first).to_be_visible()
        assert "run=example-late-replica" in page.url

        page.goto(lab.address("runs"))
        page.get_by_role("button", name="Record, import, examples").click()
        page.get_by_role("button", name=EXAMPLES[1].title).click()
        expect(page.get_by_text("waiting for the batch").first).to_be_visible()
        page.close()
