"""Gradients cross devices by another algorithm than TensorFlow's choice for them.

## What it does

Compares how gradients cross the devices of one process with TensorFlow's own choice for these
devices, if transfers take 10 % of a typical step or more: NCCL on whole GPUs, a ring of collectives
on CPUs. Strategies with one central copy of the variables have no choice and are left out. Only of
the lab's own runs: of other programs the algorithm is not recorded.

## Why is this slow

NCCL uses the links between GPUs directly. The ring packs gradients, and no device has to receive
them all; with `reduction-to-one-device` one does, tensor by tensor.

## What to do

Leave the choice to TensorFlow, and compare: with few replicas or few bytes another algorithm may
be as fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.analysis.usual_algorithm import usual_algorithm

KEY = "other-algorithm"
ROWS = ("loop/steps/transfer",)
NOT_SET = "The spec of this run does not set the algorithm, so no change of it is known."
SHARE = 0.1
ALGORITHMS = ("nccl", "hierarchical-copy", "reduction-to-one-device", "collective-ring")


def find(facts: Facts) -> Iterator[Finding]:
    usual, used = usual_algorithm(facts.segment), facts.segment.cross_device_ops
    wall, transfer = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("transfer")
    if usual is None or used == usual or used not in ALGORITHMS or not wall or not transfer:
        return
    if transfer / wall < SHARE:
        return
    yield finding(
        facts,
        KEY,
        f"Gradients cross devices by {used}, where TensorFlow would choose {usual} for these "
        f"devices: transfers take {of_a_step(facts, transfer, wall)}.",
        "Set cross_device_ops to auto, or leave it out of the strategy, and compare the two.",
        per_step(facts, transfer, wall),
        algorithm=used,
        usual=usual,
        transfer_ms=transfer,
    )


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """TensorFlow's own choice of the algorithm, with its usual packs."""
    spec = facts.segment.spec
    if spec.get("cross_device_ops") in (None, "auto"):
        return {}
    return {"cross_device_ops": "auto", "num_packs": 1}


def removal(facts: Facts, result: Finding) -> Removal | str:
    """With TensorFlow's own choice, by arithmetic on messages and bytes."""
    changes = edits(facts, result)
    return Removal("spec", changes=changes) if changes else NOT_SET
