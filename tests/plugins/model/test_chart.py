"""The figure of the model: a row per layer, a cell per device, an arrow per transfer."""

from __future__ import annotations

from itertools import compress
from pathlib import Path

import pytest

from strategy_model.chart import Sizing, content_of, model_graph
from strategy_model.picture import model_picture
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.tables.store import load

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("sizing", ["time", "variables", "outputs"])
def test_the_model_is_a_row_per_layer_and_a_cell_per_device(sizing: Sizing) -> None:
    picture = model_picture(load(DATA / "captured_step"), 0)
    chart = model_graph(picture, short_names(picture.devices), sizing)
    bars = [trace for trace in chart.data if trace.type == "bar"]
    assert [bar.name for bar in bars] == ["CPU:0", "CPU:1", "CPU:2", "CPU:3"]
    kept = list(compress(picture.blocks, content_of(picture, sizing)))
    rows = {
        part: {
            block.title: row
            for block, row in zip(kept, bars[0].y, strict=True)
            if block.part == part
        }
        for part in ("forward", "gradient")
    }
    beside = rows["gradient"].items() & rows["forward"].items()
    assert len(beside) == len(rows["gradient"]), "a gradient is beside its layer"
    assert {*bars[0].y} == set(range(len(kept) - len(beside))), "no row is empty"
    assert "<b>dense</b> on CPU:2" in " ".join(bars[2].hovertext)
    titles = " ".join(chart.data[len(bars)].text)
    assert ("flatten" in titles) == (sizing == "outputs"), "it has neither time nor variables"
    assert len(chart.layout.shapes) == len(picture.moves)
