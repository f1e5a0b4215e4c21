"""The model's graph of many devices: each looks different."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import strategy_profiles
from strategy_model import on_devices
from strategy_model.model import ModelPicture
from strategy_model.picture import model_picture
from tests.app.looking import open_page

CAPTURED = Path(__file__).parents[2] / "data/captured_step"
MANY = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{number}" for number in range(16))


def of_many(*_: object) -> ModelPicture:
    """The picture of a captured step, as if sixteen devices ran its blocks."""
    picture = model_picture(strategy_profiles.load(CAPTURED), 0)
    blocks = tuple(
        replace(block, shares=tuple(replace(block.shares[0], device=name) for name in MANY))
        for block in picture.blocks
    )
    return replace(picture, blocks=blocks, devices=MANY, moves=())


def test_each_of_sixteen_devices_looks_different(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(CAPTURED, tmp_path / "captured")
    monkeypatch.setattr(on_devices, "model_picture", of_many)
    page = open_page("placement", tmp_path, run="captured")
    written = "".join(item.proto.body for item in page.get("html"))
    looks = re.findall(r'<i style="([^"]+)"></i>', written)
    assert len(looks) == len(MANY)
    assert len(set(looks)) == len(MANY)
    # The cells of the first six devices have their own colours; all others an outline.
    outlined = [int(place) for place in re.findall(r"\.trace:nth-child\((\d+)\)", written)]
    assert outlined == list(range(7, 17))
