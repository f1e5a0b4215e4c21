"""How do step time, throughput, loss and each replica's compute go over the steps of a run?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from strategy_profiles.analysis.key_numbers import why_no_examples, why_no_loss
from strategy_profiles.analysis.steps import NO_STEP, StepTimes, step_times
from strategy_profiles.analysis.stragglers import stragglers
from strategy_profiles.answers.answer import Answer, Line, Lines, Missing, Part
from strategy_profiles.reporting import units
from strategy_profiles.reporting.downsample import readable_top, usual_distance
from strategy_profiles.reporting.palette import GREY, SERIES_COLOUR, replica_colour
from strategy_profiles.reporting.spec_changes import segment_titles
from strategy_profiles.tables.columns import Floats, Ints, floats, ints, of_segment
from strategy_profiles.tables.store import Profile

KEY = "steps"
THROUGHPUT_POINTS, COMPUTE_POINTS = 400, 600
FEW_REPLICAS = 4
"""Up to this number, every replica has its own line; more are a band, with lines for outliers."""
MAX_REPLICAS = 4096
"""A larger replica number means that the file is damaged."""


def over_steps(profile: Profile) -> Answer:
    """Return the answer for a run; its segments follow each other on the axis."""
    of_segments = [step_times(profile, each.segment) for each in profile.segments]
    timed = [steps for steps in of_segments if steps.count]
    if not timed:
        return Answer(KEY, parts=(Missing("wall", "Step time", NO_STEP),))
    titles = segment_titles(profile.segments)
    first = {each.segment: each.first_step for each in profile.segments}
    marks = tuple((first[each.segment], titles[each.segment]) for each in timed)
    axis = {"x_title": "step", "is_of_run": True, "marks": marks if len(timed) > 1 else ()}
    parts = (_wall(timed, axis), _throughput(timed, axis), _loss(timed, axis))
    compute = _compute(profile, timed, axis)
    return Answer(
        KEY,
        parts=(*parts, *([compute] if compute else [])),
        formulas=("step_time", "throughput"),
    )


def _wall(timed: Sequence[StepTimes], axis: dict[str, Any]) -> Lines:
    step = np.concatenate([each.step for each in timed])
    wall = np.concatenate([each.wall_ms for each in timed])
    lines = [
        Line("step time", *_joined([(each.step, each.wall_ms) for each in timed]), SERIES_COLOUR)
    ]
    top = readable_top([each.wall_ms for each in timed])
    notes = []
    if len(step) == 1:
        lines = []
        notes = [f"One step was recorded: step {step[0]}, {units.milliseconds(wall[0])}."]
    elif above := int((wall > top).sum()):
        slowest = int(wall.argmax())
        verb = "is" if above == 1 else "are"
        said = (
            f"{above} of {units.counted(len(wall), 'step')} {verb} above the "
            f"axis: step {step[slowest]} took {units.milliseconds(wall[slowest])}. "
            "The first step of a segment traces the program."
        )
        notes = [said]
    captured = np.concatenate([each.step[each.captured] for each in timed])
    return Lines(
        "wall",
        "Step time",
        tuple(lines),
        y_title="step time, ms",
        unit="ms",
        bridge=1,
        top=top,
        captured=_stretches(captured),
        definition="step_time",
        notes=tuple(notes),
        **axis,
    )


def _stretches(steps: Ints) -> tuple[tuple[int, int], ...]:
    """Return the first and last step of each stretch of steps that follow each other."""
    if not len(steps):
        return ()
    breaks = np.flatnonzero(np.diff(steps) > 1)
    firsts, lasts = steps[np.r_[0, breaks + 1]], steps[np.r_[breaks, len(steps) - 1]]
    return tuple(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _throughput(timed: Sequence[StepTimes], axis: dict[str, Any]) -> Part:
    """Up to 400 equal stretches of the timed steps."""
    parts = [(each.step[each.timed], each.examples[each.timed], each.timed_ms) for each in timed]
    step, examples, wall = (np.concatenate(column) for column in zip(*parts, strict=True))
    known = np.isfinite(examples) & (wall > 0)
    step, examples, wall = step[known], examples[known], wall[known]
    if not len(step):
        return Missing("throughput", "Throughput", why_no_examples(timed[-1]))
    starts = np.arange(0, len(step), -(-len(step) // THROUGHPUT_POINTS))
    rate = np.add.reduceat(examples, starts) / np.add.reduceat(wall, starts) * 1e3
    line = Line("throughput", step[starts].astype(float), rate, SERIES_COLOUR)
    return Lines(
        "throughput",
        "Throughput",
        (line,),
        y_title="examples/s",
        unit="number",
        definition="throughput",
        **axis,
    )


def _loss(timed: Sequence[StepTimes], axis: dict[str, Any]) -> Part:
    """Across segments without a break: a live change carries the training state over."""
    step = np.concatenate([each.step for each in timed])
    loss = np.concatenate([each.loss for each in timed])
    known = np.isfinite(loss)
    step, loss = step[known].astype(float), loss[known]
    if not len(loss):
        return Missing("loss", "Loss", why_no_loss(timed[0].unknown))
    is_one = len(loss) == 1
    alone = f"Step {step[0]:.0f} alone recorded a loss: {units.number(loss[0], 4)}."
    return Lines(
        "loss",
        "Loss",
        () if is_one else (Line("loss", step, loss, SERIES_COLOUR),),
        y_title="loss",
        unit="number",
        bridge=usual_distance(step),
        starts_at_zero=False,
        definition="loss",
        notes=(alone,) if is_one else (),
        **axis,
    )


def _compute(profile: Profile, timed: Sequence[StepTimes], axis: dict[str, Any]) -> Lines | None:
    """Compute of each replica, from marks or else from captures, to see what becomes slower."""
    parts = [part for each in timed if (part := _by_replica(profile, each))[1].size]
    most = max((values.shape[1] for _, values in parts), default=0)
    if most < 2:
        return None
    budget = max(COMPUTE_POINTS // len(parts), 20)
    short = [_shortened(step, values, budget) for step, values in parts]
    size = max(-(-len(step) // budget) for step, _ in parts)
    notes = [f"Each point is the median of up to {size} steps."] if size > 1 else []
    if most > FEW_REPLICAS:
        late = (stragglers(profile, each.segment).straggler for each in timed)
        lines = _band(short, sorted({each.replica for each in late if each}))
        notes.append("The band covers all replicas that are not drawn separately.")
    else:
        lines = [_of_replica(short, replica) for replica in range(most)]
    return Lines(
        "compute",
        "Compute of each replica",
        tuple(lines),
        y_title="compute, ms",
        unit="ms",
        is_detail=True,
        notes=tuple(notes) or ("Every step with per-replica times is a point.",),
        **axis,
    )


def _by_replica(profile: Profile, steps: StepTimes) -> tuple[Ints, Floats]:
    """Return steps and compute in ms, `[step, replica]`; NaN if unknown. Omits tracing steps."""
    rows = of_segment(profile.table("marks"), steps.segment)
    if not rows.num_rows:
        rows = of_segment(profile.table("replica_steps"), steps.segment)
    number, row = np.unique(ints(rows, "step"), return_inverse=True)
    replica = ints(rows, "replica")
    known = (replica >= 0) & (replica < MAX_REPLICAS)
    values = np.full((len(number), int(replica[known].max(initial=-1)) + 1), np.nan)
    values[row[known], replica[known]] = floats(rows, "compute_ms")[known]
    timed = ~np.isin(number, steps.step[~steps.settled])
    return number[timed], values[timed]


def _shortened(step: Ints, values: Floats, budget: int) -> tuple[Ints, Floats]:
    """Return at most `budget` rows: for each stretch of steps its first step's number and, per
    replica, the median. `values` has a row per step and a column per replica."""
    size = -(-len(step) // budget)
    if size <= 1:
        return step, values
    whole = len(step) // size * size
    shapes = [values[:whole].reshape(-1, size, values.shape[1])]
    if whole < len(step):
        shapes.append(values[None, whole:])
    medians = [_without_nan(np.nanmedian, stretches) for stretches in shapes]
    return step[::size], np.concatenate(medians)


def _of_replica(parts: Sequence[tuple[Ints, Floats]], replica: int) -> Line:
    """Return one replica's values over all segments, with gaps for segments without it."""
    own = [
        (step, v[:, replica] if replica < v.shape[1] else np.full(len(step), np.nan))
        for step, v in parts
    ]
    return Line(f"replica {replica}", *_joined(own), replica_colour(replica))


def _band(parts: Sequence[tuple[Ints, Floats]], late: Sequence[int]) -> list[Line]:
    """Return median and band of the typical replicas, and a line for each late one."""
    usual = [(step, np.delete(v, [r for r in late if r < v.shape[1]], axis=1)) for step, v in parts]
    (x, middle), (_, low), (_, high) = (
        _joined([(step, _without_nan(reduce, v)) for step, v in usual])
        for reduce in (np.nanmedian, np.nanmin, np.nanmax)
    )
    name = "median of the others" if late else "median of the replicas"
    band = Line(name, x, middle, GREY, low, high)
    return [band, *(_of_replica(parts, replica) for replica in late)]


def _without_nan(reduce: Callable[..., Floats], values: Floats) -> Floats:
    """Reduce the second axis; NaN where no value is known."""
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns about all-NaN steps
        return reduce(values, axis=1)


def _joined(parts: Sequence[tuple[Ints, Floats]]) -> tuple[Floats, Floats]:
    """Return steps and values of all segments, with a gap between two of them."""
    gap = np.array([np.nan])
    x = [np.concatenate([step[:1], step]) for step, _ in parts]
    y = [np.concatenate([gap, values]) for _, values in parts]
    return np.concatenate(x).astype(float)[1:], np.concatenate(y)[1:]
