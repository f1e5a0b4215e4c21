"""The drawing of a mesh: its links and their bytes cover neither cores nor each other."""

from __future__ import annotations

from itertools import combinations, product

import plotly.graph_objects as go
import pytest

from strategy_tpu.shown.mesh_chart import CorePlace, mesh
from strategy_tpu.shown.mesh_links import MeshLink


def full_mesh(shape: tuple[int, int, int, int]) -> tuple[go.Figure, int]:
    """A mesh with bytes on every link, and the number of links."""
    places = list(product(*map(range, shape)))
    links = [
        MeshLink(axis, place, other, 406_000.0)
        for place in places
        for axis, size in enumerate(shape)
        if (other := tuple(at + (index == axis) for index, at in enumerate(place))) in places
    ]
    return mesh([CorePlace(place, 0, ("core",)) for place in places], shape, links), len(links)


@pytest.mark.parametrize("shape", [(2, 2, 1, 2), (2, 2, 2, 2), (4, 1, 1, 2)])
def test_no_link_passes_through_a_core_or_lies_on_another_link(
    shape: tuple[int, int, int, int],
) -> None:
    chart, num_links = full_mesh(shape)
    lines = [trace for trace in chart.data if trace.mode == "lines"]
    assert len(lines) == num_links
    level = [
        (y0, *sorted((x0, x1)))
        for line in lines
        for x0, x1, y0, y1 in zip(line.x, line.x[1:], line.y, line.y[1:], strict=False)
        if y0 == y1
    ]
    for y, left, right in level:
        for box in chart.layout.shapes:
            is_beside = right <= box.x0 or left >= box.x1
            assert is_beside or not box.y0 < y < box.y1, "a link passes through a core"
    for first, second in combinations(level, 2):
        overlap = min(first[2], second[2]) - max(first[1], second[1])
        assert first[0] != second[0] or overlap <= 0, "two links are drawn as one"


@pytest.mark.parametrize("shape", [(2, 2, 1, 2), (2, 2, 2, 2), (1, 2, 2, 2)])
def test_the_bytes_of_a_link_cover_no_core_however_narrow_the_page(
    shape: tuple[int, int, int, int],
) -> None:
    chart, num_links = full_mesh(shape)
    rows = {(box.y0, box.y1) for box in chart.layout.shapes}
    labels = [trace for trace in chart.data if trace.text and "kB" in trace.text[0]]
    assert len(labels) == num_links
    for label_ in labels:
        assert not any(top <= label_.y[0] < bottom for top, bottom in rows)
    last = max(bottom for _, bottom in rows)
    assert chart.layout.yaxis.range[0] > last + 0.15, "room for the bytes below the last row"
