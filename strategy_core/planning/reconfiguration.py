"""A live change as a new spec: what may change while a run goes on, and what makes it that run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strategy_core.planning.spec_rules import check_fields, num_replicas
from strategy_lab.profiles.errors import SpecError
from strategy_lab.profiles.spec.run_spec import Delay, RunSpec
from strategy_lab.profiles.user_input.text import shown

FIXED_FIELDS = ("spec_version", "workload", "data", "seed")
"""Change one of these, and the training state or its data is another one's."""

STEP_FIELDS = frozenset(
    ("capture", "global_batch_size", "hang_timeout_s", "inject", "reconfigure", "steps")
)
"""Fields of a spec that neither its strategy nor its model depends on."""


def changed_spec(spec: RunSpec, changes: Mapping[str, Any], step: int) -> RunSpec:
    """`spec` with the dotted paths of `changes` set, in force from `step` on; raises SpecError.

    Scripted changes up to `step` are left out: they have been made. So are delays in replicas
    that go away with the change, see `ended_delays`.
    """
    if not changes:
        raise SpecError("The change names no field", advice="Name at least one as KEY=VALUE")
    for path in changes:
        if path.split(".")[0] in FIXED_FIELDS:
            raise SpecError(
                f"{path}={shown(changes[path])} cannot change while a run goes on",
                advice="Start a new run for that",
                field=path,
            )
    changed = _with_delays_that_can_stay(spec, changes)
    check_fields(changed)
    if changed.steps <= step:
        raise SpecError(
            f"steps={changed.steps} is not after step {step}, where the run is now",
            advice="Stop the run to end it now",
            field="steps",
        )
    ahead = [planned.model_dump() for planned in changed.reconfigure if planned.step > step]
    return changed.with_changes({"reconfigure": ahead})


def ended_delays(before: RunSpec, after: RunSpec) -> list[str]:
    """Notes about delays that a change ended because it removed their replica."""
    return [
        f"With this change the delay of {delay.ms:g} ms in replica {delay.replica} of worker "
        f"{delay.worker} ends, because that replica no longer exists"
        for delay in before.inject
        if not _has_replica(after, delay)
    ]


def _with_delays_that_can_stay(spec: RunSpec, changes: Mapping[str, Any]) -> RunSpec:
    if "inject" in changes or not spec.inject:
        return spec.with_changes(changes)
    bare = spec.with_changes({**changes, "inject": []})
    staying = [delay.model_dump() for delay in spec.inject if _has_replica(bare, delay)]
    return bare.with_changes({"inject": staying})


def _has_replica(spec: RunSpec, delay: Delay) -> bool:
    """Whether the text of a spec has a delay's replica; where the machine decides, it may."""
    if delay.worker >= spec.workers:
        return False
    replicas = num_replicas(spec)
    return replicas is None or delay.replica < replicas // spec.workers
