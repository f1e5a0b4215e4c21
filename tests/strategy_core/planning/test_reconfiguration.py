"""What may change while a run goes on."""

from __future__ import annotations

import pytest

from strategy_core.planning import validation
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_core.planning.reconfiguration import FIXED_FIELDS, changed_spec, ended_delays
from strategy_lab.profiles.errors import SpecError
from strategy_lab.profiles.spec.run_spec import RunSpec

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
def test_what_makes_it_that_run_stays(field: str) -> None:
    with pytest.raises(SpecError, match=f"{field}=1 cannot change while a run goes on"):
        changed_spec(SPEC, {field: 1}, step=3)


def test_nothing_is_no_change() -> None:
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
    (told,) = ended_delays(DELAYED, changed)
    assert "30 ms in replica 3" in told


def test_a_delay_that_is_asked_for_must_have_its_replica() -> None:
    with pytest.raises(SpecError, match="replica=3, but each worker has replicas 0 to 1"):
        changed_spec(DELAYED, {"devices": "cpu:2", "inject": [{"replica": 3, "ms": 30}]}, step=3)


def test_a_planned_change_may_take_a_delayed_replica_away() -> None:
    planned = DELAYED.with_changes({"reconfigure": [{"step": 9, "changes": {"devices": "cpu:2"}}]})
    validation.check(planned)
    machine = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "2")
    validation.check(planned, machine)
