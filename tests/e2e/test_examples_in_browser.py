"""A newcomer opens an example, or brings a run or a profile of their own, and sees its cause."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from strategy_profiles.examples import EXAMPLES, FOLDER
from tests import lab_access
from tests.e2e.conftest import served

pytestmark = pytest.mark.browser


def test_an_empty_folder_offers_examples_that_open(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as lab:
        page = browser.new_page()
        page.goto(lab_access.with_token(lab.address("runs")))
        command = f"strategy-lab trace --runs {lab.runs} train.py"
        expect(page.get_by_text(command)).to_be_visible()
        page.get_by_role("button", name=EXAMPLES[0].title).click()
        expect(page.get_by_text("Replica 2 is late").first).to_be_visible()
        assert "run=example-late-replica" in page.url

        page.goto(lab.address("runs"))
        page.get_by_role("button", name="Record, import, examples").click()
        page.get_by_role("button", name=EXAMPLES[1].title).click()
        expect(page.get_by_text("waiting for the batch").first).to_be_visible()
        page.close()


def test_a_file_is_dropped_or_named_and_a_bad_one_is_refused_in_a_sentence(
    browser: Browser, tmp_path: Path
) -> None:
    packed, bad = tmp_path / "theirs.zip", tmp_path / "trace.json"
    shutil.copy(FOLDER / "slow-input.zip", packed)
    bad.write_text('{"traceEvents": []}')
    with served(tmp_path) as lab:
        page = browser.new_page()
        page.goto(lab_access.with_token(lab.address("runs")))
        drop = page.locator("input[type=file]")
        drop.set_input_files(bad)
        said = page.get_by_test_id("stAlertContentError")
        expect(said).to_have_text(re.compile(r"^Nothing in trace\.json can be read: .{5,80}$"))
        drop.set_input_files(packed)
        expect(page.get_by_text("waiting for the batch").first).to_be_visible()
        assert "run=theirs" in page.url

        page.goto(lab.address("runs"))
        page.get_by_role("button", name="Record, import, examples").click()
        path = page.get_by_label("Or the path of a file or folder")
        path.fill(str(tmp_path / "nowhere"))
        path.press("Enter")
        expect(said).to_have_text(re.compile("nowhere does not exist"))
        path.fill(str(packed))
        page.get_by_role("button", name="Import", exact=True).click()
        page.wait_for_url("**/overview?run=theirs-2")
        page.close()
