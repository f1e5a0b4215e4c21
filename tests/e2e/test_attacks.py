"""The attacks of docs/security.md are refused by a lab as it is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.__main__ import LABS, attacked


@pytest.mark.long(keep=1)
@pytest.mark.run
@pytest.mark.parametrize("title", LABS)
def test_every_attack_is_refused(title: str, tmp_path: Path) -> None:
    start, attacks = LABS[title]
    with start(tmp_path) as lab:
        through = {name: how for name, how in attacked(lab, attacks) if how is not None}
    assert through == {}
