"""By how much do two sides of runs differ, in what, and how sure is that?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from strategy_profiles.analysis.breakdown import StepBreakdown
from strategy_profiles.analysis.compare.each import AgainstFirst, EachRow, each_row
from strategy_profiles.analysis.compare.metrics import METRICS, MetricChange
from strategy_profiles.analysis.compare.run_comparison import RunComparison
from strategy_profiles.analysis.compare.source_difference import difference, files_of_both
from strategy_profiles.analysis.compare.text import (
    answer,
    change_interval,
    change_text,
    has_other_batches,
    remarks,
)
from strategy_profiles.answers.answer import (
    Answer,
    Bars,
    Bold,
    Column,
    Difference,
    KeyNumber,
    Missing,
    Part,
    Table,
    table,
)
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS, Definition
from strategy_profiles.reporting.spec_changes import flatten, text_of_field
from strategy_profiles.tables.schema import CATEGORIES

KEY = "comparison"
UNLIKE = 0.02
"""A bar that differs more than this from the step time of its side says why."""
_DEFINED_AS = {
    "loop_time_ms": "loop_time",
    "loop_examples_per_second": "loop_throughput",
    "step_time_ms": "step_time_of_side",
    "examples_per_second_at_median": "throughput_of_side",
    "bytes_per_step.collective": "traffic",
    "bytes_per_step.transfer": "transfer_bytes",
    "busbw_gbps": "busbw",
    "late_ms": "slowest",
}
"""Metrics of a comparison whose definition has another name."""
MOST_CHANGED = 200
"""Lines of a diff that are shown."""
_ONE_RUN_EACH = "One run each: these numbers do not include the variation between runs."


def defined(metric: str) -> Definition:
    return DEFINITIONS[_DEFINED_AS.get(metric, metric.removesuffix("_ms"))]


def _figure(metric: str) -> str:
    """`compute_ms` as `Compute, ms`, in the words of the definitions."""
    definition = defined(metric)
    return ", ".join(filter(None, (definition.label, definition.unit)))


_FIGURES = (
    Column("figure", "Figure", is_detail=True, value=lambda item: _figure(item.metric)),
    Column("metric", "Name", definition="As `--fail-on` and JSON have it."),
    Column("a", "A", "number"),
    Column("b", "B", "number"),
    Column("change", "Change", "figure", value=change_text),
    Column("interval", "95 % interval", "figure", "ratio", is_aside=True, value=change_interval),
)
_RUNS = (
    Column("name", "Run", "name"),
    Column("segment", "Segment", "count"),
    Column(
        "loop_ms",
        "Loop per step",
        "ms",
        "loop_time",
        value=lambda run: run.numbers["loop"]["ms_per_step"],
    ),
    Column("steps", "Steady steps", "count", value=lambda run: run.timed.time.num_steps),
    Column(
        "median_ms",
        "Median steady step",
        "ms",
        "step_time_of_side",
        value=lambda run: run.timed.time.median_ms,
    ),
    Column("p10_ms", "10 % take less", "ms", value=lambda run: run.timed.time.p10_ms),
    Column("p90_ms", "10 % take more", "ms", value=lambda run: run.timed.time.p90_ms),
)


def comparison(compared: RunComparison) -> Answer:
    """Return the answer for two sides."""
    runs = table(
        "runs",
        "The runs",
        [*compared.a, *compared.b],
        _RUNS,
        groups=("A",) * len(compared.a) + ("B",) * len(compared.b),
        notes=remarks(compared),
    )
    verdict, rest = answer(compared)
    return Answer(
        KEY,
        (Bold(verdict), rest),
        tuple(_numbers(compared)),
        warnings=compared.warnings,
        parts=(_phases(compared), _figures(compared), runs),
    )


def _numbers(compared: RunComparison) -> Iterator[KeyNumber]:
    """The change of the loop if it is known, and the times; then the ratio of step times."""
    times, loop = compared.times, change_of_loop(compared)
    interval = change_interval(loop)
    if loop.change is not None:
        note = f"95 %: {interval}" if interval else times.reason or ""
        yield KeyNumber(
            _DEFINED_AS[loop.metric], loop.change, change_text(loop), note, "derived", "B against A"
        )
    sides = (("A", times.a_ms, times.a_rate), ("B", times.b_ms, times.b_rate))
    for (side, step_ms, rate), num, steps in zip(
        sides, times.num_runs, times.num_steps, strict=True
    ):
        of = "median of" if num == 1 else f"{num} runs,"
        of, step = f"{of} {units.counted(steps, 'steady step')}", units.milliseconds(step_ms)
        loop_ms, loop_rate = (
            getattr(compared.metric(name), side.lower())
            for name in ("loop_time_ms", "loop_examples_per_second")
        )
        if loop_ms is None:
            note = f"{of}; {units.rate(rate, 'examples')}"
            yield KeyNumber("step_time_of_side", step_ms, step, note, "measured", side)
            continue
        per_s = "" if loop_rate is None else f"{units.rate(loop_rate, 'examples')}; "
        note = f"{per_s}the step itself {step}, {of}"
        yield KeyNumber("loop_time", loop_ms, units.milliseconds(loop_ms), note, "measured", side)
    known = times.low is not None and times.high is not None
    note = f"95 %: {times.low:.3f} to {times.high:.3f}" if known else times.reason or ""
    yield KeyNumber("ratio", times.ratio, f"{times.ratio:.3f}", note, "derived")


def change_of_loop(compared: RunComparison) -> MetricChange:
    """Return how the loop's time differs, or its throughput if the batches do."""
    is_rate = has_other_batches(compared)
    return compared.metric("loop_examples_per_second" if is_rate else "loop_time_ms")


def _phases(compared: RunComparison) -> Bars:
    """Two stacked bars, means over the replicas and the runs of a side."""
    sides = {"A": compared.a, "B": compared.b}
    breakdowns = {side: [run.breakdown for run in runs] for side, runs in sides.items()}
    reasons = {
        f"{side}: {item.reason}": None
        for side, own in breakdowns.items()
        for item in own
        if item.reason
    }
    notes = ["; ".join(reasons)] if reasons else []
    step_times = (compared.times.a_ms, compared.times.b_ms)
    for (side, own), step_ms in zip(breakdowns.items(), step_times, strict=True):
        wall = _mean(own, "wall")
        if wall and abs(wall / step_ms - 1) > UNLIKE:
            notes.append(f"The bar of {side} adds up to {_about_bar(own[0], wall, step_ms)}.")
    return Bars(
        "phases",
        "Phase by phase",
        tuple(breakdowns),
        {
            phase: each
            for phase in CATEGORIES
            if any(each := tuple(_mean(own, phase) for own in breakdowns.values()))
            or phase != "delay"
        },
        "ms per step",
        of="Side",
        definition="replica_time",
        notes=tuple(notes),
        is_detail=True,
    )


def _about_bar(item: StepBreakdown, wall_ms: float, step_ms: float) -> str:
    """Return the length of a bar, of what it is the mean, and why the step time differs from it."""
    if not item.is_in_sync:
        which = "the mean step of a worker; steps of the workers overlap, and one ends every"
    elif item.source == "measured":
        which = "the mean of typical captured steps; the step time, the median of the others, is"
    else:
        which = "the mean of typical steps; the step time, the median of all steady steps, is"
    return f"{units.milliseconds(wall_ms)}, {which} {units.milliseconds(step_ms)}"


def _mean(breakdowns: Sequence[StepBreakdown], phase: str) -> float | None:
    known = [value for item in breakdowns if (value := item.mean_ms(phase)) is not None]
    return sum(known) / len(known) if known else None


def _figures(compared: RunComparison) -> Table:
    """Every metric of both sides, below what it is of, and why some are missing."""
    reasons: dict[str, list[str]] = {}
    for item in compared.metrics:
        if item.reason:
            reasons.setdefault(item.reason, []).append(defined(item.metric).label)
    return table(
        "figures",
        "Every figure",
        compared.metrics,
        _FIGURES,
        groups=tuple(METRICS[item.metric].statistic for item in compared.metrics),
        notes=tuple(f"{units.listed(names)}: {why}." for why, names in reasons.items()),
    )


def against_first(compared: Sequence[AgainstFirst], titles: Sequence[str]) -> Answer:
    """Return the answer for several runs, each compared with the first one.

    Args:
      titles: what the runs are called, the first one included.
    """
    first, *others = titles
    rows = each_row(compared)
    columns = (
        *_FIGURES[:2],
        Column("first", first, "number"),
        *(
            Column(f"run_{index}", title, "figure", value=partial(_other_run_text, place=index))
            for index, title in enumerate(others)
        ),
    )
    warnings = [
        f"{item.name}: {warning}"
        for item in compared
        for warning in (item.compared.warnings if item.compared else ())
    ]
    groups = tuple(METRICS[row.metric].statistic for row in rows)
    return Answer(
        "against_first",
        tuple(_against(compared)),
        warnings=tuple(warnings),
        parts=(
            table("each", "Each run against the first", rows, columns, groups=groups,
                  notes=(_ONE_RUN_EACH,)),
        ),
    )  # fmt: skip


def _against(compared: Sequence[AgainstFirst]) -> Iterator[str]:
    """What is said of each run as B, the first one being A."""
    for item in compared:
        yield Bold(item.name)
        if item.compared is None:
            yield f" cannot be compared: {item.reason} "
        else:
            verdict, rest = answer(item.compared)
            first = item.compared.a[0].name
            yield f" as B, {first} as A: {verdict[0].lower()}{verdict[1:]}{rest} "


def _other_run_text(row: EachRow, *, place: int) -> str | None:
    """The number of a further run, and its change."""
    change: MetricChange | None = row.others[place]
    return f"{units.number(change.b)} ({change_text(change)})" if change else None


def spec_fields(
    a: Mapping[str, Any] | None,
    b: Mapping[str, Any] | None,
    *,
    is_one_run: bool = False,
    has_all: bool = False,
) -> Part:
    """Return the fields in which two specs differ; after them the equal ones if `has_all`.

    The plan of changes belongs to the run: of its segments, only the first one has it.
    """
    title = "Differences between the specs"
    without = [side for side, spec in (("A", a), ("B", b)) if not spec]
    if not a or not b:
        which = f"run {without[0]} has no" if len(without) == 1 else "neither run has a"
        return Missing("spec", title, f"{which} recorded spec")
    left, right = flatten(a), flatten(b)
    fields = list(left | right)
    left_out = {"reconfigure"} if is_one_run else set()
    differ = [name for name in fields if left.get(name) != right.get(name) and name not in left_out]
    equal = [name for name in fields if name not in differ] if has_all else []
    columns = (
        Column("field", "Field", value=str),
        Column("a", "A", "names", value=lambda name: text_of_field(left, name)),
        Column("b", "B", "names", value=lambda name: text_of_field(right, name)),
    )
    groups = ("Different",) * len(differ) + ("Equal",) * len(equal)
    return table(
        "spec",
        title,
        [*differ, *equal],
        columns,
        groups=groups if has_all else (),
        depths=() if has_all else (0,) * len(differ),
        empty="None: both specs are equal.",
    )


def changed_lines(a: Mapping[str, str], b: Mapping[str, str]) -> Part:
    """Return how the files of a program differ, as far as both runs have recorded them."""
    title = "Changed lines"
    files = files_of_both(a, b)
    if not files:
        return Missing("lines", title, "the source was not recorded in both runs")
    names = units.listed([file.rpartition("/")[2] for file in files])
    lines = difference(a, b)
    if not lines:
        return Difference("lines", title, (), notes=(f"None: {names} did not change.",))
    notes = [f"A has the lines with -, B those with +, as each has recorded {names}."]
    if len(lines) > MOST_CHANGED:
        notes.append(f"The first {MOST_CHANGED} of {len(lines):,} lines.")
    return Difference("lines", title, tuple(lines[:MOST_CHANGED]), notes=tuple(notes))


def fields_of(compared: RunComparison) -> Part:
    """Return the differences between the specs, or the lines, of the first run of each side."""
    a, b = compared.a[0], compared.b[0]
    if compared.is_one_program:
        return changed_lines(a.sources, b.sources)
    return spec_fields(a.spec, b.spec, is_one_run=compared.is_one_run)
