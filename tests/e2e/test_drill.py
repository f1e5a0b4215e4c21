"""The drill of `tests.drill`, short: one kill of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import drill

pytestmark = [pytest.mark.browser, pytest.mark.run, pytest.mark.timeout(1200)]


def test_whatever_is_killed_the_profile_opens_and_no_process_is_left(
    browser: Browser, tmp_path: Path
) -> None:
    done = list(drill.rounds(len(drill.VICTIMS), seed=1, folder=tmp_path, browser=browser))
    assert len(done) == len(drill.VICTIMS)
