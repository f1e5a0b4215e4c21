"""The results of all analyses of one segment, and what a finding is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from strategy_profiles.analysis.account.account import Account, account
from strategy_profiles.analysis.account.first_batches import recorded_lines
from strategy_profiles.analysis.account.op_time import OpTime, lines_of_ops, op_times
from strategy_profiles.analysis.account.step_function import unrolled_loop
from strategy_profiles.analysis.all_idle import all_idle_ms
from strategy_profiles.analysis.between_steps import BetweenSteps, between_steps
from strategy_profiles.analysis.breakdown import StepBreakdown, step_breakdown
from strategy_profiles.analysis.busy_threads import BusyThread, busy_threads
from strategy_profiles.analysis.capture_cost import CaptureCost, capture_cost
from strategy_profiles.analysis.causes import SegmentCauses, held_up
from strategy_profiles.analysis.communication import Communication, communication
from strategy_profiles.analysis.cost import Cost, Source
from strategy_profiles.analysis.element_types import (
    FLOAT16,
    FLOAT64,
    ComputedIn,
    computed_in,
)
from strategy_profiles.analysis.epoch_ends import EpochEnds, epoch_ends
from strategy_profiles.analysis.failures import failed_in
from strategy_profiles.analysis.headline_segment import num_alike
from strategy_profiles.analysis.input_collectives import input_collectives
from strategy_profiles.analysis.input_share import InputShare, input_share
from strategy_profiles.analysis.late_batches import BatchLine, batch_line
from strategy_profiles.analysis.line_work import LineWork, line_work
from strategy_profiles.analysis.lone_worker import LoneWorker, lone_worker
from strategy_profiles.analysis.longer_op import LongerOp, growing_op, longer_op
from strategy_profiles.analysis.longest_before import LongestBefore, longest_before
from strategy_profiles.analysis.loop_pace import LoopPace, loop_pace
from strategy_profiles.analysis.machine_load import MachineLoad, machine_load
from strategy_profiles.analysis.map_calls import MapCall, map_calls
from strategy_profiles.analysis.memory import DeviceMemory, memory_use
from strategy_profiles.analysis.op_by_op import OpByOp, op_by_op
from strategy_profiles.analysis.outside_function import OutsideFunction, array_copies, single_ops
from strategy_profiles.analysis.overlap import Overlap, overlaps
from strategy_profiles.analysis.placed import Placed, placed
from strategy_profiles.analysis.program_loops import ignores_context
from strategy_profiles.analysis.python_in_ops import PythonInOps, python_in_ops
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.analysis.repeated_calls import RepeatedCalls, repeated_calls
from strategy_profiles.analysis.retracing import Retracing, retracing
from strategy_profiles.analysis.same_each_step import SameEachStep, same_each_step
from strategy_profiles.analysis.side_by_side import side_by_side
from strategy_profiles.analysis.steps import UNLIKE_THE_OTHERS, StepTimes, step_times
from strategy_profiles.analysis.stragglers import Stragglers, stragglers
from strategy_profiles.analysis.stuck import Stuck, stuck_workers
from strategy_profiles.analysis.written_variables import written_bytes
from strategy_profiles.decoders import converted
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import SourceLine, WholeRead
from strategy_profiles.run.events import (
    EXIT_CODE,
    FETCHED_EACH,
    IMPORTED,
    IN_TURNS,
    NO_OPS_IN,
    OWN_BATCH_EACH,
    UNLIKE_EACH,
    WHOLE_BATCH_EACH,
    WHOLE_READS,
    Environment,
    Failed,
    Note,
    SegmentOpened,
)
from strategy_profiles.tables.store import Profile, once


class ChangedLine(Struct, frozen=True):
    """A line of a traced program as it is, and as a remedy would have it."""

    file: str
    """Its path, as it was recorded."""
    line: int
    before: str
    after: str

    @property
    def difference(self) -> str:
        """The change as a diff to read and copy."""
        name = f"{self.file.rpartition('/')[2]}:{self.line}"
        return f"{name}\n- {self.before.strip()}\n+ {self.after.strip()}"


class Gain(Struct, frozen=True):
    """What a step would gain without a finding: predicted, with the error of the prediction."""

    step_ms: float
    """Length of the step then."""
    low_ms: float
    """Lower end of the interval of the prediction: medians of another run with the change."""
    high_ms: float
    measured_ms: float
    """Length of the captured steps as they are."""
    error: float
    """Relative error of the replay of the step as it is."""
    times_examples: float
    """Examples of a step then, over those of a step now; 1 unless the batch is changed."""
    is_bound: bool
    """Whether no remedy can gain more."""
    is_within_error: bool
    """Whether the interval of the recorded steps holds the step as it is: the prediction names no
    gain then."""
    sentence: str


class Finding(Struct, frozen=True):
    """One finding. `cost` is None if it is not known."""

    key: str
    segment: int
    sentence: str
    advice: str
    cost: Cost | None
    evidence: dict[str, Any]
    caused_by: str | None = None
    """Key of the finding that this one follows from; None if it has a cause of its own."""
    edits: dict[str, Any] = {}
    """Changes of the RunSpec that would help, by dotted path; empty if the lab knows none."""
    removal: Removal | str = ""
    """The change of a step that a replay predicts the gain from; a reason if there is none."""
    change: ChangedLine | None = None
    """The line of the program that the advice changes; None if it is no change of one line."""
    gain: Gain | None = None
    """None if nothing predicted it."""
    why_no_gain: str = ""
    """A sentence if a prediction was asked for and there is none."""


_MOST_PLACES = 3


class Facts(Struct, frozen=True):
    """The results of all analyses of one segment."""

    segment: SegmentOpened
    environment: Environment | None
    account: Account
    """The time of the loop, divided once: what a finding costs is a part of it."""
    pace: LoopPace
    steps: StepTimes
    between: BetweenSteps
    epoch_ends: EpochEnds
    breakdown: StepBreakdown
    communication: Communication
    stragglers: Stragglers
    input: InputShare
    capture: CaptureCost
    held_up: SegmentCauses
    retracing: Retracing
    ops: tuple[OpTime, ...]
    """The computation of the typical captured steps, by layer and type of op."""
    line_of: Mapping[str, str]
    """File and line of the program that made an op, by the op's name; ops of unknown lines are
    left out."""
    lines: tuple[SourceLine, ...]
    """Those of the program that were recorded, of the process that trains first."""
    sources: Mapping[str, str]
    """The text of the program's files that were recorded, by path."""
    op_by_op: OpByOp | None
    """How the step runs op by op; None if it is a graph, or was not captured."""
    placed: Placed
    float16: ComputedIn | None
    """None if no op of a typical captured step is known to compute in float16."""
    float64: ComputedIn | None
    """The same of float64."""
    memory: tuple[DeviceMemory, ...]
    load: MachineLoad | None
    """None if the CPUs were not sampled while it trained."""
    num_hosts: int
    """Machines that the run's processes named; 0 if none did."""
    read_overlaps: Callable[[], tuple[Overlap, ...]]
    read_all_idle_ms: Callable[[], float | None]
    read_input_collectives: Callable[[], float | None]
    read_side_by_side: Callable[[], float | None]
    read_longer_op: Callable[[int, Collection[int]], LongerOp | None]
    read_growing_op: Callable[[], LongerOp | None]
    """The op that takes longer in later captured steps; None if none does."""
    read_written_bytes: Callable[[], int | None]
    """Of the variables that the step writes; None if that is not known."""
    read_repeated_calls: Callable[[], RepeatedCalls | None]
    """The calls of a model that repeat another one of the step; None if there are none."""
    read_same_each_step: Callable[[], SameEachStep | None]
    """The ops that compute the same in each step; None if there are none."""
    read_lone_worker: Callable[[], LoneWorker | None]
    """The worker of a `ClusterCoordinator` that the others wait for; None if there is none."""
    read_longest_before: Callable[[], LongestBefore | None]
    """The call that takes longest before training begins; None if nothing was sampled there."""
    read_unrolled_loop: Callable[[str], str | None]
    """Line of the loop that traces the ops of a line again and again; None if it is not known."""
    read_busy_threads: Callable[[], tuple[BusyThread, ...]]
    """Functions of the program that compute in other Python threads, the busiest first."""
    read_python_in_ops: Callable[[int], PythonInOps | None]
    """The Python that ops of a worker run; None if too little of it was sampled."""
    read_array_copies: Callable[[], OutsideFunction | None]
    """Calls outside of the step's function that copy arrays; None if too few were sampled."""
    read_single_ops: Callable[[], OutsideFunction | None]
    """Ops that Python runs one by one in the steps; None if too few were sampled."""
    read_line_work: Callable[[str, int], LineWork]
    """What the program does at a line."""
    read_batch_line: Callable[[int], BatchLine | None]
    """The line at which a worker waits for its batches; None if none was sampled."""
    noted: Mapping[str, str]
    """Lines of the program at which the recorder saw something, by the field of its note."""
    whole_reads: tuple[WholeRead, ...]
    """Variables that each step of a coordinator's worker reads as a whole, the largest first."""
    is_one_of_several: bool
    """Whether the run has other segments: what is said of the loop then names this one."""
    num_trained: int
    """Segments of this strategy, size and batch in a recorded program: each is a training with a
    first step of its own. 1 in the lab's own runs."""
    failure: str | None = None
    """Why the run failed, of its last segment; None if it did not, or if the program ended with an
    exit code of its own after some steps: these are what there is to explain."""
    failed: Failed | None = None
    """The event that has this reason; None if no worker wrote one."""
    stuck: tuple[Stuck, ...] = ()
    """The workers that did no further step, of the run's last segment."""
    lacks_ranks: bool = False
    """Whether an imported program has ranks that its profile has not: waiting for them looks like
    transfer."""
    framework: str | None = None
    """`PyTorch` if its profiler recorded the run; None for TensorFlow."""

    @property
    def is_imported(self) -> bool:
        """Whether another program recorded it: nothing is known of Python and of the runtime."""
        return self.segment.strategy == IMPORTED

    @property
    def shares_input(self) -> bool:
        """Whether all replicas take their batches from one pipeline, that of their process.

        Not known of an imported run: its replicas on a host may be processes of their own.
        """
        return self.segment.num_workers == 1 and not self.is_imported

    def only_line(self, *texts: str) -> SourceLine | None:
        """The only recorded line of the program that has one of these texts; None if there are
        none or several."""
        lines = self.lines_with(*texts)
        return lines[0] if len(lines) == 1 else None

    def lines_with(self, *texts: str) -> list[SourceLine]:
        """The recorded lines of the program that have one of these texts before any comment."""
        saying = [each for each in self.lines if any(text in each.text for text in texts)]
        codes = [(each, each.text.partition("#")[0]) for each in saying]
        return [each for each, code in codes if any(text in code for text in texts)]

    def first_line_of_sources(self, says: re.Pattern[str]) -> SourceLine | None:
        """The first line of the program's files that says something before any comment."""
        for file, text in self.sources.items():
            for number, line in enumerate(text.splitlines(), 1):
                if says.search(line.partition("#")[0]):
                    return SourceLine(file, number, line)
        return None

    def said_at(self, *texts: str, but: Sequence[str] = ()) -> str:
        """` at train.py:12 (`line`)`, of the only line that has one of these texts and none of the
        others, or ` at train.py:12 and train.py:40`; empty if there are none, or more than
        three."""
        every = self.lines_with(*texts)
        lines = [each for each in every if not any(text in each.text for text in but)]
        if len(lines) == 1:
            return f" at {lines[0].place} (`{lines[0].text.strip()}`)"
        lines.sort(key=lambda each: (each.file, each.line))
        places = units.listed([each.place for each in lines])
        return f" at {places}" if 0 < len(lines) <= _MOST_PLACES else ""

    @property
    def maps(self) -> tuple[MapCall, ...]:
        """The program's calls of `Dataset.map`, in the order of their lines."""
        return map_calls(self.sources)

    def gives_all_the_same(self, values: SourceLine) -> bool:
        """Whether the function given to `experimental_distribute_values_from_function` at a line
        gives each replica the same values: it only builds tensors, and does not use its context."""
        return ignores_context(self.sources.get(values.file, ""), values.line)

    @property
    def has_gpus(self) -> bool:
        """Whether replicas compute on GPUs."""
        return any("device:GPU" in device for device in self.segment.replica_devices)

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        """Read when first asked for: runs of earlier versions need all spans for it."""
        return self.read_overlaps()

    @property
    def all_idle_ms(self) -> float | None:
        """Time of a typical captured step in which no replica runs anything; None without captures.

        Read when first asked for, as it needs all spans.
        """
        return self.read_all_idle_ms()

    @property
    def input_collectives(self) -> float | None:
        """Collectives per typical captured step that taking the batch waits for; None without
        captured input.

        Read when first asked for, as it needs all spans.
        """
        return self.read_input_collectives()

    @property
    def captures_are_unlike(self) -> bool:
        """Whether the captured steps are far shorter than others, and so say little of these."""
        wall, median = self.breakdown.mean_ms("wall"), self.steps.median_ms
        is_captured = self.breakdown.is_in_sync and self.breakdown.source == "measured"
        return bool(is_captured and wall and median and wall / median < UNLIKE_THE_OTHERS)

    @property
    def side_by_side(self) -> float | None:
        """Of the time in which any replica of a process computes, the share in which two or more
        do; None if none has two captured replicas.

        Read when first asked for, as it needs all spans.
        """
        return self.read_side_by_side()

    @property
    def loop_name(self) -> str:
        """`the loop`, or in a run with other segments `the loop of segment 1`."""
        which = f" of segment {self.segment.segment}" if self.is_one_of_several else ""
        return f"the loop{which}"


@once
def gather_facts(profile: Profile, segment: SegmentOpened) -> Facts:
    """Return what is known of a segment of the profile, computed once."""
    number = segment.segment
    return Facts(
        segment=segment,
        environment=profile.environment,
        account=account(profile, segment),
        pace=loop_pace(profile, number),
        steps=step_times(profile, number),
        between=between_steps(profile, number),
        epoch_ends=epoch_ends(profile, number),
        breakdown=step_breakdown(profile, segment),
        communication=communication(profile, segment),
        stragglers=stragglers(profile, number),
        input=input_share(profile, number),
        capture=capture_cost(profile, number),
        held_up=held_up(profile, number),
        retracing=retracing(profile, number),
        ops=op_times(profile, number),
        line_of=lines_of_ops(profile, number),
        lines=recorded_lines(profile),
        sources=profile.stacks(min(profile.workers, default=0)).sources,
        op_by_op=op_by_op(profile, number),
        placed=placed(profile, segment),
        float16=computed_in(profile, FLOAT16, number),
        float64=computed_in(profile, FLOAT64, number),
        memory=memory_use(profile),
        load=machine_load(profile, number),
        num_hosts=len({item.host.name for item in profile.events(Environment) if item.host.name}),
        read_overlaps=lambda: overlaps(profile, number),
        read_all_idle_ms=lambda: all_idle_ms(profile, number),
        read_input_collectives=lambda: input_collectives(profile, number),
        read_side_by_side=lambda: side_by_side(profile, number),
        read_written_bytes=lambda: written_bytes(profile, segment),
        read_repeated_calls=lambda: repeated_calls(profile, segment),
        read_same_each_step=lambda: same_each_step(profile, segment),
        read_lone_worker=lambda: lone_worker(profile, number),
        read_longest_before=lambda: longest_before(profile, number),
        read_unrolled_loop=lambda of_ops: unrolled_loop(profile, number, of_ops),
        read_busy_threads=lambda: busy_threads(profile, number),
        read_growing_op=lambda: growing_op(profile, number),
        read_longer_op=lambda replica, others: longer_op(profile, number, replica, others),
        read_python_in_ops=lambda worker: python_in_ops(profile, number, worker),
        read_array_copies=lambda: array_copies(profile, number),
        read_single_ops=lambda: single_ops(profile, number),
        read_line_work=lambda file, line: profile.once(
            (line_work, number, file, line), lambda: line_work(profile, number, file, line)
        ),
        read_batch_line=lambda worker: batch_line(profile, worker),
        noted=_noted(profile, number),
        whole_reads=_whole_reads(profile, number),
        is_one_of_several=len(profile.segments) > 1,
        num_trained=1 if segment.is_of_lab else num_alike(profile, segment),
        failure=(failure := _failure(profile, segment)),
        failed=None if failure is None else failed_in(profile),
        stuck=stuck_workers(profile) if segment == profile.segments[-1] else (),
        lacks_ranks=(profile.num_ranks or 0) > len(segment.replica_devices),
        framework=profile.framework,
    )


def _noted(profile: Profile, segment: int) -> dict[str, str]:
    return {
        field: place
        for note in profile.events(Note)
        if note.fields.get(NO_OPS_IN) == segment
        for field in (IN_TURNS, FETCHED_EACH, WHOLE_BATCH_EACH, OWN_BATCH_EACH, UNLIKE_EACH)
        if isinstance(place := note.fields.get(field), str)
    }


def _whole_reads(profile: Profile, segment: int) -> tuple[WholeRead, ...]:
    for note in profile.events(Note):
        if note.fields.get(NO_OPS_IN) == segment and WHOLE_READS in note.fields:
            with suppress(ValueError):  # a field of a note may be anything
                return converted(note.fields[WHOLE_READS], tuple[WholeRead, ...])
    return ()


def _failure(profile: Profile, segment: SegmentOpened) -> str | None:
    is_last = segment.segment == profile.segments[-1].segment
    message = profile.status.message
    if not is_last or profile.status.state != "failed":
        return None
    has_ended_itself = (message or "").startswith(EXIT_CODE)
    return None if has_ended_itself and step_times(profile, segment.segment).count else message


def finding(
    facts: Facts, key: str, sentence: str, advice: str, cost: Cost | None, **evidence: Any
) -> Finding:
    return Finding(key, facts.segment.segment, sentence, advice, cost, evidence)


def per_step(facts: Facts, ms: float, step_ms: float, source: Source = "measured") -> Cost | None:
    """The cost of what takes `ms` of each usual step of `step_ms`."""
    steps = facts.account.row("loop/steps")
    if not step_ms or steps is None:
        return None
    captured = facts.held_up.num_steps if facts.breakdown.source == "measured" else 0
    return facts.account.cost(ms / step_ms * steps.total_ms, source, captured)


def over_all_steps(facts: Facts, ms: float, source: Source = "measured") -> Cost | None:
    """The cost of what takes `ms` in all."""
    return facts.account.cost(ms, source)


def of_a_step(facts: Facts, part_ms: float, wall_ms: float) -> str:
    """`45 % of a captured step (on average 4.84 of 10.8 ms)`: a part beside its whole.

    Both are means over the typical steps of the breakdown. A worker's own step at parameter servers
    is longer than the time from result to result.
    """
    part_ms = min(part_ms, wall_ms)  # ops side by side may add up to more
    lengths = f"{units.number(part_ms)} of {units.milliseconds(wall_ms)}"
    return f"{units.share(part_ms / wall_ms)} of {_step_of_breakdown(facts)} (on average {lengths})"


def _step_of_breakdown(facts: Facts) -> str:
    if not facts.breakdown.is_in_sync:
        return "a worker's step"
    return "a captured step" if facts.breakdown.source == "measured" else "a step"
