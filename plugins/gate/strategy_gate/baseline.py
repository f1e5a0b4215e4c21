"""The baseline file: what was accepted, as small JSON that a review can read.

Its exact facts are those of every accepted run; a fact in which these runs differ varies, and is
not checked. Of every run its step time and parts are kept, so that a later comparison has the run
as its unit, as `compare` has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from strategy_gate.exact import GROUPS, ExactFacts, exact_facts, is_imported
from strategy_gate.times import parts_of_step
from strategy_profiles.analysis.compare.comparison import TimedRun
from strategy_profiles.analysis.compare.machine import Machine, machine_of
from strategy_profiles.analysis.compare.partner import COMPLETE
from strategy_profiles.analysis.compare.run_comparison import chosen_segment, program_name
from strategy_profiles.analysis.compare.run_time import RunTime
from strategy_profiles.decoders import decoder_of
from strategy_profiles.errors import AnalysisError, SpecError
from strategy_profiles.guards import read_file
from strategy_profiles.reporting import units
from strategy_profiles.user_input.files import find_file
from strategy_profiles.user_input.text import first_line, quoted
from strategy_profiles.whole_files import replace_file

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

SCHEMA_VERSION = 1
MOST_BYTES = 10_000_000
_ADVICE = "Write it with strategy-lab baseline RUN -o FILE"


class GatedRun(msgspec.Struct, frozen=True):
    """The times of one run."""

    run: str
    machine: Machine
    started_ns: int
    time: RunTime
    parts: dict[str, float]
    """Milliseconds per step by part."""

    @property
    def timed(self) -> TimedRun:
        return TimedRun(self.time, self.started_ns)


class Baseline(msgspec.Struct, frozen=True):
    """The file."""

    schema_version: int
    workload: str | None
    global_batch_size: int | None
    exact: dict[str, dict[str, float | str | None]]
    """Facts by group and name; null if a fact is not known."""
    missing: dict[str, str]
    """Why a group of facts is not known."""
    varies: list[str]
    """Facts (`group: name`) in which the accepted runs differ."""
    runs: list[GatedRun]

    @property
    def is_imported(self) -> bool:
        """Whether the accepted runs were recorded by another program."""
        return is_imported(self.exact)

    @property
    def unknown(self) -> list[str]:
        """Facts (`group: name`) that no accepted run knows, such as bytes of an unknown size."""
        return [
            f"{group}: {name}"
            for group, facts in self.exact.items()
            for name, value in facts.items()
            if value is None
        ]


class CheckedRun(Struct, frozen=True):
    """What a gate reads of one run."""

    workload: str | None
    global_batch_size: int | None
    exact: ExactFacts
    run: GatedRun


def read_run(profile: Profile, segment: int | None = None) -> CheckedRun:
    """Read a run that has finished; raises AnalysisError if it cannot be checked."""
    state = profile.status.state
    if state not in COMPLETE:
        raise AnalysisError(
            f"Run {profile.name} is {state}, not finished",
            advice="Check runs that have finished",
        )
    opened, timed = chosen_segment(profile, segment)
    return CheckedRun(
        workload=_workload(profile),
        global_batch_size=opened.global_batch_size,
        exact=exact_facts(profile, opened),
        run=GatedRun(
            profile.name,
            machine_of(profile),
            timed.started_ns,
            timed.time,
            parts_of_step(profile, opened),
        ),
    )


def accept(runs: Sequence[CheckedRun]) -> Baseline:
    """The baseline of these runs; raises AnalysisError if they are of different programs."""
    check_same([(item.run.run, item.workload, item.global_batch_size) for item in runs])
    check_one_source({f"run {item.run.run}": item.exact.is_imported for item in runs})
    missing = {name: why for item in runs for name, why in item.exact.missing.items()}
    exact: dict[str, dict[str, float | str | None]] = {}
    varies = []
    for group in (group for group in GROUPS if group not in missing):
        kept = exact.setdefault(group, {})
        for name in dict.fromkeys(n for item in runs for n in item.exact.facts.get(group, {})):
            values = {item.exact.value(group, name) for item in runs}
            if len(values) > 1:
                varies.append(f"{group}: {name}")
            else:
                kept[name] = values.pop()
    return Baseline(
        schema_version=SCHEMA_VERSION,
        workload=runs[0].workload,
        global_batch_size=runs[0].global_batch_size,
        exact=exact,
        missing=missing,
        varies=varies,
        runs=[item.run for item in runs],
    )


def check_same(runs: Sequence[tuple[str, str | None, int | None]]) -> None:
    """Raise AnalysisError if runs (name, workload, global batch) are not of one program."""
    for which, index in (("workload", 1), ("global batch", 2)):
        known = {str(run[index]): run[0] for run in runs if run[index] is not None}
        if len(known) > 1:
            values = units.listed([f"{value} in {name}" for value, name in known.items()])
            raise AnalysisError(
                f"The {which} differs: {values}",
                advice=f"Check runs of one {which}, or accept another baseline: "
                "strategy-lab baseline RUN -o FILE",
            )


def check_one_source(imported: Mapping[str, bool]) -> None:
    """Raise AnalysisError if some runs (by name) were imported and others recorded by the lab.

    A profile of another program lacks much of what the lab records: what is missing would count as
    improved.
    """
    if len(set(imported.values())) > 1:
        which = next(name for name, is_imported in imported.items() if is_imported)
        other = next(name for name, is_imported in imported.items() if not is_imported)
        raise AnalysisError(
            f"{which[0].upper()}{which[1:]} was imported, and {other} was recorded by the lab, so "
            "their counts have different sources",
            advice="Check imported runs against a baseline of imported runs",
        )


def save(baseline: Baseline, file: Path) -> None:
    """Write the file whole; raises RunFolderError."""
    replace_file(file, msgspec.json.format(msgspec.json.encode(baseline), indent=1) + b"\n")


def read_baseline(file: str | Path) -> Baseline:
    """Read the file; raises SpecError if it is not a baseline."""
    try:
        path = find_file(file, "The baseline")
    except SpecError as error:
        raise SpecError(error.problem, advice=_ADVICE) from None
    try:
        baseline = decoder_of(Baseline).decode(read_file(path, MOST_BYTES))
        if baseline.schema_version != SCHEMA_VERSION:
            raise ValueError(
                f"its schema_version is {baseline.schema_version}, not {SCHEMA_VERSION}"
            )
        if not baseline.runs or any(run.time.median_ms <= 0 for run in baseline.runs):
            raise ValueError("it has no run, or a run whose step took no time")
    except (OSError, ValueError) as error:
        raise SpecError(
            f"{quoted(str(file))} is not a baseline: {first_line(error)}",
            advice=_ADVICE,
        ) from None
    return baseline


def _workload(profile: Profile) -> str | None:
    spec: dict[str, Any] = profile.spec or {}
    workload = spec.get("workload")
    return None if workload is None else program_name(str(workload))
