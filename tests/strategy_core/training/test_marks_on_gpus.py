"""What the timestamps add to a GPU's compute stream: nothing.

Two logical CPUs are the GPUs, a third one is the host, and TensorFlow lists a GPU. So the graph is
that of GPUs, with other names of devices; nothing here has run on one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

HOST, CARDS = "CPU:0", ("CPU:1", "CPU:2")


def _graph(monkeypatch: pytest.MonkeyPatch, *, marks: bool, gpus: bool = True) -> list[Any]:
    """The ops of a traced step of two replicas."""
    from strategy_core.recorder import marks as module
    from strategy_core.training import segment
    from strategy_profiles.spec.run_spec import parse_spec

    monkeypatch.setattr(module.tf.config, "get_visible_devices", lambda _kind: ["card"] * gpus)
    fields = {"devices": "cpu:1,cpu:2", "workload": "digits-mlp", "global_batch_size": 8}
    spec = parse_spec(fields).with_changes({"capture.marks": marks})
    step = segment.build(spec).custom
    traced = step.step.get_concrete_function(*next(step.batches))
    return list(traced.graph.get_operations())


def _ops_on(ops: list[Any], *devices: str) -> Counter[str]:
    return Counter(op.type for op in ops if op.device.endswith(devices))


def test_timestamps_add_no_op_to_a_cards_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = _ops_on(_graph(monkeypatch, marks=False), *CARDS)
    marked = _ops_on(_graph(monkeypatch, marks=True), *CARDS)
    assert sum(bare.values()) > 20, "the step itself is on the cards"
    assert marked - bare == Counter()


def test_each_timestamp_is_taken_on_the_host_behind_what_its_card_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ops = _graph(monkeypatch, marks=True)
    timestamps = [op for op in ops if op.type == "Timestamp"]
    assert len(timestamps) == 6
    assert {op.device.rpartition("device:")[2] for op in timestamps} == {HOST}
    by_card = Counter(
        card
        for op in timestamps
        for card in CARDS
        if any(each.device.endswith(card) for each in op.control_inputs)
    )
    assert by_card["CPU:1"] >= 2
    assert by_card["CPU:2"] >= 2
    assert {op.device.rpartition("device:")[2] for op in ops if "lab-marks" in op.name} <= {HOST}


def test_on_cpus_the_batch_still_waits_for_its_timestamp(monkeypatch: pytest.MonkeyPatch) -> None:
    ops = _graph(monkeypatch, marks=True, gpus=False)
    waiting = [op for op in ops if any(each.type == "Timestamp" for each in op.control_inputs)]
    assert len(waiting) >= 4


def test_every_op_of_a_step_on_cpus_has_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """So none is placed on a GPU by itself. Reads are placed with their variables."""
    ops = _graph(monkeypatch, marks=True, gpus=False)
    free = Counter(op.type for op in ops if not op.device)
    assert free.pop("Identity", 0) <= 1, "what the function returns"
    assert set(free) <= {"ReadVariableOp", "Placeholder", "NoOp"}


@pytest.mark.parametrize("gpus", [False, True])
def test_a_step_on_gpus_ends_when_its_update_has_run(
    monkeypatch: pytest.MonkeyPatch, gpus: bool
) -> None:
    """The result is ready before the assignments of the update, which nothing else waits for."""
    from strategy_core.recorder import marks as module
    from strategy_core.recorder.step import RecordedStep
    from strategy_core.training import segment
    from strategy_profiles.spec.run_spec import parse_spec

    waits: list[bool] = []
    monkeypatch.setattr(module.tf.config, "get_visible_devices", lambda _kind: ["card"] * gpus)
    monkeypatch.setattr(
        module.tf.test.experimental, "sync_devices", lambda: waits.append(recorded.loss is None)
    )
    fields = {"devices": "cpu:1,cpu:2", "workload": "digits-mlp", "global_batch_size": 8}
    loop = segment.build(parse_spec(fields)).custom
    recorded = RecordedStep(0)
    assert loop.run_step(recorded) == 8
    assert waits == [True] * gpus
    recorded.settle()
    assert 0 < recorded.loss < 100
