"""The attacks of docs/security.md are refused by a lab as it is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.__main__ import LABS, attacked
from tests.attacks.victim import victim


@pytest.mark.run
@pytest.mark.parametrize("title", LABS)
def test_every_attack_is_refused(title: str, tmp_path: Path) -> None:
    arguments, host, attacks = LABS[title]
    with victim(tmp_path, *arguments, host=host) as lab:
        through = {name: how for name, how in attacked(lab, attacks) if how is not None}
    assert through == {}
