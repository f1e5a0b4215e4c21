"""A change of a recorded run that is tried: which runs it plans, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.errors import LabError
from strategy_profiles.run.manifest import change_run_file
from strategy_profiles.tables.store import Profile
from strategy_replay.trying.tried_change import (
    changed_spec,
    is_about_a_step,
    other_algorithms,
    try_change,
    why_not_tried,
)
from tests.synthetic import write_run

ONE_CPU = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "")


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("runs") / "late"
    delays = [{"replica": 1, "ms": 30.0}]
    return strategy_profiles.load(
        write_run(folder, replicas=2, steps=30, windows=1, step_ms=50.0, inject=delays)
    )


def test_both_sides_differ_by_the_change_alone_and_are_named_after_the_run(
    late: Profile, tmp_path: Path
) -> None:
    tried = try_change(late, 0, {"inject": []}, tmp_path)
    before, after = tried.plan.specs
    assert before.inject
    assert before.with_changes({"inject": []}) == after
    assert tried.plan.run_folder("b", 1) == tmp_path / "late-try-no-delay-1-b-1"
    assert tried.title == "delay 30 ms in replica 1 → none"
    assert tried.num_runs == 6
    assert before.steps is not None
    assert 25 <= before.steps <= 70


def test_fewer_devices_are_tried_without_the_delay_of_a_replica_that_is_gone(
    late: Profile, tmp_path: Path
) -> None:
    changes = {"devices": "cpu:1"}
    assert why_not_tried(late, 0, changes, ONE_CPU) is None
    tried = try_change(late, 0, changes, tmp_path, inventory=ONE_CPU)
    before, after = tried.plan.specs
    assert (len(before.inject), after.inject, after.devices) == (1, (), "cpu:1")
    assert "delay 30 ms in replica 1 → none" in tried.title
    (note,) = tried.notes
    assert note == (
        "With this change the delay of 30 ms in replica 1 of worker 0 ends, because that replica "
        "no longer exists. The measured difference includes this."
    )
    assert changed_spec(late, 0, changes).inject == ()


def test_a_delay_of_a_replica_that_stays_is_kept(late: Profile, tmp_path: Path) -> None:
    tried = try_change(late, 0, {"devices": "cpu:4"}, tmp_path, inventory=ONE_CPU)
    before, after = tried.plan.specs
    assert before.inject == after.inject
    assert tried.notes == ()
    reason = why_not_tried(
        late, 0, {"devices": "cpu:4", "inject": [{"replica": 5, "ms": 9.0}]}, ONE_CPU
    )
    assert "names replica=5" in (reason or "")


def test_the_next_trial_has_the_next_number(late: Profile, tmp_path: Path) -> None:
    (tmp_path / "late-try-global_batch_size-512-1-a-1").mkdir()
    tried = try_change(late, 0, {"global_batch_size": 512}, tmp_path)
    assert tried.plan.folder.name == "late-try-global_batch_size-512-2"


def test_a_recording_without_a_graph_is_tried_without_a_prediction(
    late: Profile, tmp_path: Path
) -> None:
    tried = try_change(late, 0, {"inject": []}, tmp_path)
    assert tried.predicted is None
    assert "graph" in (tried.why_no_prediction or "")
    assert not tried.plan.spec("a").capture.every_step


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"steps": 500}, "does not change how long a step takes"),
        ({"capture.every_step": True}, "does not change how long a step takes"),
        ({}, "does not change how long a step takes"),
        ({"devices": "cpu:2"}, "already ran with devices"),
        ({"global_batch_size": 0}, "global_batch_size"),
        ({"nonsense": 1}, "nonsense"),
        ({"devices": "gpu:2"}, "GPU"),
    ],
)
def test_what_the_lab_cannot_make_is_refused_with_the_reason(
    late: Profile, changes: dict[str, object], why: str
) -> None:
    assert why in (why_not_tried(late, 0, changes, ONE_CPU) or "")


def test_a_segment_that_is_not_there_and_too_few_pairs_are_refused(
    late: Profile, tmp_path: Path
) -> None:
    assert "no segment 7" in (why_not_tried(late, 7, {"inject": []}) or "")
    with pytest.raises(LabError, match="Give 3 to 30"):
        try_change(late, 0, {"inject": []}, tmp_path, num_pairs=1)


def test_a_recording_of_another_program_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "foreign", steps=12, windows=0)
    change_run_file(run, {"spec": None})
    reason = why_not_tried(strategy_profiles.load(run), 0, {"inject": []})
    assert "recording of another program" in (reason or "")


def test_only_changes_of_a_step_are_offered() -> None:
    assert is_about_a_step({"inject": []})
    assert is_about_a_step({"global_batch_size": 1, "num_packs": 2})
    assert not is_about_a_step({"learning_rate": 0.1})
    assert not is_about_a_step({})


def test_nccl_is_offered_on_gpus_alone(tmp_path: Path) -> None:
    for kind in ("CPU", "GPU"):
        run = write_run(tmp_path / kind, replicas=2, steps=20, windows=0, device_kind=kind)
        offered = other_algorithms(strategy_profiles.load(run).segments[0])
        assert ({"cross_device_ops": "nccl"} in offered) == (kind == "GPU")
        assert {"cross_device_ops": "hierarchical-copy"} in offered
