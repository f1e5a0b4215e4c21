"""Validation takes a large part of the loop.

## What it does

Takes the time between steps that Keras's `evaluate` runs, as a part of `fit` or called by the
program, or that lines and functions named after validation run: 5 % of the loop or more. Nothing if
tracing of functions on the same line takes longer: `retracing` says that, and most of what is left
is the preparing of the new graph.

## Why is this slow

No replica trains meanwhile.

## What to do

Validate less often (`validation_freq`), or on fewer batches (`validation_steps`). `cache()` and
`prefetch()` the validation data, and map it in parallel. `fit` validates arrays in batches of its
own batch size: where computation is a small part of a step, larger ones take far less in all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.rows import (
    anywhere,
    large_rows,
    main_line,
    rows_anywhere,
    rows_as_finding,
)
from strategy_profiles.analysis.facts import Facts, Finding
from strategy_profiles.reporting import units

KEY = "validation"
ROWS = anywhere("validation")
NO_GAIN = "What runs between the steps is not an op of the replayed step."
LESS_OFTEN = "validate less often (validation_freq) or on fewer batches (validation_steps)"
OF_DATA = "cache() and prefetch() the validation data, and map() it in parallel."
OF_CACHED = "make the validation dataset once, as a new one fills its cache() again."
IN_LARGER_BATCHES = (
    "Validate in larger batches, as little of a step{of} is computation: fit() takes its own batch "
    "size for arrays, unless it has validation_batch_size, such as 512; a dataset needs another "
    "batch(). "
)
BY_OWN_LOOP = (
    "Validate less often, on fewer examples or in larger batches, with all of a batch in one call "
    "of a tf.function."
)
OF_EVALUATE = (
    f"Evaluate less often, on fewer batches (steps) or larger ones (batch_size); {OF_DATA}"
)
_OWN_EVALUATE = re.compile(r"\bdef evaluate\(")
AS_IN_TRAINING = (
    "The steps wait for their data most of the time: what makes that faster, which another finding "
    "says, mostly makes validation faster, too."
)
WAITS = 0.5
"""Share of the steps from which on they mostly wait for their data."""
LITTLE = 0.5
"""Share of the steps that is computation, below which larger batches take less time in all."""


def find(facts: Facts) -> Iterator[Finding]:
    rows = rows_anywhere(facts, "validation")
    if rows and not _traces_longer(facts, main_line(facts, *rows)):
        yield from rows_as_finding(facts, KEY, "validation", "Validation takes", _advice(facts))


def _traces_longer(facts: Facts, line: Row) -> bool:
    """Whether functions are traced on a line for longer than it validates."""
    traced = (main_line(facts, row) for row in large_rows(facts, "tracing"))
    return any(
        each.place == line.place is not None and each.total_ms >= line.total_ms for each in traced
    )


def _part_of_steps(facts: Facts, kind: str) -> float:
    part, steps = facts.account.row(f"loop/steps/{kind}"), facts.account.row("loop/steps")
    return part.total_ms / steps.total_ms if part and steps and steps.total_ms else 0.0


def _advice(facts: Facts) -> str:
    of_keras = facts.lines_with("validation_data", "validation_split", ".evaluate(")
    if facts.lines and (not of_keras or facts.first_line_of_sources(_OWN_EVALUATE)):
        return BY_OWN_LOOP
    if _part_of_steps(facts, "input") > WAITS:
        return f"{AS_IN_TRAINING} Or {LESS_OFTEN}."
    of_data = OF_CACHED if facts.lines_with(".cache(") else OF_DATA
    computed = _part_of_steps(facts, "compute")
    if not computed or computed >= LITTLE:
        also = "on larger ones (validation_batch_size)"
        return f"{LESS_OFTEN[0].upper()}{LESS_OFTEN[1:]}, or {also}; {of_data}"
    size = facts.segment.global_batch_size
    of = f" of {units.counted(size, 'example')}" if size else ""
    return f"{IN_LARGER_BATCHES.format(of=of)}Or {LESS_OFTEN}; {of_data}"
