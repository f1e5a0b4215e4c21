"""A live change as a new spec: what may change while a run goes on, and what makes it that run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from profiles.errors import SpecError
from profiles.spec import RunSpec

FIXED_FIELDS = ("spec_version", "workload", "data", "seed")
"""Change one of these, and the training state or its data is another one's."""


def changed_spec(spec: RunSpec, changes: Mapping[str, Any], step: int) -> RunSpec:
    """`spec` with the dotted paths of `changes` set, in force from `step` on; raises SpecError.

    Scripted changes up to `step` are left out: they have been made.
    """
    if not changes:
        raise SpecError("A live change names at least one field", "no change")
    for path in changes:
        if path.split(".")[0] in FIXED_FIELDS:
            raise SpecError(
                f"A live change keeps {', '.join(FIXED_FIELDS[1:])}",
                f"{path}={changes[path]!r}",
                "Start a new run for that",
                field=path,
            )
    changed = spec.with_changes(changes)
    if changed.steps <= step:
        raise SpecError(
            "A run ends at a step that is still to come",
            f"steps={changed.steps} at step {step}",
            "Use stop to end it now",
            field="steps",
        )
    ahead = [planned.model_dump() for planned in changed.reconfigure if planned.step > step]
    return changed.with_changes({"reconfigure": ahead})
