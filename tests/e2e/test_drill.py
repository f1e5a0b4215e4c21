"""The drill of `tests.drill`, short: one kill of each kind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import drill

pytestmark = [pytest.mark.run, pytest.mark.timeout(1200)]


def chance_of(victim: str) -> random.Random:
    """The moments of that victim's round with `--seed 1`."""
    return drill.chance_of(1, drill.VICTIMS.index(victim))


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("victim", drill.OF_COMMAND_LINE)
def test_the_profile_of_a_run_opens_and_no_process_is_left(victim: str, tmp_path: Path) -> None:
    drill.lose_in_a_run(victim, tmp_path / "run", chance_of(victim))


@pytest.mark.browser
def test_a_killed_page_leaves_no_process_and_a_profile_that_opens(
    browser: Browser, tmp_path: Path
) -> None:
    drill.kill_the_page(tmp_path, chance_of("page"), browser)


@pytest.mark.long
@pytest.mark.browser
def test_a_lab_goes_on_whichever_forked_process_it_loses(browser: Browser, tmp_path: Path) -> None:
    """One lab loses them one after the other; the command has a lab for each."""
    lost = drill.lose_in_a_lab(drill.IN_A_LAB, tmp_path, chance_of("forked worker"), browser)
    assert [each.victim for each in lost] == list(drill.IN_A_LAB)
