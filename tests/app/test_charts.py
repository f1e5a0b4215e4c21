"""Charts: what goes in comes out, in the house's colours, with names as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from strategy_app.charts import comparing, steps
from strategy_app.charts.base import label
from strategy_app.charts.lines import lines
from strategy_app.charts.matrix import traffic
from strategy_app.charts.runs import together
from strategy_profiles.answers.answer import Line, Lines
from strategy_profiles.reporting.downsample import readable_top
from strategy_profiles.reporting.palette import (
    GREY,
    SERIES_COLOUR,
    SIDE_COLOURS,
    device_colour,
    device_colours,
    run_colour,
)


def line_over_steps(step: np.ndarray, values: np.ndarray, **options: Any) -> go.Figure:
    line = Line("a line", step, values, SERIES_COLOUR)
    return steps.over_steps(Lines("wall", "A", (line,), "step", "a", "ms", **options))


def memory(curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> go.Figure:
    named = zip(curves.items(), device_colours(range(len(curves))), strict=True)
    part = tuple(Line(name, *curve, colour) for (name, curve), colour in named)
    return lines(Lines("memory", "Memory", part, "step", "in use", "bytes", is_of_run=True))


def test_ten_thousand_steps_are_few_points_and_keep_the_slow_one() -> None:
    wall = np.full(10_000, 20.0) + np.random.default_rng(0).normal(0, 0.5, 10_000)
    wall[7_000] = 40.0
    chart = line_over_steps(np.arange(10_000.0), wall, bridge=1)
    assert sum(len(trace.x) for trace in chart.data) < 3_000
    slow = next(trace for trace in chart.data if trace.name.startswith("range of 25 steps"))
    assert max(slow.y) == 40.0
    assert not [trace for trace in chart.data if trace.name == steps.EACH], "no point is a step"


def test_a_gap_in_the_steps_is_not_bridged_by_a_line() -> None:
    step = np.delete(np.arange(300.0), slice(100, 150))
    (line,) = line_over_steps(step, np.full(250, 20.0), bridge=1).data
    assert line.name == steps.EACH
    assert np.flatnonzero(np.isnan(line.y)).tolist() == [100]


def test_an_axis_of_few_steps_marks_no_half_steps() -> None:
    few = np.arange(3.0)
    charts = [line_over_steps(few, few), memory({"a": (few, few)})]
    assert [chart.layout.xaxis.dtick for chart in charts] == [1, 1]
    assert line_over_steps(np.arange(50.0), np.ones(50)).layout.xaxis.dtick is None


def test_memory_of_a_run_that_went_back_to_a_checkpoint_does_not_run_backwards() -> None:
    samples = np.r_[np.arange(0.0, 100, 10), np.arange(50.0, 150, 10)]
    (line,) = memory({"the process": (samples, np.full(20, 1e9))}).data
    (gap,) = np.flatnonzero(np.isnan(line.y))
    for part in (line.x[:gap], line.x[gap + 1 :]):
        assert np.all(np.diff(part) > 0)


def test_a_step_above_the_axis_is_an_arrow() -> None:
    wall = np.full(300, 20.0)
    wall[0] = 4_000.0
    line, arrow = line_over_steps(np.arange(300.0), wall, top=50.0).data
    assert np.isnan(line.y[0])  # no line that seems to rise at step 1
    assert (arrow.x[0], arrow.y[0], arrow.customdata[0]) == (0, 50, 4_000)


@pytest.mark.parametrize("slow", [[0], [0, 40]])
def test_first_steps_do_not_set_the_axis(slow: list[int]) -> None:
    """Not those of short segments either."""
    wall = np.full(80, 50.0)
    wall[slow] = 3_000.0
    assert readable_top([wall[:40], wall[40:]]) < 150


def test_a_legend_has_a_line_of_its_own_above_the_titles_of_segments() -> None:
    one, two = (
        line_over_steps(np.arange(3000.0), np.ones(3000), marks=marks)
        for marks in ((), ((0, "auto"), (1500, "ring")))
    )
    assert two.layout.margin.t >= one.layout.margin.t + steps.LINE_PX
    assert two.layout.legend.yref == "container"


def test_segments_are_marked_within_the_steps() -> None:
    marks = ((0, "mirrored ×4"), (50, "<b>x</b>"))
    chart = line_over_steps(np.arange(100.0), np.ones(100), marks=marks)
    assert chart.layout.xaxis.range[1] < 105
    assert [line.x0 for line in chart.layout.shapes] == [0, 50]
    assert "&lt;b&gt;" in chart.layout.annotations[-1].text


def test_traffic_of_nothing_is_blank() -> None:
    chart = traffic(["a", "b"], np.array([[0, 2_000_000], [0, 0]]))
    assert np.isnan(chart.data[0].z[0][0])
    assert chart.data[0].text[0][1] == "2.00 MB"


def test_long_names_beside_a_matrix_take_two_lines() -> None:
    names = ["CPU:0", "worker 0", "worker 0 CPU:0", "parameter server 1"]
    axis = traffic(names, np.ones((4, 4))).layout.yaxis
    assert axis.tickvals == tuple(names)
    assert axis.ticktext[:3] == ("CPU:0", "worker 0", "worker 0 CPU:0")
    assert axis.ticktext[3] == "parameter<br>server 1"


def test_long_names_of_a_matrix_leave_its_cells_their_height() -> None:
    short, long = (
        traffic([f"{host} GPU:{gpu}" for host in hosts for gpu in (0, 1)], np.ones((4, 4)))
        for hosts in (("a", "b"), ("34.83.195.179_6003", "34.83.195.180_6003"))
    )
    assert long.layout.height - short.layout.height > 50


def test_the_numbers_of_a_matrix_can_be_read_on_their_cells() -> None:
    written = traffic(["a", "b"], np.array([[1, 40_000], [18_000, 0]])).data[1]
    assert written.text == ("1 B", "40.0 kB", "18.0 kB", "")
    assert written.textfont.color[0] != written.textfont.color[1]
    many = traffic([str(n) for n in range(10)], np.ones((10, 10)))
    assert (len(many.data), many.data[0].showscale) == (1, True)


def test_names_are_text_and_short() -> None:
    assert label("<a href='x'>") == "&lt;a href='x'&gt;"
    assert len(label("x" * 500)) == 48
    assert "\u202e" not in label("a\u202eb")


def test_the_interval_shows_the_ratio_and_no_difference() -> None:
    chart = comparing.ratio_interval(0.8, 0.75, 0.85, title="Loop", words=("shorter", "longer"))
    assert chart.data[0].error_x.array[0] == pytest.approx(0.05)
    low, high = chart.layout.xaxis.range
    assert low < 0.75
    assert high > 1
    far = comparing.ratio_interval(26.0, title="Loop", words=("lower", "higher"))
    assert far.data[0].error_x.array is None
    assert far.layout.xaxis.range[0] >= 0, "no ratio is negative"
    assert [each.text.strip() for each in far.layout.annotations] == ["lower in B", "higher in B"]


def test_spreads_are_shares_of_each_side() -> None:
    chart = comparing.spreads(np.linspace(10, 20, 500), np.linspace(15, 25, 100))
    assert sum(chart.data[0].y) == pytest.approx(100, abs=3)
    assert comparing.spreads(np.empty(0), np.empty(0)).data[0].y.sum() == 0


def test_losses_and_memory_draw_a_line_each() -> None:
    line = (np.arange(5.0), np.ones(5))
    assert [trace.name for trace in comparing.losses({"A": line, "B": line}).data] == ["A", "B"]
    assert memory({"CPU:0": line}).data[0].name == "CPU:0"


def test_a_line_that_is_the_middle_of_many_has_their_band() -> None:
    step = np.arange(20.0)
    middle = Line("median of 16", step, step + 5, GREY, step, step + 9)
    part = Lines("memory", "Memory", (middle,), "step", "in use", "bytes", is_of_run=True)
    data = lines(part).data
    named = [trace.name for trace in data if trace.showlegend is not False]
    assert named == ["lowest to highest", "median of 16"]
    last = {trace.name: trace.y[-1] for trace in data}
    assert (last["lowest"], last["median of 16"], last["highest"]) == (19, 24, 28)


def test_the_sides_of_a_comparison_keep_their_colours_beside_more_runs() -> None:
    curve = np.arange(3.0), np.arange(3.0)
    names = ["late", "usual", "slow", "slower"]
    chart = together(dict.fromkeys(names, curve), title="step time", unit="ms", sides="AB")
    assert [line.name for line in chart.data] == ["late (A)", "usual (B)", "slow", "slower"]
    colours = [line.line.color for line in chart.data]
    assert colours == [*SIDE_COLOURS.values(), run_colour(0), run_colour(1)]


def test_devices_of_one_chart_have_different_colours_while_there_are_any() -> None:
    """Positions 0 and 6 have the same one."""
    colours = device_colours((0, 1, 3, 6))
    assert len(set(colours)) == 4
    assert colours[:3] == [device_colour(0), device_colour(1), device_colour(3)]


def test_a_line_in_the_dark_or_light_colour_of_a_device_is_outlined() -> None:
    line = (np.arange(5.0), np.ones(5))
    first, second, *_ = memory({"CPU:0": line, "CPU:1": line}).data
    assert (first.line.color, second.line.color) == (GREY, device_colour(0))
    assert first.line.width > second.line.width
    (alone,) = memory({"the process": line}).data
    assert alone.line.color == SERIES_COLOUR


def test_an_axis_of_few_closures_counts_whole_ones() -> None:
    def ticks(*queued: int) -> int | None:
        line = Line("queued", (0.0, 1.0, 2.0), queued, GREY)
        part = Lines("closures", "Closures", (line,), "seconds", "closures", "count")
        found: int | None = lines(part).layout.yaxis.dtick
        return found

    assert ticks(0, 2, 1) == 1
    assert ticks(0, 40, 10) is None


def test_first_steps_of_short_runs_do_not_flatten_the_lines_of_several() -> None:
    curve = np.arange(30.0), np.array([900.0, *np.linspace(20, 30, 29)])
    chart = together({"a": curve, "b": curve}, title="step time", unit="ms")
    assert 30 < chart.layout.yaxis.range[1] < 60
