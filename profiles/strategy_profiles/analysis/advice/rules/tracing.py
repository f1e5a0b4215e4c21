"""The first step, which traces, is a large part of the run.

## What it does

Takes the first step, without what the lab's recorder does in it, if it is 20 % of the loop or more.
If half of it or more is the wait for the first batch, says so. Where a Python loop puts the ops of
a line into the graph 16 times or more, as the names of their gradients show, names the line: layers
of their own would have as many variables. Of a program whose variables are not known, 64 times. If
a recorded program trains three times or more, each time with such a first step, says that. Names
the line of a Keras layer with `unroll=True`.

## Why is this slow

The first step builds and compiles the program, and waits for the first batch: a shuffle buffer is
filled before. A program that divides the time of all steps by their number counts it as a step; the
lab's times of a step do not include it, its shares of the loop do.

## What to do

Record more steps: its share falls. If the first batch comes late, make the shuffle buffer smaller,
or do less for each of its elements. Write a long loop with `tf.range`: its graph has one iteration,
while TensorFlow unrolls a loop over Python numbers. A program that makes model after model spends
less on their first steps if it makes one, and sets its variables before each training.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.analysis.program_loops import loops_of_gradients
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import UNROLLS
from strategy_profiles.run.tensorflow_names import OPTIMIZER

KEY = "tracing"
ROWS = ("loop/first",)
NO_GAIN = "The first step is left out of a replay."
LONG_FIRST_STEP = 0.2
"""Share of the loop."""
MOST_OF_STEP = 0.5
UNROLLED, UNROLLED_OF_UNKNOWN = 16, 64
"""Times that a Python loop puts an op into the graph, at least; the second one if the number of
variables is unknown: models of that many layers of a kind are rare."""
NOT_UNROLLED = "Write the loop with tf.range first"
"""Begins the advice on a graph of many ops whose loop is unrolled: XLA would compile each."""
OPS_OF_UPDATE = 5
"""Ops of one type that an update has for each variable, at most."""
_GIVES_UNROLL = re.compile(r"[(,]\s*unroll\s*=\s*(?!False)")
_GRADIENT = "gradient_tape"
_NUMBER = re.compile(r"_\d+$")
SEVERAL = 3
"""Trainings of a program, one after the other."""


def find(facts: Facts) -> Iterator[Finding]:
    first, loop_ms = facts.account.first_ms, facts.account.loop_ms
    if not loop_ms or facts.steps.count < 2 or first / loop_ms < LONG_FIRST_STEP:
        return
    num_steps = facts.steps.num_warm_up
    what = "The first step" if num_steps == 1 else f"The first call, of {num_steps} steps,"
    waited_ms = float(np.nan_to_num(facts.steps.input_ms[0]))
    reason = _reason(facts, waited_ms, is_wait=waited_ms >= MOST_OF_STEP * first)
    yield finding(
        facts,
        KEY,
        f"{what} took {units.seconds(first / 1e3)}, {units.share(first / loop_ms)} of "
        f"{facts.loop_name}{reason.why} Times of a step do not include it.",
        reason.advice,
        over_all_steps(facts, first),
        once_ms=first,
        first_batch_ms=waited_ms,
        **reason.evidence,
    )


class _Reason(NamedTuple):
    why: str
    """The end of the sentence."""
    advice: str
    evidence: dict[str, Any]


def _reason(facts: Facts, waited_ms: float, *, is_wait: bool) -> _Reason:
    """Why the first step is long. `comes_back`: so is that of each further model of the program.
    `can_be_mended`: by something else than more steps."""
    if facts.num_trained >= SEVERAL:
        at = facts.said_at("tf.function", ".compile(")
        made = f" The function is made{at}." if at else ""
        return _Reason(
            f". The program trains {facts.num_trained} times, each time with another function "
            f"of the step, and each begins with such a step, which traces it.{made}",
            "Make and compile one model, or in a custom loop one tf.function for the step, and set "
            "the weights and those of the optimizer before each training.",
            {"comes_back": True, "can_be_mended": True},
        )
    if is_wait:
        return _Reason(
            f": {units.seconds(waited_ms / 1e3)} of it until the first batch was there. In the "
            "rest it traces and compiles the program.",
            "Make the first batch quicker: shuffle() fills its whole buffer before, so give it a "
            "smaller one, or shuffle file names or indices before the work of map().",
            {"comes_back": False, "can_be_mended": True},
        )
    found = unrolled(facts)
    loop = facts.read_unrolled_loop(found[0]) if found else None
    at = facts.said_at(*UNROLLS) or (_at_unroll(facts) if found else "")
    if at and loop is None:
        return _of_recurrent_layer(at)
    if found:
        (line, num_times), of_ops = found, Path(found[0]).name
        if loop is None and (calls := _of_gradients(facts, line)):
            return _Reason(
                f": the graph has the gradients of {of_ops} {num_times:,} times, because a Python "
                f"loop calls the tape's gradient() at {units.listed(calls)}, and each call adds "
                "its own ops.",
                "Compute the gradients of all outputs in one call: tape.batch_jacobian(), or "
                "tape.jacobian(). Record more steps to see what limits a usual one.",
                {"comes_back": False, "can_be_mended": True, "place": calls[0]},
            )
        which = f"the Python loop at {loop}" if loop else "a Python loop"
        return _Reason(
            f": the graph has the ops of {of_ops} {num_times:,} times, because TensorFlow unrolls "
            f"{which}, and traces and compiles each iteration.",
            "Loop with tf.range inside the tf.function (also tf.scan, tf.map_fn or a Keras RNN): "
            "its graph has one iteration. Record more steps to see what limits a usual one.",
            {"comes_back": False, "can_be_mended": True, "place": loop or of_ops},
        )
    return _Reason(
        ", because it includes what is done only once, such as tracing and compiling.",
        "Record more steps: a long first step is normal, and its share falls.",
        {"comes_back": False, "can_be_mended": False},
    )


def _at_unroll(facts: Facts) -> str:
    """` at train.py:12 (`line`)`, of the first line that gives a layer `unroll`; or nothing."""
    line = facts.first_line_of_sources(_GIVES_UNROLL)
    return f" at {line.place} (`{line.text.strip()}`)" if line else ""


def _of_recurrent_layer(at: str) -> _Reason:
    return _Reason(
        f", because the graph has every time step of the recurrent layer{at}: TensorFlow traces "
        "and compiles each.",
        "Let unroll be False, as it is by default: the graph then has a loop of one time step. "
        "Record more steps to see what limits a usual one.",
        {"comes_back": False, "can_be_mended": True},
    )


def _of_gradients(facts: Facts, line: str) -> list[str]:
    """The loops that ask a tape for gradients, in the file of a line, as `train.py:32`."""
    file = line.rpartition(":")[0]
    loops = loops_of_gradients(facts.sources.get(file, ""))
    return [f"{Path(file).name}:{number}" for number in loops]


def unrolled(facts: Facts) -> tuple[str, int] | None:
    """The line whose ops a loop of Python has put into the graph many times, and how many times;
    None if there is no such line.

    TensorFlow numbers the calls of a function in the scopes of their ops: `gru_cell_35` is the 36th
    call. Ops of one line and scope that differ in this number alone are counted. Layers are
    numbered as well (`conv2d_93`), but a layer of which a model has many has variables, so only a
    count above the number of variables is one of calls. Gradients are counted first: an optimizer,
    whose scope may have any name, has some ops of a type for each variable.
    """
    times, of_others = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    for name, line in facts.line_of.items():
        path = tuple(name.split("/"))
        is_gradient = _GRADIENT in path
        if not is_gradient and any(map(OPTIMIZER.fullmatch, path)):
            continue
        counts = times if is_gradient else of_others
        for at in range(path.index(_GRADIENT) + 1 if is_gradient else 0, len(path)):
            # the runtime's `while_grad/enter/_22` is no call
            if plain := _NUMBER.sub("", path[at]):
                counts[line, path[:at], plain, path[at + 1 :]] += 1
    num_variables = facts.placed.num_variables
    fewest = max(UNROLLED, num_variables + 1) if num_variables else UNROLLED_OF_UNKNOWN
    num_ops = Counter(facts.line_of.values())
    often = [(num_ops[line], num, line) for (line, *_), num in times.items() if num >= fewest]
    if not often and num_variables:
        fewest = max(UNROLLED_OF_UNKNOWN, OPS_OF_UPDATE * num_variables + 1)
        often = [
            (num_ops[line], num, line) for (line, *_), num in of_others.items() if num >= fewest
        ]
    _, num_times, line = max(often, default=(0, 0, ""))
    return (line, num_times) if line else None


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """Ten times as many steps."""
    return {"steps": 10 * facts.steps.count}
