"""The loop stalls when an epoch begins.

## What it does

Takes the time between steps in which the program makes an iterator over its data, or frees the last
one: 5 % of the loop or more, and more than once. It is sampled, at the line of the program that
iterates, as is an iterator that is made within each step. In Keras's `fit` the step itself waits
for the first batch of an epoch: what the first steps of epochs are longer than others counts, at
the line of the pipeline's Python that was sampled for half of it or more, or at the line that calls
`shuffle`, if there is one; if usual steps wait for the same stage, `input-bound` has it. To make or
free an iterator takes twice as long in one run as in another, so that time counts half in the order
of findings.

## Why is this slow

A new iterator starts the input pipeline again: threads, buffers, the first batch. Freeing the last
one waits for the autotuner of tf.data, which wakes 10, 30, 70, ... ms after the start of the epoch,
each time after twice as long, up to a minute. It misses by chance that its iterator is gone, and
then the loop waits until it wakes, for up to the length of the epoch. No replica works meanwhile.

## What to do

Without a strategy of several replicas, switch the autotuner of the data off:
`options = tf.data.Options()`, `options.autotune.enabled = False`, `dataset.with_options(options)`.
`AUTOTUNE` then stays at its first value, and a `map` without `num_parallel_calls` is not made
parallel, so give it that argument. Distributed data has iterators for each device that do not
have this option. Or iterate once, over `dataset.repeat()`, and count the steps of an epoch; in
Keras, `fit` with `steps_per_epoch` over such a dataset, called once and not for each part of the
data. An iterator per step belongs before the loop.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.line_advice import advice_on_python, most_of_python
from strategy_profiles.analysis.advice.rows import at_line, cost_of, how_long, large_rows, main_line
from strategy_profiles.analysis.advice.rules import input_bound
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.python_in_ops import PythonInOps
from strategy_profiles.run.event_parts import SHUFFLE, SourceLine

KEY = "epoch-start"
ROWS = ("loop/between/epoch-start", "loop/steps/epoch-start", "loop/steps/first-batch")
_OF_LISTS = re.compile(r"(?:\brng|random|generator|\bnp|numpy)\w*\.shuffle\(")
_AHEAD = (
    "Do that work once, before training, or for the next epoch in another thread or process while "
    "this one trains."
)
_EPOCHS = 4
"""The place of `epochs` among the arguments of fit()."""
_NO_AUTOTUNE = (
    "Switch the autotuner of the data off, validation data included: options = tf.data.Options(); "
    "options.autotune.enabled = False; dataset = dataset.with_options(options)."
)
_DATASET = re.compile(r"[Dd]ataset|tf\.data\b|Sequence\b")
_OF_ARRAYS = (
    "If fit() is given arrays, make a dataset of them: "
    "dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(32)."
)
_BY_CHANCE = (
    "An iterator is freed only once the autotuner of tf.data wakes, which it does 10, 30, 70, ... "
    "ms after the start of the epoch, each time after twice as long: by chance the loop waits for "
    "that, for up to the length of the epoch."
)
"""`Model::OptimizeLoop` of TensorFlow 2.21 sleeps for a period that doubles, from 10 ms to 60 s. To
cancel it wakes it, but `CancellationManager` sets `IsCancelled()` only after it has called the
callbacks, so the loop may go back to sleep. By strace, the thread that frees an iterator waits for
one whose waits of 0.64 and 1.28 s end by their time limit. With the option, to free 16 iterators
took 0.04 s instead of 3.6 s, and fit() 9.5 and 7.0 s instead of 13.5 and 11.1 s. The iterators that
distribution makes for each device do not have the option of the data."""
_ONE_ITERATOR = (
    "Make one iterator before the loop (`batches = iter(dataset)`), and take each batch from it "
    "(`next(batches)`): a new one starts the pipeline again, with its first elements."
)
_ONE_FIT = (
    "An epoch of this fit() is a step or two, and each epoch makes an iterator: give fit() a "
    "dataset that repeats (`dataset.repeat()`), many steps_per_epoch and fewer epochs; what a "
    "callback does after each epoch, it can do after each batch. Or call train_on_batch(), or a "
    "tf.function in a loop."
)
NO_GAIN = "What runs between the steps is not an op of the replayed step."


def find(facts: Facts) -> Iterator[Finding]:
    first = large_rows(facts, "first-batch", "loop/steps")
    if input_bound.is_behind_first_batches(facts):
        first = []  # one cause, which `input-bound` has
    in_steps, between = large_rows(facts, "epoch-start", "loop/steps"), ROWS[0]
    if in_steps:
        rows = [*in_steps, *filter(None, [facts.account.row(between)])]
        yield _each_step(facts, rows)
        return
    for row in large_rows(facts, "epoch-start"):
        is_each_step = (row.num_times or 0) > facts.account.num_steps / 2
        if first and not is_each_step:
            yield _first_batches(facts, first.pop(), row)
            continue
        if row.num_times == 1:
            continue  # to free an iterator takes from milliseconds to seconds, by chance
        when = "Between steps" if is_each_step else "Between epochs"
        yield finding(
            facts,
            KEY,
            f"{when} the loop stalls while an iterator over the data is made or freed"
            f"{at_line(facts, row)}: {how_long(facts, row)}.",
            _each_time(facts, row) if is_each_step else _one_for_all(facts, row),
            cost_of(facts, row),
            place=row.place,
            by_chance=not is_each_step,
        )
    for row in first:
        yield _first_batches(facts, row)


def _each_step(facts: Facts, rows: Sequence[Row]) -> Finding:
    """An iterator that is made in each step, for one batch."""
    return finding(
        facts,
        KEY,
        f"For each step the program makes an iterator over its data, takes one batch from it and "
        f"frees it{at_line(facts, *rows)}: {how_long(facts, *rows)}.",
        _ONE_ITERATOR,
        cost_of(facts, *rows),
        place=main_line(facts, *rows).place,
    )


def _first_batches(facts: Facts, row: Row, between: Row | None = None) -> Finding:
    """The wait for first batches, with what the iterator itself takes: one cause."""
    where, place, shuffle = at_line(facts, row), row.place, facts.only_line(SHUFFLE)
    why, inside = "the input pipeline starts again and works before it has one", _python(facts, row)
    advice = "Cache what does not change (cache()), prefetch, or iterate once over repeat()."
    if inside is not None:
        place, where = inside.line.place, ""
        why = "Python in the input pipeline works before it has one"
        # Of the lines of a function, the one with most samples is not what is slow.
        advice = f"{_AHEAD}{'' if inside.of_function else advice_on_python(facts)}"
    elif shuffle is not None and not _OF_LISTS.search(shuffle.text):
        place = shuffle.place
        where = f" at {place} (`{shuffle.text.strip()}`)"
        why = "shuffle() fills its buffer again"
        advice = _of_shuffle(facts, shuffle)
    made = f" Making and freeing the iterator takes {how_long(facts, between)}." if between else ""
    if between and facts.segment.num_replicas == 1:
        advice = f"{advice} {_without_autotuner(facts)}"
    return finding(
        facts,
        KEY,
        f"Each epoch begins with a wait for its first batch: {why}{where}: "
        f"{how_long(facts, row)}.{most_of_python(facts) if inside else ''}{made}",
        advice,
        cost_of(facts, row, *([between] if between else [])),
        place=place,
    )


def _python(facts: Facts, row: Row) -> PythonInOps | None:
    """The Python that ops of the pipeline run, if it takes most of the wait for first batches."""
    inside = facts.read_python_in_ops(0)
    is_most = inside is not None and inside.share >= input_bound.MOST_OF_WAIT * facts.account.share(
        row
    )
    return inside if is_most else None


def _of_shuffle(facts: Facts, shuffle: SourceLine) -> str:
    """What to do about a buffer that is filled again, by the calls of map() before it."""
    file, line = shuffle.file, shuffle.line
    before = [call for call in facts.maps if call.at.file == file and call.at.line <= line]
    kept = list(itertools.takewhile(lambda call: not call.draws, before))
    otherwise = "iterate once over repeat(), or give shuffle() a smaller buffer"
    if facts.lines and not facts.maps:
        return f"{otherwise[0].upper()}{otherwise[1:]}."
    where = ", behind the work of map() and before what is random"
    if kept and not facts.lines_with(".cache("):
        where = (
            f", behind map() at {kept[-1].at.place} (`{kept[-1].function}`), which draws nothing"
        )
    return (
        f"cache() what shuffle() takes{where}. Or put shuffle() before that work, on file names or "
        f"indices; where that work is short, {otherwise}."
    )


def _each_time(facts: Facts, row: Row) -> str:
    """How not to make an iterator for each step or two."""
    text = main_line(facts, row).text or ""
    return _ONE_FIT if ".fit(" in text and not _fits_one_epoch(text) else _ONE_ITERATOR


def _one_for_all(facts: Facts, row: Row) -> str:
    """How to have one iterator for all epochs, or one that is freed at once."""
    validates = facts.account.row("loop/between/validation") is not None
    once = _once(main_line(facts, row).text or "", validates=validates)
    if facts.segment.num_replicas > 1:
        return f"{once} {_BY_CHANCE}"
    return f"{_without_autotuner(facts)} Or {once[0].lower()}{once[1:]} {_BY_CHANCE}"


def _without_autotuner(facts: Facts) -> str:
    """How to switch the autotuner off, which also makes the calls of a plain map() parallel.

    A fit() of 7.4 to 7.8 s took 10 s with the option alone, and 4.9 to 5.6 s with parallel calls.
    """
    plain = next((call for call in facts.maps if not call.is_parallel), None)
    if plain is None:
        has_dataset = facts.maps or facts.first_line_of_sources(_DATASET) is not None
        return _NO_AUTOTUNE if has_dataset or not facts.sources else f"{_OF_ARRAYS} {_NO_AUTOTUNE}"
    return (
        f"{_NO_AUTOTUNE} Give map() at {plain.at.place} num_parallel_calls=tf.data.AUTOTUNE then: "
        "without the autotuner, it would call its function for one element at a time."
    )


def _once(text: str, *, validates: bool) -> str:
    """How to have one iterator for all epochs."""
    if _fits_one_epoch(text):
        return (
            "Call fit() once, with `epochs`: each call makes an iterator. Data that comes in "
            "parts can be one dataset (`tf.data.Dataset.from_generator`, `concatenate`)."
        )
    if ".fit(" in text:
        repeat = "give fit() a dataset that repeats (`dataset.repeat()`) and `steps_per_epoch`."
        if validates:
            return f"Validate less often (`validation_freq`), as that makes iterators too; {repeat}"
        return repeat[0].upper() + repeat[1:]
    return "Iterate once over `dataset.repeat()`, and count the steps of an epoch."


def _fits_one_epoch(text: str) -> bool:
    """Whether a whole line calls fit() for one epoch: that is what it does without `epochs`."""
    try:
        tree = ast.parse(text.strip())
    except SyntaxError:  # the line is a part of a statement
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = {each.arg: each.value for each in node.keywords}
            epochs = named.get("epochs", ast.Constant(1))
            is_one = isinstance(epochs, ast.Constant) and epochs.value == 1
            is_one |= "initial_epoch" in named  # `epochs` is the last one, not their number
            if node.func.attr == "fit" and None not in named and len(node.args) < _EPOCHS:
                return is_one
    return False
