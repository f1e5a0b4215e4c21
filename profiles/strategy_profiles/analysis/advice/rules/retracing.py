"""A `tf.function` is traced again and again.

## What it does

Looks for two or more steps after the first in which a function is traced again, and names the
argument that changed, or the line that makes a new function for each call. Of a function that Keras
makes, names the line that calls `compile()`, which throws it away. Between steps it looks
for tracing that comes back, with its line: 5 % of the loop or more.

## Why is this slow

Tracing runs the Python of the function and builds a new graph, often a hundred times as long as a
step.

## What to do

Create each `tf.function` once, pass changing numbers as tensors, and give changing shapes an
`input_signature`. Build and compile a Keras model once: `compile` throws its functions away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.rows import at_line, how_long, large_rows, main_line
from strategy_profiles.analysis.cost import Cost, Source
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    over_all_steps,
    per_step,
)
from strategy_profiles.reporting import units
from strategy_profiles.run.events import COMPILED_AGAIN, MADE_AGAIN, SHAPE_CHANGES, VALUE_CHANGES

KEY = "retracing"
ROWS = ("loop/steps/tracing", "loop/steps/idle", "loop/steps", "loop/between/tracing")
NO_GAIN = "Steps that trace are left out of a replay."
NO_NAME = "a tf.function"
"""Name of a traced function that the recorder did not see."""
FEWEST_RETRACES = 2
GATHER = "Strategy.gather"
OF_CHANGES = {
    VALUE_CHANGES: "Pass changing numbers as tensors (tf.constant, tf.Variable){which}.",
    SHAPE_CHANGES: (
        "Give the tf.function an input_signature with None for the sizes that change, or "
        "reduce_retracing=True, or pad the batches to a few lengths."
    ),
}
_NEARLY_ALL = 0.9
"""Part of the captured steps that trace, from which on what they have in common is tracing's."""
_FEWEST_OTHERS = 5
"""Steps that are not traced, from which on these tell how long a step is without."""
_VALUE = re.compile(rf"argument `(\w+)` {VALUE_CHANGES}")
_OF_KERAS = ("one_step_on_data", "one_step_on_iterator", "multi_step_on_iterator")
"""Functions that Keras makes for a model: it makes another after each compile()."""
_GATHER_INSIDE = (
    "Call strategy.gather within the tf.function of the step: outside of one, TensorFlow makes a "
    "new function for each value that it gathers, and traces it."
)


_VECTORIZES = re.compile(r"\.(?:batch_)?jacobian\(|\bvectorized_map\(")
_VECTORIZED_INSIDE = (
    "Put @tf.function on the function that calls this line: outside of one, jacobian() and "
    "tf.vectorized_map() make a new function in each call, and trace it."
)


def find(facts: Facts) -> Iterator[Finding]:
    """A function that is traced again and again; the first step's tracing is no fault."""
    between = next((row for row in large_rows(facts, "tracing") if _comes_back(row)), None)
    in_steps = _in_steps(facts)
    if in_steps is None and between is None:
        return
    argument = facts.retracing.argument if in_steps else None
    said, name, cost, building_ms = in_steps or ("", "", None, None)
    row = facts.account.row("loop/steps/tracing") if in_steps else None
    place, is_gather = main_line(facts, row).place if row else None, False
    if between is not None:
        line = main_line(facts, between)
        place, is_gather = place or line.place, in_steps is None and line.call == GATHER
        subject = (
            "Tracing between steps" if in_steps else "Functions are traced again between steps: it"
        )
        said = (
            f"{said} {subject} takes {how_long(facts, between)}{at_line(facts, between)}.".strip()
        )
        cost = _sum(facts, cost, between)
    yield finding(
        facts,
        KEY,
        said,
        _GATHER_INSIDE if is_gather else _about_tracing(facts, argument, name, between),
        cost,
        place=place,
        function=name or None,
        num_steps=len(facts.retracing.steps),
        argument=argument,
        building_ms=building_ms,
    )


def _comes_back(row: Row) -> bool:
    return (row.num_times or 0) >= FEWEST_RETRACES


def _sum(facts: Facts, cost: Cost | None, between: Row) -> Cost | None:
    in_steps_ms = cost.ms * facts.account.num_steps if cost else 0.0
    return facts.account.cost(in_steps_ms + between.total_ms, "sampled")


def _in_steps(facts: Facts) -> tuple[str, str, Cost | None, float | None] | None:
    """What is said of the steps in which a function is traced again, its name, what it costs, and
    the building of its graph in a captured step; None if there are not enough."""
    traced, steps = facts.retracing, facts.steps
    captured = facts.held_up.of_kind("tracing")
    wall, building_ms = facts.breakdown.mean_ms("wall"), facts.held_up.held_ms("tracing")
    name = traced.function or (captured[0].name if captured else "")
    if len(traced.steps) >= FEWEST_RETRACES:
        count = (
            f"{len(traced.steps):,} of the {units.counted(steps.count - 1, 'step')} after the first"
        )
    elif captured and captured[0].num_steps >= FEWEST_RETRACES and not _is_of_predict(facts, name):
        count = (
            f"{captured[0].num_steps} of {units.counted(facts.held_up.num_steps, 'captured step')}"
        )
    else:
        return None
    row = facts.account.row("loop/steps/tracing")
    at = at_line(facts, row) if row else ""
    why = f": {traced.argument}" if traced.argument else ""
    said = f"{name} is traced again in {count}{at}{why}."
    if not building_ms or not wall:
        return said, name, _longer_than_the_others(facts), None
    said = f"{said} Building its graph takes {of_a_step(facts, building_ms, wall)}"
    is_all = bool(captured) and captured[0].num_steps >= _NEARLY_ALL * facts.held_up.num_steps
    preparing_ms = _preparing_ms(facts) if is_all else 0.0
    if preparing_ms:
        said = (
            f"{said}, and preparing it for its first run another {units.share(preparing_ms / wall)}"
        )
    source: Source = "derived" if preparing_ms else "measured"
    cost = per_step(facts, building_ms + preparing_ms, wall, source)
    return f"{said}.", name, _longer_than_the_others(facts) or cost, building_ms


def _preparing_ms(facts: Facts) -> float:
    """Time of a captured step in which no replica runs anything and no Python is traced: a new
    graph is optimized and placed before its first op runs."""
    idle_ms = facts.breakdown.mean_ms("idle") or 0.0
    return max(0.0, idle_ms - facts.held_up.held_ms("tracing"))


def _is_of_predict(facts: Facts, name: str) -> bool:
    """Whether calls of predict() or evaluate() in the steps, or in their input, trace functions of
    no name: each call makes a data set with some."""
    inside = facts.read_python_in_ops(0)
    if name == NO_NAME and inside and re.search(r"\.(predict|evaluate)\(", inside.line.text):
        return True
    within = (facts.account.row(f"loop/steps/{kind}") for kind in ("predict", "validation"))
    return name == NO_NAME and any(row is not None for row in within)


def _longer_than_the_others(facts: Facts) -> Cost | None:
    """What the traced steps took beyond the median of the others; None if nearly all are traced."""
    steps = facts.steps
    is_traced = np.isin(steps.step, facts.retracing.steps)
    others = ~is_traced & (np.arange(steps.count) >= steps.num_warm_up)
    if not is_traced.any() or others.sum() < _FEWEST_OTHERS:
        return None
    longer = steps.wall_ms[is_traced] - float(np.median(steps.wall_ms[others]))
    return over_all_steps(facts, float(longer[longer > 0].sum()), "derived")


def _about_tracing(facts: Facts, argument: str | None, name: str, between: Row | None) -> str:
    row = between or facts.account.row("loop/steps/tracing")
    if row is not None and _VECTORIZES.search(main_line(facts, row).text or ""):
        return _VECTORIZED_INSIDE
    is_of_keras = argument is None and name in _OF_KERAS
    if argument == COMPILED_AGAIN or is_of_keras or not name:
        compiled = facts.said_at(".compile(")
        not_there = f", not{compiled}" if compiled else ""
        return (
            f"Build and compile the model once, before the loop{not_there}: "
            "compile throws the functions of "
            "fit, evaluate and predict away. A new learning rate needs no compile: assign "
            "model.optimizer.learning_rate. A training that begins with new weights, such as that "
            "of a fold, needs no new model: after model.optimizer.build(model.trainable_variables) "
            "keep the first values of model.weights and model.optimizer.variables, and assign them "
            "again. Create each tf.function once, outside the loop."
        )
    if argument is None or argument.startswith(MADE_AGAIN):
        return (
            "Create each tf.function once, outside the loop, and pass it tensors: it is "
            "traced again for a new Python value or shape."
        )
    values = [f"`{name}`" for name in _VALUE.findall(argument)]
    which = f": {units.listed(values)}" if values else ""
    remedies = [words for change, words in OF_CHANGES.items() if change in argument]
    return " ".join(remedies or OF_CHANGES.values()).format(which=which)
