"""Strategies from a folder of the user's own: each has its card and is launched from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.looking import open_page
from tests.app.pages.test_lab_page import PretendedLauncher, press
from tests.own_strategies import installed


@pytest.fixture
def launcher() -> PretendedLauncher:
    return PretendedLauncher()


@pytest.mark.parametrize(
    ("title", "name", "workers"),
    [("SumOnCpuStrategy", "sum-on-cpu", 1), ("RingOfWorkersStrategy", "ring-of-workers", 2)],
)
def test_its_card_launches_it(
    lab: Path, launcher: PretendedLauncher, title: str, name: str, workers: int
) -> None:
    with installed(lab / ".strategies"):
        at = press(open_page("lab", lab), title)
        # One algorithm is no choice.
        keys = {item.key: item for item in at.selectbox}
        assert keys["cross_device_ops"].disabled
        press(at, "Run")
    spec = launcher.launched[0].spec
    assert (spec.strategy, spec.workers, spec.cross_device_ops) == (name, workers, "auto")
