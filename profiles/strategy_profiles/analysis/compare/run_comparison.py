"""Two sides of runs: step times with their uncertainty, and numbers of their summaries.

Of each run one segment is compared: the one asked for, else the one with the most steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from strategy_profiles.analysis.breakdown import StepBreakdown, step_breakdown
from strategy_profiles.analysis.compare.comparison import (
    Comparison,
    TimedRun,
    compare_sides,
)
from strategy_profiles.analysis.compare.machine import (
    Machine,
    different_machines,
    machine_of,
)
from strategy_profiles.analysis.compare.metrics import (
    METRICS,
    MetricChange,
    changed_metric,
)
from strategy_profiles.analysis.compare.partner import COMPLETE
from strategy_profiles.analysis.compare.run_spread import RunSpread, known_spread
from strategy_profiles.analysis.compare.run_time import MIN_STEPS, time_of_segment
from strategy_profiles.analysis.machine_load import NOTABLE_SHARE, MachineLoad, machine_load, takers
from strategy_profiles.analysis.segment_numbers import segment_numbers
from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.analysis.xla import compiled_on_one_side, num_compiled
from strategy_profiles.errors import AnalysisError
from strategy_profiles.reporting import units
from strategy_profiles.reporting.spec_changes import describe
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.manifest import Program
from strategy_profiles.tables.store import Profile


def busier_for_one_side(
    a: Sequence[MachineLoad | None], b: Sequence[MachineLoad | None]
) -> str | None:
    """Return a warning if others used clearly more cores during one side.

    Others are programs outside of the run, and other virtual machines. None also if a run was not
    sampled.
    """
    loads = [load for load in (*a, *b) if load is not None]
    if len(loads) < len(a) + len(b):
        return None
    ours, theirs = _mean_cores(a), _mean_cores(b)
    num_cores = max(load.num_cores for load in loads)
    if abs(ours - theirs) < NOTABLE_SHARE * num_cores:
        return None
    (busy, name), (quiet, other) = sorted(((ours, "A"), (theirs, "B")), reverse=True)
    return (
        f"{takers(loads)} used {busy:.1f} of the machine's {num_cores} CPU cores while {name} "
        f"trained, and {quiet:.1f} while {other} did: part of the difference may be theirs. Record "
        "both again, in turns."
    )


def _mean_cores(side: Sequence[MachineLoad | None]) -> float:
    known = [load.taken_cores for load in side if load is not None]
    return math.fsum(known) / len(known)


__all__ = [
    "METRICS",
    "ComparedRun",
    "MetricChange",
    "RunComparison",
    "chosen_segment",
    "compare_runs",
    "compare_sets",
    "program_name",
    "timed_run",
]


class ComparedRun(Struct, frozen=True):
    """What the chosen segment of a run brings to a comparison; its tables are not kept."""

    name: str
    path: Path
    segment: int
    timed: TimedRun
    state: str
    """State of the run: `finished`, `stopped`, ..."""
    workload: str | None
    machine: Machine
    global_batch_size: int | None
    spec: Mapping[str, Any] | None
    """Of the segment, or that the run began with; None for a run of another program."""
    num_compiled: int | None
    """Functions that XLA compiles; None if that is not recorded."""
    program: Program | None
    """None if the lab has started the run, or its program is not known."""
    sources: Mapping[str, str]
    """Text of the program's files by path, as far as it was recorded."""
    load: MachineLoad | None
    """How busy the machine was; None if that was not sampled."""
    breakdown: StepBreakdown
    numbers: dict[str, Any]
    """The segment's summary, or the entries of it that hold the numbers with short names."""


class RunComparison(Struct, frozen=True):
    """The chosen segments of both sides, and what differs."""

    a: tuple[ComparedRun, ...]
    b: tuple[ComparedRun, ...]
    times: Comparison
    spread: RunSpread | None
    """How much runs of these specs differ on this machine, known from other runs.

    Only for one run a side; None if there are no other runs.
    """
    explanation: str | None
    """What may be all of the difference; None if nothing is known that is."""
    warnings: tuple[str, ...]

    @property
    def a_segment(self) -> int:
        return self.a[0].segment

    @property
    def b_segment(self) -> int:
        return self.b[0].segment

    @property
    def is_one_run(self) -> bool:
        """Whether two segments of one run are compared."""
        return {run.path for run in (*self.a, *self.b)} == {self.a[0].path}

    @property
    def is_with_itself(self) -> bool:
        """Whether both sides are the same segment of one run."""
        return self.is_one_run and self.a_segment == self.b_segment

    @property
    def has_specs(self) -> bool:
        """Whether the lab can repeat the runs: those of other programs have no spec."""
        return all(run.spec is not None for run in (*self.a, *self.b))

    @property
    def is_one_program(self) -> bool:
        """Whether all are runs of one program of somebody's own, with the same arguments."""
        return _are_one_program([*self.a, *self.b])

    @property
    def spec_changes(self) -> tuple[str, ...]:
        """What the spec of the first run of B differs in: `devices cpu:1 → cpu:2`."""
        before, after = self.a[0].spec, self.b[0].spec
        return () if before is None or after is None else tuple(describe(before, after))

    @property
    def metrics(self) -> tuple[MetricChange, ...]:
        """Every metric that has a short name."""
        return tuple(self.metric(name) for name in METRICS)

    def metric(self, name: str) -> MetricChange:
        """A short name of `METRICS`, or a dotted path that `compare_sets` was asked for."""
        times = self.times
        if name == "step_time_ms":
            low, high = times.low, times.high
            return MetricChange(
                name,
                times.a_ms,
                times.b_ms,
                low=None if low is None else times.a_ms * (low - 1),
                high=None if high is None else times.a_ms * (high - 1),
            )
        if name == "examples_per_second_at_median":
            return self._throughput()
        a, b = ([run.numbers for run in side] for side in (self.a, self.b))
        return changed_metric(name, a, b, times.pairs)

    def _throughput(self) -> MetricChange:
        """The throughput at the compared step times, so its change is the inverse of theirs."""
        times, name = self.times, "examples_per_second_at_median"
        rates = {"A": times.a_rate, "B": times.b_rate}
        if times.a_rate is None or times.b_rate is None:
            missing = [f"{side}: not every step recorded its examples" for side in rates]
            lacks = [text for text, rate in zip(missing, rates.values(), strict=True) if not rate]
            return MetricChange(name, times.a_rate, times.b_rate, "; ".join(lacks))
        low, high = None, None
        if times.low is not None and times.high is not None:
            at_equal = times.b_rate * times.ratio  # of B, if its step took as long as that of A
            low, high = (at_equal / end - times.a_rate for end in (times.high, times.low))
        return MetricChange(name, times.a_rate, times.b_rate, low=low, high=high)


def compare_runs(
    a: Profile, b: Profile, *, a_segment: int | None = None, b_segment: int | None = None
) -> RunComparison:
    """Compare one run with one other; raises AnalysisError if they cannot be compared."""
    return compare_sets([a], [b], a_segment=a_segment, b_segment=b_segment)


def compare_sets(
    a: Sequence[Profile],
    b: Sequence[Profile],
    *,
    a_segment: int | None = None,
    b_segment: int | None = None,
    metrics: Sequence[str] = (),
) -> RunComparison:
    """Compare the runs of B with those of A; raises AnalysisError if they cannot be compared.

    Args:
      a_segment, b_segment: which segment of each run; None for the one with the most steps.
      metrics: numbers without a short name to compare as well, by their dotted path in a
        segment's summary; with one of them the whole summary of each run is computed.
    """
    _check_named_once([*a, *b])
    is_whole = any(name not in METRICS for name in metrics)
    one, other = (
        [_compared_run(run, side, segment, is_whole=is_whole) for run in runs]
        for side, runs, segment in (("A", a, a_segment), ("B", b, b_segment))
    )
    _check_same_workload([*one, *other])
    times = compare_sides([run.timed for run in one], [run.timed for run in other])
    pair = [(a[0], one[0].segment), (b[0], other[0].segment)]
    return RunComparison(
        a=tuple(one),
        b=tuple(other),
        times=times,
        spread=known_spread(pair) if times.unit == "step" else None,
        explanation=compiled_on_one_side(
            [run.num_compiled for run in one], [run.num_compiled for run in other]
        ),
        warnings=tuple(_warnings(one, other)),
    )


def timed_run(run: Profile, side: str, segment: int | None = None) -> TimedRun:
    """A run's step time alone; raises AnalysisError if no step of it can be compared."""
    return _timed(run, side, segment)[1]


def chosen_segment(run: Profile, segment: int | None = None) -> tuple[SegmentOpened, TimedRun]:
    """The segment of a run to check and its step time; raises AnalysisError if it has none."""
    return _timed(run, "", segment)


def program_name(workload: str) -> str:
    """A workload's name; of a file its name alone, as the same file may lie in two checkouts."""
    return Path(workload).name if workload.endswith(".py") else workload


def _compared_run(run: Profile, side: str, segment: int | None, *, is_whole: bool) -> ComparedRun:
    opened, timed = _timed(run, side, segment)
    read: Callable[[Profile, SegmentOpened], dict[str, Any]] = segment_numbers
    if is_whole:
        from strategy_profiles.analysis.summary import summarize_segment  # and all rules of advice

        read = summarize_segment
    workload = (run.spec or {}).get("workload")
    return ComparedRun(
        name=run.name,
        path=run.path.resolve(),
        segment=opened.segment,
        timed=timed,
        state=run.status.state,
        workload=None if workload is None else program_name(str(workload)),
        machine=machine_of(run),
        global_batch_size=opened.global_batch_size,
        spec=None if run.spec is None else opened.spec or run.spec,
        num_compiled=num_compiled(run, opened.segment),
        program=run.identity.program if run.identity else None,
        sources=run.stacks(min(run.workers, default=0)).sources,
        load=machine_load(run, opened.segment),
        breakdown=step_breakdown(run, opened),
        numbers=run.once((read.__name__, opened.segment), lambda: read(run, opened)),
    )


def _timed(run: Profile, side: str, segment: int | None) -> tuple[SegmentOpened, TimedRun]:
    opened, steps = _choose(run, side, segment)
    time = time_of_segment(run, opened)
    if time is None:
        raise _no_steps(run, side)
    return opened, TimedRun(time, int(steps.start_ns[0]))


def _choose(run: Profile, side: str, number: int | None) -> tuple[SegmentOpened, StepTimes]:
    """The segment to compare and its steps."""
    known = {segment.segment: segment for segment in run.segments}
    if number is not None and number not in known:
        numbers = ", ".join(str(item) for item in known) or "none"
        raise AnalysisError(
            f"Run {run.name}{_of_side(side)} has no segment {number}",
            advice=f"Its segments: {numbers}",
        )
    chosen = list(known.values()) if number is None else [known[number]]
    timed = [(segment, step_times(run, segment.segment)) for segment in chosen]
    best = max(timed, key=lambda pair: pair[1].count, default=None)
    if best is None or not best[1].count:
        raise _no_steps(run, side)
    return best


def _no_steps(run: Profile, side: str) -> AnalysisError:
    return AnalysisError(
        f"Run {run.name}{_of_side(side)} has no step with a measured time",
        advice="Record at least a few steps: runs are compared by their step times",
    )


def _of_side(side: str) -> str:
    return f" of side {side}" if side else ""


def _check_named_once(runs: Sequence[Profile]) -> None:
    paths = [run.path.resolve() for run in runs]
    twice = [str(path) for path in dict.fromkeys(paths) if paths.count(path) > 1]
    # Two segments of one run may be compared, and a run with itself: the difference is 0.
    if twice and len(paths) > 2:
        raise AnalysisError(f"{', '.join(twice)} is named twice", advice="Name each run once")


def _are_one_program(runs: Sequence[ComparedRun]) -> bool:
    program = runs[0].program
    return program is not None and all(program.is_same(run.program) for run in runs)


def _check_same_workload(runs: Sequence[ComparedRun]) -> None:
    known = list(dict.fromkeys(run.workload for run in runs if run.workload is not None))
    if len(known) > 1:
        raise AnalysisError(
            f"The runs train different workloads: {' and '.join(known)}",
            advice="Compare runs of one workload",
        )


_UNFINISHED = {
    "failed": "failed: its steps before that are compared.",
    "incomplete": "was cut off: its recorded steps are compared.",
    "running": "is still running: its steps so far are compared.",
}


def _warnings(a: Sequence[ComparedRun], b: Sequence[ComparedRun]) -> list[str]:
    warnings = []
    runs = [("A", run) for run in a] + [("B", run) for run in b]
    several = len(runs) > 2
    batches = dict.fromkeys(
        "unknown" if run.global_batch_size is None else str(run.global_batch_size)
        for _, run in runs
    )
    if len(batches) > 1 and "unknown" in batches:
        warnings.append(
            "The global batch of a run is unknown: its step times mean something only if it is "
            "that of the others."
        )
    elif len(batches) > 1:
        warnings.append(
            f"The global batches differ ({' and '.join(batches)}): compare examples per second, "
            "not step times."
        )
    if machines := different_machines([run.machine for _, run in runs]):
        warnings.append(f"The runs are from different machines ({' and '.join(machines)}).")
    versions = dict.fromkeys(run.machine.tensorflow for _, run in runs)
    if len(known := [version for version in versions if version is not None]) > 1:
        warnings.append(f"The runs have different versions of TensorFlow ({' and '.join(known)}).")
    for side, run in runs:
        name = f"Run {run.name} of {side}" if several else f"Run {side}"
        if run.state not in COMPLETE:
            warnings.append(f"{name} {_UNFINISHED[run.state]}")
        if run.timed.time.num_steps < MIN_STEPS:
            warnings.append(
                f"{name} has {units.counted(run.timed.time.num_steps, 'steady step')}, too few "
                f"for a step time that means something: record {MIN_STEPS} or more."
            )
        if run.timed.time.uses_captured:
            warnings.append(
                f"{name} has few steps outside of captures, so captured steps are counted too."
            )
    if busier := busier_for_one_side([run.load for run in a], [run.load for run in b]):
        warnings.append(busier)
    if not (all(run.spec is not None for _, run in runs) or _are_one_program([*a, *b])):
        scripts = dict.fromkeys(run.program.script if run.program else None for _, run in runs)
        names = units.listed([program_name(script) for script in scripts if script])
        warnings.append(
            "These runs do not say whether they train the same."
            if None in scripts or len(scripts) < 2
            else f"These are runs of different programs: {names}."
        )
    return warnings
