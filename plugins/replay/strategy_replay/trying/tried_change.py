"""Try a change of a recorded run: run it without and with the change, in turns, and measure both.

    tried = try_change(profile, segment, {"inject": []}, Path("runs"))
    outcome = Repetition(tried.plan, record).go(tried.num_pairs)
    tried.agreement(outcome).sentence

The runs are new and are named after the recorded one: `late-try-no-delay-1-a-1` is the first run
without the change, `late-try-no-delay-1-b-1` the first with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_core.launcher.repetition import Outcome, Plan, new_plan
from strategy_core.launcher.run_handle import RunHandle
from strategy_core.planning import strategy_catalog, validation
from strategy_core.planning.inventory import Inventory
from strategy_core.planning.reconfiguration import ended_delays, with_delays_that_can_stay
from strategy_core.planning.validation import CheckedSpec
from strategy_core.processes import protocol
from strategy_profiles.analysis.compare.repetitions import MIN_PAIRS
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.reporting.spec_changes import describe
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.new_name import numbered_name
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.tables.store import Profile
from strategy_replay.engine.finding_gain import OTHER_OPS
from strategy_replay.engine.spec_edits import edit_of
from strategy_replay.engine.what_if import WhatIf, what_if
from strategy_replay.trying.agreement import Agreement, agreement

LENGTH_S = 3.0
"""Length of the steps of one run."""
FEWEST_STEPS, MOST_STEPS = 25, 400
"""Limits of the steps of one run: a step time needs 16, warm-up aside."""
MOST_PAIRS = 30
_NO_CHANGE_OF_A_STEP = ("steps", "reconfigure", "capture", "learning_rate", "spec_version")
"""Fields that a trial sets itself, or that change no step's length."""
_FITS_IN_A_NAME = 60


@dataclass(frozen=True)
class TriedChange:
    """A change of a recorded run's spec, and the runs that try it."""

    run: str
    segment: int
    changes: dict[str, Any]
    """New values of RunSpec fields by dotted path."""
    title: str
    """The change in words: `delay 30 ms in replica 1 → none`."""
    plan: Plan
    """Side A is the spec of the recorded run, side B that with the change."""
    checked: tuple[CheckedSpec, ...]
    """The specs of the plan, for the launcher."""
    num_pairs: int
    predicted: WhatIf | None
    why_no_prediction: str | None
    """A sentence or two; None if there is a prediction."""
    notes: tuple[str, ...] = ()
    """Sentences on what else differs between the sides."""

    @property
    def num_runs(self) -> int:
        return 2 * self.num_pairs

    def launched(self, spec: RunSpec) -> CheckedSpec:
        """Return what the launcher takes for a spec of the plan."""
        return self.checked[self.plan.specs.index(spec)]

    def agreement(self, outcome: Outcome) -> Agreement:
        """Return prediction and measurement; raises LabError if a side has no finished run."""
        compared = outcome.comparison()
        if compared is None:
            failed = ", ".join(outcome.failed)
            raise LabError(
                f"Nothing was measured: a side has no finished run ({failed})",
                advice="Open these runs for the reason",
            )
        return agreement(self.predicted, compared)


def why_not_tried(
    profile: Profile, segment: int, changes: Mapping[str, Any], inventory: Inventory | None = None
) -> str | None:
    """Return why the lab cannot make this change of a run, as sentences; None if it can."""
    try:
        for spec in _specs(profile, segment, changes):
            validation.check(spec.with_changes({"steps": None}), inventory)
    except LabError as error:
        return str(error)
    return None


def why_not_made(profile: Profile) -> str | None:
    """Return why the lab can make no change of a run at all, as a sentence; None if it can."""
    if not profile.is_imported and profile.spec is not None:
        return None
    return (
        f"{profile.name} is a recording of another program: the lab has no spec by which it could "
        "run it with a change."
    )


def is_about_a_step(changes: Mapping[str, Any]) -> bool:
    """Return whether the changes may change how long a step takes."""
    return bool(changes) and not any(_root(path) in _NO_CHANGE_OF_A_STEP for path in changes)


def try_change(
    profile: Profile,
    segment: int,
    changes: Mapping[str, Any],
    runs: Path,
    *,
    num_pairs: int = MIN_PAIRS,
    inventory: Inventory | None = None,
) -> TriedChange:
    """Plan the runs that try a change.

    Args:
      segment: number of the segment whose spec is changed.
      changes: new values of RunSpec fields by dotted path.
      runs: folder of the new runs.
      num_pairs: runs per side; 3 or more give an interval.
      inventory: devices of this machine, if they are known.

    Raises LabError if the lab cannot make the change.
    """
    if not MIN_PAIRS <= num_pairs <= MOST_PAIRS:
        raise SpecError(
            f"{num_pairs} is not a number of pairs that can be tried",
            advice=f"Give {MIN_PAIRS} to {MOST_PAIRS}: an interval needs {MIN_PAIRS} runs per side",
        )
    before, after = _specs(profile, segment, changes)
    predicted, why = prediction(profile, segment, changes)
    own = {
        "steps": _num_steps(profile, segment),
        # A prediction is about captured steps, which take longer than others.
        "capture.every_step": predicted is not None,
        "capture.keep_xplane": False,
        "capture.contexts": False,
    }
    specs = [spec.with_changes(own) for spec in (before, after)]
    checked = tuple(validation.check(spec, inventory) for spec in specs)
    name = numbered_name(runs, [profile.name[:_FITS_IN_A_NAME], "try", _short(changes)])
    return TriedChange(
        run=profile.name,
        segment=segment,
        changes=dict(changes),
        title=", ".join(describe(before.to_json(), after.to_json())),
        plan=new_plan(runs / name, specs),
        checked=checked,
        num_pairs=num_pairs,
        predicted=predicted,
        why_no_prediction=why,
        notes=_notes(before, after),
    )


def check_end(handle: RunHandle) -> None:
    """Raise LabError if this machine refused a run: the others would be refused as well."""
    if handle.exit_code == protocol.EXIT_REFUSED:
        raise LabError(f"This machine cannot make the change: {handle.message}")


def change_title(profile: Profile, segment: int, changes: Mapping[str, Any]) -> str:
    """Return the change in words: `delay 30 ms in replica 1 → none`; raises LabError."""
    before, after = _specs(profile, segment, changes)
    return ", ".join(describe(before.to_json(), after.to_json()))


def changed_spec(profile: Profile, segment: int, changes: Mapping[str, Any]) -> RunSpec:
    """Return the spec of a segment with the changes; raises LabError."""
    return _specs(profile, segment, changes)[1]


def notes_on(profile: Profile, segment: int, changes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return sentences on what a change ends besides what it names; raises LabError."""
    return _notes(*_specs(profile, segment, changes))


def _notes(before: RunSpec, after: RunSpec) -> tuple[str, ...]:
    ended = ended_delays(before, after)
    return tuple(f"{note}. The measured difference includes this." for note in ended)


def _specs(profile: Profile, segment: int, changes: Mapping[str, Any]) -> tuple[RunSpec, RunSpec]:
    """Return the spec of the segment, and that with the changes; raises LabError."""
    before = base_spec(profile, segment)
    if not is_about_a_step(changes):
        raise SpecError(
            f"{', '.join(changes) or 'No field'} does not change how long a step takes",
            advice="Try a field such as inject, global_batch_size, devices or cross_device_ops",
        )
    after = with_delays_that_can_stay(before, changes)
    if after == before:
        raise SpecError(
            f"{profile.name} already ran with {', '.join(changes)} as in this change",
            advice="Give another value",
        )
    return before, after


def base_spec(profile: Profile, segment: int) -> RunSpec:
    """Return the spec of a segment, without planned changes; raises LabError."""
    opened = next((item for item in profile.segments if item.segment == segment), None)
    if opened is None:
        raise LabError(f"{profile.name} has no segment {segment}, so no change of it can be tried")
    if reason := why_not_made(profile):
        raise LabError(
            reason, advice="Change the program itself, record it again, and compare the two runs"
        )
    return parse_spec(opened.spec).with_changes({"reconfigure": []})


def other_algorithms(segment: SegmentOpened) -> list[dict[str, Any]]:
    """Return the changes of a run of the lab by which its gradients cross devices differently."""
    row = strategy_catalog.row(str(segment.spec["strategy"]))
    if not row.has_choice or segment.num_replicas < 2:
        return []
    are_gpus = all("/device:GPU:" in device for device in segment.replica_devices)
    return [
        {"cross_device_ops": name}
        for name in row.algorithms
        if name != segment.cross_device_ops and (are_gpus or name != "nccl")
    ]


def prediction(
    profile: Profile, segment: int, changes: Mapping[str, Any]
) -> tuple[WhatIf | None, str | None]:
    """Return what the captured steps predict for a change, or why they predict nothing."""
    try:
        edit = edit_of(profile, segment, changes)
        if edit is None:
            return None, OTHER_OPS
        return what_if(profile, segment, [edit]), None
    except ReplayError as error:
        return None, str(error)


def _num_steps(profile: Profile, segment: int) -> int:
    median_ms = step_times(profile, segment).median_ms
    if not median_ms:
        raise LabError(
            f"Segment {segment} of {profile.name} has no step whose time counts, so how long a "
            "trial has to be is not known",
            advice="Record more steps",
        )
    return min(max(math.ceil(LENGTH_S * 1e3 / median_ms), FEWEST_STEPS), MOST_STEPS)


def _root(path: str) -> str:
    return path.partition(".")[0]


def _short(changes: Mapping[str, Any]) -> str:
    """`no-delay`, `global_batch_size-512`: the changes as part of a run's name."""
    parts = []
    for path, value in changes.items():
        if path == "inject":
            parts.append("delay" if value else "no-delay")
        else:
            parts.append(f"{path}-{value}")
    return re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join(parts)).strip("-")
