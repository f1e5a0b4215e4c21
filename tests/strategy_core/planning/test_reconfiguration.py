"""What may change while a run goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strategy_core.planning import validation
from strategy_core.planning.device_plan import plan
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_core.planning.reconfiguration import (
    FIXED_FIELDS,
    MAX_TRACED,
    Decision,
    RunningWorker,
    changed_spec,
    check_planned_on_hosts,
    decide,
    ended_delays,
)
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec

SPEC = RunSpec.model_validate(
    {
        "devices": "cpu:4",
        "reconfigure": [
            {"step": 10, "changes": {"devices": "cpu:2"}},
            {"step": 20, "changes": {"devices": "cpu:4"}},
        ],
    }
)


def test_a_change_keeps_what_is_still_planned() -> None:
    changed = changed_spec(SPEC, {"devices": "cpu:2", "capture.every_step": True}, step=10)
    assert (changed.devices, changed.capture.every_step) == ("cpu:2", True)
    assert [planned.step for planned in changed.reconfigure] == [20]


@pytest.mark.parametrize("field", FIXED_FIELDS)
def test_a_field_that_identifies_the_run_cannot_change(field: str) -> None:
    with pytest.raises(SpecError, match=f"{field}=1 cannot change while a run goes on"):
        changed_spec(SPEC, {field: 1}, step=3)


def test_a_change_without_a_field_is_refused() -> None:
    with pytest.raises(SpecError, match="The change names no field"):
        changed_spec(SPEC, {}, step=3)


def test_the_end_stays_ahead() -> None:
    assert changed_spec(SPEC, {"steps": 30}, step=29).steps == 30
    with pytest.raises(SpecError, match="steps=30 is not after step 30"):
        changed_spec(SPEC, {"steps": 30}, step=30)


DELAYED = RunSpec.model_validate(
    {"devices": "cpu:4", "inject": [{"replica": 1, "ms": 5}, {"replica": 3, "ms": 30}]}
)


def test_a_delay_ends_with_its_replica_and_says_so() -> None:
    changed = changed_spec(DELAYED, {"devices": "cpu:2"}, step=3)
    assert [delay.replica for delay in changed.inject] == [1]
    (note,) = ended_delays(DELAYED, changed)
    assert "30 ms in replica 3" in note


def test_a_delay_that_is_asked_for_must_have_its_replica() -> None:
    with pytest.raises(SpecError, match="replica=3, but each worker has replicas 0 to 1"):
        changed_spec(DELAYED, {"devices": "cpu:2", "inject": [{"replica": 3, "ms": 30}]}, step=3)


def test_a_planned_change_may_take_a_delayed_replica_away() -> None:
    planned = DELAYED.with_changes({"reconfigure": [{"step": 9, "changes": {"devices": "cpu:2"}}]})
    validation.check(planned)
    machine = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "2")
    validation.check(planned, machine)


EIGHT_CPUS = RunningWorker({"CPU": 8})
ALONE = RunSpec(strategy="mirrored", devices="cpu:4", global_batch_size=64)
PEERS = RunSpec(strategy="multi-worker-mirrored", workers=2, devices="cpu:1", global_batch_size=64)


def _decided(
    before: RunSpec, changes: dict[str, object], worker: RunningWorker = EIGHT_CPUS
) -> Decision:
    after = changed_spec(before, changes, step=3)
    machine = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0", ""),), "2.21")
    worker = replace(worker, plan=plan(before, machine))
    return decide(before, after, plan(after, machine), worker)


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ({"global_batch_size": 128}, "adapt"),
        ({"inject": [{"kind": "delay", "replica": 1, "ms": 5.0}]}, "adapt"),
        ({"num_packs": 2, "cross_device_ops": "hierarchical-copy"}, "adapt"),
        ({"devices": "cpu:2"}, "rebuild"),
        ({"global_batch_size": 64}, "nothing"),
        ({"cross_device_ops": "collective-ring"}, "nothing"),
        ({"cross_device_ops": "reduction-to-one-device"}, "adapt"),
        ({"cross_device_ops": "collective-ring", "global_batch_size": 128}, "adapt"),
        ({"strategy": "one-device", "devices": "cpu:1"}, "rebuild"),
        ({"devices": "cpu:16"}, "fresh-worker"),
        ({"strategy": "multi-worker-mirrored", "workers": 2, "devices": "cpu:1"}, "fresh-worker"),
    ],
    ids=str,
)
def test_a_change_is_made_in_place_if_the_process_can(changes: dict[str, object], how: str) -> None:
    assert _decided(ALONE, changes).how == how


def test_a_fresh_worker_is_asked_for_with_the_reason() -> None:
    assert _decided(ALONE, {"devices": "cpu:16"}).why == (
        "this worker was started with 8 logical CPUs, and cpu:16 needs 16"
    )
    worker = RunningWorker({"CPU": 8}, num_traced=MAX_TRACED + 1)
    assert "has traced 51 step graphs" in _decided(ALONE, {"global_batch_size": 128}, worker).why


def test_a_process_of_a_cluster_keeps_its_strategy_and_variables() -> None:
    worker = RunningWorker({"CPU": 1}, is_in_cluster=True)
    assert _decided(PEERS, {"global_batch_size": 128}, worker).how == "adapt"
    decision = _decided(PEERS, {"learning_rate": 0.5}, worker)
    assert decision.how == "fresh-worker"
    assert decision.why.startswith("a change of learning_rate")


def test_gpus_that_are_split_otherwise_take_a_fresh_worker() -> None:
    gpus = tuple(PhysicalDevice("GPU", f"/physical_device:GPU:{n}", "") for n in range(2))
    before = RunSpec(devices="gpu:2", global_batch_size=64)
    after = RunSpec(devices="gpu:4", gpu_memory_mb=1_000, global_batch_size=64)
    wanted = plan(after, Inventory(gpus, "2.21"))
    worker = RunningWorker({"GPU": 4}, num_gpus=4)
    assert decide(before, after, wanted, worker).why == (
        "this worker's GPUs are split into 1, not 2"
    )


def test_hosts_of_their_own_refuse_a_planned_change_that_takes_fresh_processes() -> None:
    def planned(changes: dict[str, object]) -> RunSpec:
        return PEERS.with_changes({"reconfigure": [{"step": 5, "changes": changes}]})

    check_planned_on_hosts(planned({"global_batch_size": 128}))
    with pytest.raises(SpecError, match="a change of learning_rate"):
        check_planned_on_hosts(planned({"learning_rate": 0.5}))
