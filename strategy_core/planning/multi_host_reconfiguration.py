"""What may change in a run whose processes each have a launcher on their own host.

What all workers can do in their processes, at the same step. A fresh process would need its
predecessor's port, at the same address on every host, before that one has left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strategy_core.planning.reconfiguration import STEP_FIELDS, changed_spec
from strategy_lab.profiles.errors import SpecError
from strategy_lab.profiles.spec.run_spec import RunSpec

AGAIN = "Stop the run, and start it again on every host with the new flags and --resume"


def why_not(fields: list[str]) -> str:
    """Why a running process cannot take such a change."""
    said = ", ".join(fields) or "these fields"
    return f"A change of {said} needs new processes, which a run on several hosts cannot start"


def changed_on_hosts(spec: RunSpec, changes: Mapping[str, Any], step: int) -> RunSpec:
    """`changed_spec`, where the processes that are there can make the change; else SpecError."""
    after = changed_spec(spec, changes, step)
    other = moving_fields(spec, after)
    if other:
        raise SpecError(why_not(other), advice=AGAIN, field=other[0])
    return after


def moving_fields(before: RunSpec, after: RunSpec) -> list[str]:
    """The fields of a change that take fresh processes."""
    if before.loop == "fit":  # it has its loop to itself
        return ["loop=fit"]
    return [
        name
        for name in RunSpec.model_fields
        if name not in STEP_FIELDS and getattr(before, name) != getattr(after, name)
    ]


def check_planned(spec: RunSpec) -> None:
    """Raise SpecError if these processes cannot make one of the scripted changes."""
    now = spec
    for planned in sorted(spec.reconfigure, key=lambda change: change.step):
        try:
            now = changed_on_hosts(now, planned.changes, planned.step)
        except SpecError as error:
            raise SpecError(error.problem, advice=error.advice, field="reconfigure") from None
