"""What may change while a run goes on."""

from __future__ import annotations

import pytest

from profiles.errors import SpecError
from profiles.spec import RunSpec
from strategy_core.live_change import FIXED_FIELDS, changed_spec

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
    with pytest.raises(SpecError, match="A live change keeps"):
        changed_spec(SPEC, {field: 1}, step=3)


def test_nothing_is_no_change() -> None:
    with pytest.raises(SpecError, match="at least one field"):
        changed_spec(SPEC, {}, step=3)


def test_the_end_stays_ahead() -> None:
    assert changed_spec(SPEC, {"steps": 30}, step=29).steps == 30
    with pytest.raises(SpecError, match="still to come"):
        changed_spec(SPEC, {"steps": 30}, step=30)
