"""The graph of functions in turns is made of the graphs of their own segments."""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.capture.graph import Node, copy_graphs, read_graph_rows, write_graph

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def _graph(path: Path, reduced: int, summed: int) -> Path:
    nodes = [
        Node(0, 0, "reduced", "CollectiveReduceV3", DEVICE, (), bytes=reduced),
        Node(1, 0, "same", "CollectiveReduceV3", DEVICE, (), bytes=8),
        Node(2, 0, "summed", "AddN", DEVICE, (), bytes=summed),
        Node(3, 0, "computed", "MatMul", DEVICE, (), bytes=reduced),
    ]
    write_graph(nodes, path)
    return path


def test_a_shared_name_of_different_sizes_has_none_and_is_named(tmp_path: Path) -> None:
    sources = [_graph(tmp_path / "a.parquet", 100, 10), _graph(tmp_path / "b.parquet", 200, 20)]
    copy = tmp_path / "copy.parquet"
    assert copy_graphs(sources, copy) == ["reduced", "summed"]
    rows = read_graph_rows(copy)
    assert rows["bytes"].to_pylist() == [None, 8, None, None] * 2
    assert rows["function"].to_pylist() == [0] * 4 + [1] * 4
    assert copy_graphs(sources[:1], copy) == []
