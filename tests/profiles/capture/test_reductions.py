"""Reductions made of sends, receives and sums: each is found once."""

from __future__ import annotations

from itertools import pairwise

from strategy_profiles.capture.reductions import LAB_MARKS, find_reductions
from tests.profiles.capture.placed import BYTES, Placed


def test_packs_that_are_concatenated_again_are_not_gathered_a_second_time() -> None:
    """HierarchicalCopyAllReduce with two packs on four devices, as TensorFlow builds it."""
    placed, half = Placed(), BYTES // 2
    for device in range(4):
        placed.add(f"gradients_{device}", "ConcatV2", device)
        placed.add(f"split_{device}", "SplitV", device, f"gradients_{device}")
    for pack, (low, high) in enumerate(((0, 2), (1, 3))):
        placed.add(f"partial_{pack}", "AddN", high, "split_2", "split_3", size=half)
        placed.add(f"sum_{pack}", "AddN", low, "split_0", "split_1", f"partial_{pack}", size=half)
    for device in range(4):
        placed.add(f"unpacked_{device}", "ConcatV2", device, "sum_0", "sum_1")
    reductions = find_reductions(placed.graph(), lambda _node: True)
    assert [(item.op, item.bytes) for item in reductions] == [("all-reduce", half)] * 2


def test_a_concatenation_of_what_the_devices_made_is_a_gather() -> None:
    placed = Placed()
    for device in range(2):
        placed.add(f"values_{device}", "Mul", device)
    placed.add("values", "ConcatV2", 0, "values_0", "values_1")
    assert [item.op for item in find_reductions(placed.graph(), lambda _node: True)] == ["gather"]


def test_the_lab_names_its_own_gather_of_timestamps() -> None:
    placed = Placed()
    for device in range(2):
        placed.add(f"marks_{device}", "Pack", device)
    placed.add(f"{LAB_MARKS}/concat", "ConcatV2", 0, "marks_0", "marks_1")
    assert [item.op for item in find_reductions(placed.graph(), lambda _node: True)] == [LAB_MARKS]


def test_a_result_that_goes_on_from_device_to_device_is_one_reduction() -> None:
    placed = Placed()
    for device in range(4):
        placed.add(f"gradient_{device}", "Mul", device)
    placed.add("sum", "AddN", 0, *(f"gradient_{device}" for device in range(4)))
    placed.add("copy_0", "Identity", 0, "sum")
    for before, device in pairwise(range(4)):
        placed.add(f"copy_{device}", "Identity", device, f"copy_{before}")
    assert [item.op for item in find_reductions(placed.graph(), lambda _node: True)] == [
        "all-reduce"
    ]
