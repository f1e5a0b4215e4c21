"""The chart of a sweep: the front, and the name of the winner."""

from __future__ import annotations

import msgspec
import pytest

from strategy_sweep.chart import pareto
from strategy_sweep.results import results
from tests.plugins.sweep.made_sweep import made_sweep, played


def test_a_front_of_one_configuration_is_no_line_in_the_legend() -> None:
    only = pareto(results(played(made_sweep(1), lambda _planned: 100.0)), "step_ms")
    assert [points.mode for points in only.data] == ["markers"]
    assert not [points.name for points in only.data if "front" in points.name]
    # The first configuration has the shortest steps, the second the most examples per second.
    two = pareto(results(played(made_sweep(2), lambda run: 100.0 + run.configuration)), "step_ms")
    assert [points.mode for points in two.data].count("lines") == 1


@pytest.mark.parametrize(
    ("name", "is_written"),
    [("mirrored batch 512", True), ("mirrored 1 device packs 1 xla off batch 512", False)],
)
def test_a_name_that_does_not_fit_a_narrow_screen_is_not_in_the_chart(
    name: str, is_written: bool
) -> None:
    made = made_sweep(2)
    named = [msgspec.structs.replace(each, label=name) for each in made.configurations]
    sweep = msgspec.structs.replace(made, configurations=named)
    chart = pareto(results(played(sweep, lambda run: 100.0 + run.configuration)), "step_ms")
    assert [each.text for each in chart.layout.annotations] == [f"<b>{name}</b>"] * is_written
