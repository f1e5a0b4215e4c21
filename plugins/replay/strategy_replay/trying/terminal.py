"""`strategy-lab what-if --try`: run a change and its original in turns; prediction beside it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strategy_core.cli._plain import plain
from strategy_core.cli._run_request import read_changes
from strategy_core.cli._watching import watch
from strategy_core.launcher.launcher import Launcher
from strategy_core.launcher.repetition import Outcome, Repetition
from strategy_core.planning.spec_text import as_difference
from strategy_profiles.analysis.findings import findings, gather_facts
from strategy_profiles.errors import SpecError
from strategy_profiles.reporting import units
from strategy_profiles.run.in_progress import refuse_beside_a_run
from strategy_replay.engine.sentences import error_sentence
from strategy_replay.trying.tried_change import (
    TriedChange,
    check_end,
    is_about_a_step,
    try_change,
)

if TYPE_CHECKING:
    from strategy_profiles.spec.run_spec import RunSpec
    from strategy_profiles.tables.store import Profile
    from strategy_replay.trying.agreement import Agreement


def try_it(
    profile: Profile, segment: int, texts: Sequence[str], num_pairs: int, is_json: bool
) -> int:
    """Return 0 if all runs finished, 1 if one did not, 130 if stopped; raises LabError.

    Args:
      texts: `KEY=VALUE` changes of the spec, or the key of a finding that proposes a change.
    """
    changes = _changes(profile, segment, texts)
    runs = profile.path.resolve().parent
    tried = try_change(profile, segment, changes, runs, num_pairs=num_pairs)
    refuse_beside_a_run(runs)
    _say(f"Tries {tried.title}: {num_pairs} runs without it and {num_pairs} with it, in turns")
    for note in tried.notes:
        _say(note)
    with Launcher(forks=True) as launcher:

        def record(spec: RunSpec, run: Path) -> None:
            handle = launcher.launch(tried.launched(spec), run)
            watch(handle, is_json)
            check_end(handle)

        outcome = Repetition(tried.plan, record, _say).go(tried.num_pairs)
    if not outcome.is_complete and any("(stopped)" in run for run in outcome.failed):
        _say("Stopped. Nothing was compared.")
        return 130
    agreement = tried.agreement(outcome)
    if is_json:
        print(json.dumps(document(tried, outcome, agreement)))
    else:
        _print(tried, outcome, agreement)
    return 1 if outcome.failed or not outcome.is_complete else 0


def _changes(profile: Profile, segment: int, texts: Sequence[str]) -> dict[str, Any]:
    named = [text for text in texts if "=" not in text]
    changes = read_changes([text for text in texts if "=" in text], "--try")
    opened = next((item for item in profile.segments if item.segment == segment), None)
    if not named or opened is None:
        return changes
    by_key = {item.key: item for item in findings(gather_facts(profile, opened))}
    for key in named:
        if key not in by_key:
            known = ", ".join(name for name, item in by_key.items() if is_about_a_step(item.edits))
            raise SpecError(
                f"--try {key}: {profile.name} has no finding of that name",
                advice=f"Findings with a change: {known or 'none'}; or give KEY=VALUE",
            )
        if not by_key[key].edits:
            raise SpecError(
                f"--try {key}: the lab cannot make a change for this finding",
                advice="Give the change as KEY=VALUE",
            )
        changes |= by_key[key].edits
    return changes


def document(tried: TriedChange, outcome: Outcome, agreement: Agreement) -> dict[str, Any]:
    """The result as one JSON object."""
    return {
        "kind": "tried",
        "schema_version": 1,
        "run": tried.run,
        "segment": tried.segment,
        "changes": tried.changes,
        "notes": list(tried.notes),
        "prediction": None if tried.predicted is None else asdict(tried.predicted),
        "why_no_prediction": tried.why_no_prediction,
        "runs": {side: [run.name for run in runs] for side, runs in outcome.finished.items()},
        "not_finished": list(outcome.failed),
        **asdict(agreement),
        "error": agreement.error,
    }


def _print(tried: TriedChange, outcome: Outcome, agreement: Agreement) -> None:
    measured, predicted = agreement.measured, tried.predicted
    print(plain(f"{tried.run}, segment {tried.segment}: {tried.title}"))
    if predicted is None:
        print(plain(f"Predicted: nothing. {tried.why_no_prediction}"))
    else:
        before, after = map(units.milliseconds, (predicted.measured_ms, predicted.predicted_ms))
        interval = f" ({agreement.predicted.between})" if agreement.predicted else ""
        print(f"Predicted: {before} without the change, {after} with it{interval}")
        print(plain(error_sentence(predicted)))
    interval = f" ({measured.between})" if measured.between else ""
    before, after = map(units.milliseconds, (measured.without_ms, measured.with_ms))
    print(f"Measured:  {before} without the change, {after} with it{interval}")
    print(plain(agreement.sentence))
    if outcome.failed:
        _say(f"Not finished: {', '.join(outcome.failed)}")
    print("To keep it, change the spec:")
    for line in as_difference(*tried.plan.specs).splitlines():
        print(f"  {plain(line)}")
    folder = tried.plan.folder.parent
    sides = {side: [run.name for run in runs] for side, runs in outcome.finished.items()}
    a, b = (shlex.join(str(folder / name) for name in sides[side]) for side in "ab")
    print(plain(f"Every number: strategy-lab compare {a} --against {b}"))


def _say(line: str) -> None:
    print(plain(line), file=sys.stderr, flush=True)
