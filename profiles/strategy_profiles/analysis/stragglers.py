"""Which replicas do the others wait for, by how much, and what would the run be without them?

late_r = median over steps of (median wait of the replicas that are not late - own wait): the
replica that the others wait for waits least. Waits of one step were read on one clock, so they
compare across replicas. Late replicas are found one after another: the latest one is set aside,
and the rest are compared again, so that a replica that is later still hides no other.

What-if (after Lin et al., "Understanding Stragglers in Large Model Training Using What-if
Analysis", ByteDance 2025): replay every step as the slowest replica's work plus the usual rest.
S = T / T_ideal, where ideally every replica works as long as the typical one (the lower median,
so that of two replicas the quicker one is typical); S_r is the same with replica r alone as it
was. Always read with the error of the estimate |T_estimate - T| / T.

Workers of parameter servers do not wait for each other. The slowest of them is the one with the
longest steps; its lateness is the difference to the median of the others' steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.breakdown import why_waits_unknown
from strategy_profiles.analysis.late_batches import late_batches
from strategy_profiles.analysis.parameter_server import parameter_serving
from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import (
    Floats,
    Ints,
    distinct,
    floats,
    ints,
    of_segment,
)
from strategy_profiles.tables.store import Profile, once

Source = Literal["measured", "marks", "derived"]
"""Captured steps, timestamps of all steps, or when each worker had its batch in all steps."""
NOTICEABLE_SHARE = 0.05
"""A straggler is late by at least this share of a step..."""
NOTICEABLE_MS = 0.5
"""...by at least this long..."""
NOTICEABLE_SCORE = 1.5
"""...by more than it varies from step to step..."""
MOSTLY_LAST = 0.5
"""...and the last one to arrive in at least this share of the steps."""
ALWAYS_LAST = 0.95
"""From this share of 10 steps on, its lateness may vary however much. Of a normal distribution, a
score of 1.5 is as rare. On a machine that other programs use, steps vary by a factor of 7: a
replica with three times the work was then last in 22 of 22 steps, and its score was 1.03."""
ENOUGH_STEPS = 10
MIN_STEPS = 3
ALONE = "one replica: no other to compare it with"
NO_TIMES = "a straggler needs two replicas with measured times"
NO_WAITS = "workers of parameter servers do not wait for each other"


class ReplicaLateness(Struct, frozen=True):
    """One replica against the others."""

    replica: int
    late_ms: float
    """Median; negative where the others wait less than it does."""
    last_share: float
    """Share of the steps in which it arrived last; replicas that are later still do not count."""
    score: float
    """late_ms over its spread between steps (1.4826 * median absolute deviation)."""
    slowdown: float
    """S_r: how much longer the run gets if this replica alone is as slow as it was."""
    worker: int = 0
    name: str = ""
    """`replica 3`; with several workers `replica 3 of worker 1`, or `worker 1` if each has one."""


class Stragglers(Struct, frozen=True):
    """The answer for a segment. `straggler` is the latest one; None if no replica stands out."""

    segment: int
    num_steps: int
    source: Source | None
    replicas: tuple[ReplicaLateness, ...]
    straggler: ReplicaLateness | None
    slowdown: float | None
    """S of the whole segment."""
    replay_error: float | None
    reason: str | None = None
    """Why there is no answer."""
    late: tuple[ReplicaLateness, ...] = ()
    """Every replica that the others wait for, the latest first."""
    step_ms: float | None = None
    """Median length of the steps in which the replicas were compared."""
    cores: Mapping[int, float] = MappingProxyType({})
    """The cores that each worker uses within a step, where these tell which one is late."""

    @property
    def why_no_what_if(self) -> str | None:
        """Why there is no slowdown; None if there is one."""
        return None if self.slowdown is not None else self.reason or NO_WAITS

    @property
    def latest(self) -> ReplicaLateness | None:
        """The replica that the others wait for most, whether or not it stands out."""
        return max(self.replicas, key=lambda item: item.late_ms, default=None)


class Work(Struct, frozen=True):
    """The steps in which every replica's time is known: `[step, replica]`, and `[step]`."""

    source: Source
    replicas: list[int]
    workers: list[int]
    wait: Floats
    work: Floats
    """What a replica does before it can wait for the others."""
    wall: Floats


@once
def stragglers(profile: Profile, segment: int) -> Stragglers:
    """Compare the replicas of a segment, steps that trace left out.

    From the light marks or from the captured steps, whichever has more steps.
    """
    opened = [item for item in profile.segments if item.segment == segment]
    unknown = why_waits_unknown(profile, opened[0]) if opened else None
    if unknown is not None:
        return unanswered(segment, unknown)
    titles = profile.process_titles
    if opened and has_servers(opened[0]):
        workers = parameter_serving(profile, opened[0]).workers
        walls_ms = {item.worker: item.wall_ms for item in workers if item.wall_ms is not None}
        return slowest_served(walls_ms, segment, titles)
    waits = lateness(_gather(profile, segment), segment, titles)
    if waits.source == "derived" and segment in profile.arrivals.cores:
        return replace(waits, cores=profile.arrivals.cores[segment])
    if waits.reason == ALONE:
        return replace(waits, reason=profile.unknown.get("others", ALONE))
    return waits


def slowest_served(
    walls_ms: Mapping[int, float], segment: int, titles: Mapping[int, str]
) -> Stragglers:
    """The answer for parameter servers, from the length of each worker's step by process number."""
    if len(walls_ms) < 2:
        return unanswered(segment, "needs two workers whose steps tell their parts")
    worker = max(walls_ms, key=walls_ms.__getitem__)
    usual = float(np.median([ms for other, ms in walls_ms.items() if other != worker]))
    late_ms = walls_ms[worker] - usual
    slow = ReplicaLateness(
        worker - 1, late_ms, 0.0, 0.0, 1.0, worker, titles.get(worker, f"worker {worker}")
    )
    stands_out = late_ms >= _noticeable_ms(walls_ms[worker])
    return Stragglers(segment, 0, "marks", (), slow if stands_out else None, None, None)


def lateness(work: Work, segment: int, titles: Mapping[int, str]) -> Stragglers:
    """The answer from the times of any steps, such as the newest ones of a run that goes on.

    `titles` names the processes by their number.
    """
    if len(work.replicas) < 2:
        return unanswered(segment, ALONE if work.replicas else NO_TIMES)
    if len(work.wall) < MIN_STEPS:
        return unanswered(segment, f"fewer than {MIN_STEPS} steps with every replica's time")
    slowest, typical = work.work.max(axis=1), _typical(work.work)
    rest = max(float(np.median(work.wall - slowest)), 0.0) * len(work.wall)
    replay, total = float(slowest.sum()) + rest, float(work.wall.sum())
    ideal = max(float(typical.sum()) + rest, 1e-6)
    replicas, late = _compare(work, ideal, titles)
    return Stragglers(
        segment=segment,
        num_steps=len(work.wall),
        source=work.source,
        replicas=replicas,
        straggler=late[0] if late else None,
        slowdown=replay / ideal,
        replay_error=abs(replay - total) / total,
        late=late,
        step_ms=float(np.median(work.wall)),
    )


def _gather(profile: Profile, segment: int) -> Work:
    """Each replica's own work by step, from timestamps, captures or the workers' waits for their
    batches, whichever has more steps."""
    steps = step_times(profile, segment)
    marks = of_segment(profile.table("marks"), segment)
    captured = of_segment(profile.table("replica_steps"), segment)
    from_marks = _matrices(marks, "marks", steps, _own_work_ms(marks), _walls(marks, steps))
    work = _own_work_ms(captured) + np.nan_to_num(floats(captured, "input_ms"))
    measured = _matrices(captured, "measured", steps, work, floats(captured, "wall_ms"))
    arrived = late_batches(profile, segment)
    batches = _matrices(
        arrived, "derived", steps, floats(arrived, "input_ms"), floats(arrived, "wall_ms")
    )
    return max(from_marks, measured, batches, key=lambda work: len(work.wall))


def _walls(marks: pa.Table, steps: StepTimes) -> Floats:
    """The length of the step of each row."""
    if not steps.count:
        return np.full(marks.num_rows, np.nan)
    step = ints(marks, "step")
    # Without a gap, the usual case, a step's place is its number: no search of 400,000 rows.
    is_gapless = bool((np.diff(steps.step) == 1).all())
    index = step - steps.step[0] if is_gapless else np.searchsorted(steps.step, step)
    return steps.wall_ms[index.clip(0, steps.count - 1, out=index)]


def _own_work_ms(rows: pa.Table) -> Floats:
    """What keeps a replica from its collective: its ops, and a delay that the lab injected."""
    own: Floats = floats(rows, "compute_ms") + np.nan_to_num(floats(rows, "delay_ms"))
    return own


def _matrices(
    rows: pa.Table,
    source: Source,
    steps: StepTimes,
    work: Floats,
    wall: Floats,
) -> Work:
    """Columns of `rows` by step and replica; steps that trace are left out."""
    counts = steps.settled if source == "measured" else steps.timed
    timed = ~np.isin(ints(rows, "step"), steps.step[~counts])
    replicas, column = distinct(ints(rows, "replica")[timed])
    number, row = distinct(ints(rows, "step")[timed])
    # One row per replica: NumPy takes ten times as long for a maximum of each four numbers.
    shape = (len(replicas), len(number))
    cell = column * len(number) + row  # in one dimension: half the time of two
    del row  # 16 MB of a million steps of two replicas
    filled = []
    for values in (floats(rows, "wait_ms"), work, wall):
        matrix = np.full(len(number) * len(replicas), np.nan)
        matrix[cell] = values[timed]
        filled.append(matrix.reshape(shape))
    waits, works, walls = filled
    whole = np.isfinite(waits + works).all(axis=0) & (walls > 0).all(axis=0)
    if not whole.all():
        waits, works, walls = (matrix[:, whole] for matrix in filled)
    workers = ints(rows, "worker")[timed][_first_rows(column, len(replicas))]
    known = (replicas.tolist(), workers.tolist())
    return Work(source, *known, waits.T, works.T, walls.max(axis=0, initial=0.0))


def _first_rows(index: Ints, count: int) -> Ints:
    """By number below `count` the first row of `place` that holds it."""
    first = np.zeros(count, np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]
    return first


def _compare(
    work: Work, ideal: float, titles: Mapping[int, str]
) -> tuple[tuple[ReplicaLateness, ...], tuple[ReplicaLateness, ...]]:
    """Every replica by its number, and those that stand out, the latest first.

    `ideal` is the length of the ideal run, in ms.
    """
    wall_ms = float(np.median(work.wall))
    typical = _typical(work.work)
    among = list(range(len(work.replicas)))
    late: list[int] = []
    last_share: dict[int, float] = {}
    compared: dict[int, ReplicaLateness] = {}
    """Of the replicas in `among`, each against all others in it."""
    while len(among) > 1:
        compared = {at: _lateness(work, at, among, among, ideal, typical, titles) for at in among}
        worst = max(among, key=lambda at: compared[at].late_ms)
        if not _stands_out(compared[worst], wall_ms, len(work.wall)):
            break
        late.append(worst)
        last_share[worst] = compared[worst].last_share
        among.remove(worst)
        compared = {}
    replicas = tuple(
        compared.get(at)
        or _lateness(work, at, among, [at, *among], ideal, typical, titles, last_share.get(at))
        for at in range(len(work.replicas))
    )
    stands_out = sorted((replicas[at] for at in late), key=lambda item: -item.late_ms)
    return replicas, tuple(stands_out)


def _lateness(
    work: Work,
    at: int,
    on_time: Sequence[int],
    among: Sequence[int],
    ideal: float,
    typical: Floats,
    titles: Mapping[int, str],
    last_share: float | None = None,
) -> ReplicaLateness:
    """The replica in column `at` against those `on_time`, last or not `among` its columns."""
    replica, worker = work.replicas[at], work.workers[at]
    others = [column for column in on_time if column != at]
    others = others or [column for column in range(len(work.replicas)) if column != at]
    late = _median_of_each(work.wait[:, others]) - work.wait[:, at]
    late_ms = float(np.median(late))
    spread = 1.4826 * float(np.median(np.abs(late - late_ms)))
    longer = float((np.maximum(typical, work.work[:, at]) - typical).sum())
    if last_share is None:
        last_share = float(np.mean(work.wait[:, at] <= work.wait[:, list(among)].min(axis=1)))
    title, num_workers = titles.get(worker, f"worker {worker}"), len(set(work.workers))
    name = f"replica {replica}" if num_workers == 1 else f"replica {replica} of {title}"
    return ReplicaLateness(
        replica=replica,
        late_ms=late_ms,
        last_share=last_share,
        score=late_ms / max(spread, 1e-3),
        slowdown=1 + longer / ideal,
        worker=worker,
        name=title if num_workers == len(work.workers) > 1 else name,
    )


def _median_of_each(rows: Floats) -> Floats:
    """`np.median` of each row; of 100,000 short ones in half the time, of 3 numbers in a tenth."""
    if rows.shape[1] == 3:
        one, other, third = rows.T
        middle: Floats = np.maximum(
            np.minimum(one, other), np.minimum(np.maximum(one, other), third)
        )
        return middle
    ordered, half = np.sort(rows, axis=1), rows.shape[1] // 2
    middle = ordered[:, half] if rows.shape[1] % 2 else ordered[:, half - 1 : half + 1].mean(axis=1)
    return np.where(np.isnan(ordered[:, -1]), np.nan, middle)


def _typical(work: Floats) -> Floats:
    """Per step the lower median over replicas."""
    ordered = np.sort(work, axis=1)
    typical: Floats = ordered[:, (work.shape[1] - 1) // 2]
    return typical


def _stands_out(worst: ReplicaLateness, wall_ms: float, num_steps: int) -> bool:
    is_always_last = worst.last_share >= ALWAYS_LAST and num_steps >= ENOUGH_STEPS
    is_regular = worst.score >= NOTICEABLE_SCORE and worst.last_share >= MOSTLY_LAST
    return worst.late_ms >= _noticeable_ms(wall_ms) and (is_regular or is_always_last)


def _noticeable_ms(wall_ms: float) -> float:
    return max(NOTICEABLE_MS, NOTICEABLE_SHARE * wall_ms)


def unanswered(segment: int, reason: str) -> Stragglers:
    """No answer for a segment, and why."""
    return Stragglers(segment, 0, None, (), None, None, None, reason)
