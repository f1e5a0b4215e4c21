"""From when to when the devices of a hand-drawn step hold its tensors."""

from __future__ import annotations

from typing import Any

from strategy_profiles.capture import xspace
from strategy_profiles.capture.convert import WindowOf, to_tables
from strategy_profiles.capture.joined import join
from tests.profiles.capture.placed import BYTES, DEVICES, Placed
from tests.profiles.capture.xspace_builder import EPOCH_NS, CaptureBuilder


def _held_ns(placed: Placed, capture: CaptureBuilder) -> dict[str, tuple[int, int]]:
    """Return from when to when each tensor is held, in ns of the capture."""
    return {
        row["name"]: (row["start_ns"] - EPOCH_NS, row["end_ns"] - EPOCH_NS)
        for row in _rows(placed, capture)
    }


def _rows(placed: Placed, capture: CaptureBuilder) -> list[dict[str, Any]]:
    joined = join(xspace.decode(capture.serialized()), placed.graph())
    return to_tables(joined, WindowOf(0, 0))["tensors"].to_pylist()


def _capture(**ops: tuple[str, int, int]) -> CaptureBuilder:
    """A step of 1000 ns after one of 100 ns; ops are their type, start and end."""
    capture = CaptureBuilder(is_absolute=True)
    capture.step(6, 0, 100)
    capture.step(7, 100, 1100)
    for name, (op, start_ns, end_ns) in ops.items():
        capture.add(f"{name}:{op}", start_ns, end_ns)
    return capture


def test_a_tensor_is_held_until_its_last_reader_ends() -> None:
    placed = Placed()
    placed.add("a", "MatMul", 0)
    placed.add("b", "MatMul", 0, "a")
    placed.add("c", "MatMul", 0, "a", "b")
    held_bytes = _held_ns(
        placed, _capture(a=("MatMul", 100, 200), b=("MatMul", 200, 300), c=("MatMul", 300, 400))
    )
    assert held_bytes == {"a": (100, 400), "b": (200, 400), "c": (300, 400)}


def test_an_op_without_an_event_passes_on_who_reads_it() -> None:
    placed = Placed()
    placed.add("a", "MatMul", 0)
    placed.add("same", "Reshape", 0, "a")
    placed.add("b", "MatMul", 0, "same")
    held_bytes = _held_ns(placed, _capture(a=("MatMul", 100, 200), b=("MatMul", 300, 400)))
    assert held_bytes == {"a": (100, 400), "b": (300, 400)}


def test_a_tensor_that_the_function_returns_is_held_until_the_step_ends() -> None:
    placed = Placed()
    placed.add("loss", "Mean", 0, size=4)
    placed.add("out", "_Retval", 0, "loss", size=4)
    assert _held_ns(placed, _capture(loss=("Mean", 100, 200))) == {"loss": (100, 1100)}


def test_the_last_reader_of_a_tensor_writes_into_it_if_its_kernel_can() -> None:
    placed = Placed()
    placed.add("a", "MatMul", 0)
    placed.add("active", "Relu", 0, "a")
    placed.add("b", "MatMul", 0, "active")
    ops = {"a": ("MatMul", 100, 200), "active": ("Relu", 200, 300), "b": ("MatMul", 300, 400)}
    assert _held_ns(placed, _capture(**ops))["a"] == (100, 200)
    # Read again later, it cannot be overwritten.
    placed.add("gradient", "ReluGrad", 0, "a")
    ops["gradient"] = ("ReluGrad", 400, 500)
    assert _held_ns(placed, _capture(**ops))["a"] == (100, 400)


def test_a_received_tensor_is_held_by_the_device_that_reads_it() -> None:
    placed = Placed()
    placed.add("a", "MatMul", 0)
    placed.add("b", "MatMul", 1, "a")
    capture = _capture(a=("MatMul", 100, 200), b=("MatMul", 400, 500))
    capture.add("a/send_1:_Send", 200, 210)
    capture.receive("a/recv_1", 150, 350)
    rows = {row["name"]: row for row in _rows(placed, capture)}
    assert set(rows) == {"a", "a/recv_1", "b"}
    received = rows["a/recv_1"]
    assert (received["device"], received["bytes"]) == (DEVICES[1], BYTES)
    assert received["end_ns"] - EPOCH_NS == 500
    assert rows["a"]["end_ns"] - EPOCH_NS == 210


def test_the_outputs_of_a_split_are_as_large_as_what_it_cuts() -> None:
    placed = Placed()
    placed.add("all", "ConcatV2", 0)
    placed.add("parts", "SplitV", 0, "all", size=BYTES // 4)
    ops = {"all": ("ConcatV2", 100, 200), "parts": ("SplitV", 200, 300)}
    rows = {row["name"]: row["bytes"] for row in _rows(placed, _capture(**ops))}
    assert rows == {"all": BYTES, "parts": BYTES}


def test_only_the_last_step_of_a_capture_and_known_sizes_have_rows() -> None:
    placed = Placed()
    placed.add("a", "MatMul", 0)
    placed.add("b", "Where", 0, size=0)
    capture = _capture(a=("MatMul", 20, 40), b=("Where", 120, 140))
    assert _rows(placed, capture) == []
    capture.add("a:MatMul", 120, 140)
    (row,) = _rows(placed, capture)
    assert (row["step"], row["name"], row["source"]) == (7, "a", "derived")
