"""What a line of the program does: it waits, runs ops, or is in a loop of Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from strategy_profiles.analysis import line_work as module
from strategy_profiles.analysis.advice.line_advice import advice_on_line
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.line_work import LineWork, line_work
from strategy_profiles.analysis.program_loops import (
    ignores_context,
    loop_calling,
    loops_of_gradients,
    tape_of_all_steps,
)
from strategy_profiles.run.event_parts import SourceLine, StackFrame, StackPlace
from strategy_profiles.run.stacks import Stacks
from strategy_profiles.tables.store import Profile

TRAIN = "/home/me/train.py"
TEXT = """
def weigh(rows):
    total = 0.0
    for row in rows:
        total += row.weight
    return [each / total for each in rows]


def batches(files):
    for file in files:
        yield decode(file)


def main():
    for batch in batches(FILES):
        step(batch)
        weigh(batch)
"""


def _regions(text: str, line: int, doing: str, cores: float, function: str) -> Any:
    """Ten samples in steps, then ten at a line; one at the edge of a step is at that line, too."""
    places = [
        StackPlace("function", "", "call", [StackFrame(TRAIN, 16, "main")]),
        StackPlace(
            doing, "", "", [StackFrame(TRAIN, 17, "main"), StackFrame(TRAIN, line, function)]
        ),
    ]
    place = np.array([0] * 15 + [1] * 11)
    stacks = SimpleNamespace(
        places=places,
        place=place,
        for_ms=np.full(len(place), 100.0),
        cpu_ms=np.full(len(place), 100.0 * cores),
        sources={TRAIN: text} if text else {},
    )
    is_step = np.arange(len(place)) < 16
    none = np.zeros(len(place), bool)
    return SimpleNamespace(
        stacks=cast(Stacks, stacks), is_step=is_step, is_first=none, is_between=~is_step
    )


def _work(
    monkeypatch: pytest.MonkeyPatch,
    line: int,
    text: str = TEXT,
    doing: str = "python",
    cores: float = 1.0,
    function: str = "",
) -> LineWork:
    regions = _regions(text, line, doing, cores, function)
    monkeypatch.setattr(module, "regions_of", lambda *_: regions)
    return line_work(cast(Profile, None), 0, TRAIN, line)


@pytest.mark.parametrize(
    ("line", "loop"),
    [(5, 4), (6, 6), (4, 4), (3, None), (11, None), (17, None)],
    ids=[
        "in a loop",
        "a comprehension",
        "the head of a loop",
        "no loop",
        "a generator",
        "the loop that does the steps",
    ],
)
def test_a_loop_of_python_is_known_by_the_recorded_text(
    line: int, loop: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _work(monkeypatch, line).loops
    assert [each.line for each in found] == ([loop] if loop else [])


def test_a_loop_that_searches_a_list_is_known_by_its_in(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXT.replace("total += row.weight", "total += row in seen")
    found = _work(monkeypatch, 5, text).searches
    assert found == SourceLine(TRAIN, 5, "        total += row in seen")
    of_a_range = TEXT.replace("total += row.weight", "total += row in range(9)")
    assert _work(monkeypatch, 5, of_a_range).searches is None


UNROLLED = """
def forward(x):
    return x @ w


def loss(x):
    return forward(x) ** 2


@tf.function
def step(xs):
    for i in range(96):
        total += loss(xs[i])
    for i in tf.range(9):
        total += loss(xs[i])


for batch in data:
    step(batch)
"""


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        (UNROLLED, 12),
        (UNROLLED.replace("range(96)", "tf.range(96)"), None),
        (UNROLLED.replace("tf.range(9)", "range(9)"), None),
        (UNROLLED.replace("loss(xs[i])", "xs[i]"), None),
    ],
    ids=["one loop", "only loops in the graph", "two loops", "no loop that leads to the line"],
)
def test_the_loop_that_calls_a_line_is_found_by_the_names_of_functions(
    text: str, loop: int | None
) -> None:
    assert loop_calling(text, 3, {19}) == loop


def test_a_function_that_calls_itself_ends_the_search_for_a_loop() -> None:
    assert loop_calling("def f(x):\n    return f(x)\n", 2, ()) is None


@pytest.mark.parametrize("text", ["", "for x in", "x = '\0'"])
def test_without_the_text_of_a_program_no_loop_is_known(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _work(monkeypatch, 5, text).loops == ()


def test_a_line_runs_ops_or_waits_as_its_samples_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _work(monkeypatch, 5) == LineWork(loops=(SourceLine(TRAIN, 4, "    for row in rows:"),))
    assert _work(monkeypatch, 3, doing="op") == LineWork(runs_ops=True, num_ops=1)
    assert _work(monkeypatch, 3, cores=0.1) == LineWork(waits=True)


def test_the_function_of_ops_is_named_unless_it_reads_results_or_calls_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _work(monkeypatch, 5, doing="op", function="Model.weigh").function == "weigh"
    reading = TEXT.replace("row.weight", "float(row.weight)")
    assert _work(monkeypatch, 5, reading, doing="op", function="weigh").function is None
    assert _work(monkeypatch, 17, doing="op", function="main").function is None
    assert _work(monkeypatch, 5, function="weigh").function is None, "it runs no ops"


def _facts(work: LineWork, text: str = "") -> Facts:
    return cast(
        Facts,
        SimpleNamespace(
            read_line_work=lambda *_: work,
            sources={TRAIN: text},
            first_line_of_sources=lambda _: None,
        ),
    )


LOOP = SourceLine(TRAIN, 4, "    for row in rows:")
WEIGHTS = SourceLine(TRAIN, 4, "    for old, new in zip(kept, net.get_weights()):")
RANGE = SourceLine(TRAIN, 5, "        for i in range(len(row)):")


@pytest.mark.parametrize(
    ("text", "work", "remedy"),
    [
        ("total += weight", LineWork(loops=(LOOP,)), "train.py:4 (`for row in rows:`) is Python"),
        ("a = np.dot(row, row)", LineWork(loops=(RANGE,)), "one call on whole arrays"),
        ("a = np.dot(row, row)", LineWork(loops=(LOOP,)), None),
        ("out[i] = last", LineWork(loops=(LOOP, RANGE)), "in place of one of them"),
        ("old *= 0.9", LineWork(loops=(WEIGHTS,)), "use_ema=True"),
        ("h = tf.tanh(x @ w + h)", LineWork(runs_ops=True, num_ops=3, function="scan"), "`scan`"),
        ("tf.gather(self.rows, at)", LineWork(runs_ops=True, num_ops=1), "a NumPy array"),
        ("tf.norm(row)", LineWork(runs_ops=True, loops=(LOOP,)), "with the loop at train.py:4"),
        (
            "count(x)",
            LineWork(reads_dataset=True, loops=(LOOP,)),
            "a whole dataset again in each turn",
        ),
        ("out[i] = 1", LineWork(loops=(LOOP,), searches=LOOP), "a set or a dict finds one at once"),
        ("turn()", LineWork(waits=True), "hardly any processor time"),
        ("other.set_weights(net.get_weights())", LineWork(), "in one tf.function"),
        ("row = self.frame.iloc[number]", LineWork(), "to_numpy()"),
        ("with open(path) as file:", LineWork(), "The line reads"),
        ("turn()", LineWork(), None),
    ],
)
def test_a_remedy_is_that_of_what_the_line_says_or_does(
    text: str, work: LineWork, remedy: str | None
) -> None:
    found = advice_on_line(_facts(work), StackFrame(TRAIN, 5, "weigh", text))
    assert found is None if remedy is None else remedy in (found or "")


def test_a_statement_of_several_lines_has_one_remedy_on_each_of_them() -> None:
    text = "def follow():\n    new = [t + o\n           for o, t in zip(a.get_weights(), b)]\n"
    for number, line in enumerate(text.splitlines()[1:], 2):
        remedy = advice_on_line(_facts(LineWork(), text), StackFrame(TRAIN, number, "f", line))
        assert "in one tf.function" in (remedy or "")
    head = "for x in rows:\n    a.set_weights(x)\n"
    line = StackFrame(TRAIN, 1, "f", "for x in rows:")
    assert advice_on_line(_facts(LineWork(), head), line) is None, "its body has its own lines"


def test_what_is_done_once_has_no_remedy_for_each_step() -> None:
    facts = _facts(LineWork())
    line = StackFrame(TRAIN, 5, "main", "model = keras.Sequential(layers)")
    assert "before the loop" in (advice_on_line(facts, line) or "")
    assert advice_on_line(facts, line, each_step=False) is None


@pytest.mark.parametrize(
    ("function", "ignores"),
    [
        ("def value(ctx):\n    return tf.constant(x), tf.constant(y)\n", True),
        ("def value(ctx):\n    return parts[ctx.replica_id_in_sync_group]\n", False),
        ("parts = [x for _ in range(2)]\ndef value(ctx):\n    return parts[ctx.id]\n", True),
        ("parts = [x] * 2\ndef value(ctx):\n    return parts[ctx.id]\n", True),
        ("parts = [x, x]\ndef value(ctx):\n    return parts[ctx.id]\n", True),
        ("parts = [x, y]\ndef value(ctx):\n    return parts[ctx.id]\n", False),
        ("parts = [x[n] for n in range(2)]\ndef value(ctx):\n    return parts[ctx.id]\n", False),
        ("parts = [x, x]\nparts = cut(x)\ndef value(ctx):\n    return parts[ctx.id]\n", False),
        ("def value(ctx):\n    return next(stream)\n", False),
        ("def value(ctx):\n    return tf.random.normal([4])\n", False),
    ],
)
def test_a_function_that_ignores_its_context_gives_all_replicas_the_same(
    function: str, ignores: bool
) -> None:
    call = "batch = strategy.experimental_distribute_values_from_function(value)"
    assert ignores_context(function + call, len(function.splitlines()) + 1) is ignores
    shortened = call.replace("value)", "lambda _: tf.constant(x))")
    assert ignores_context(shortened, 1)
    assert not ignores_context("strategy.experimental_distribute_values_from_function(value)", 1)


def test_loops_that_ask_a_tape_for_gradients_are_found() -> None:
    text = """
def derivatives(net, x):
    for k in range(3):
        parts.append(tape.gradient(y[k], x))
    more = [outer.gradient(part, x) for part in parts]
    for k in tf.range(3):
        last = tape.gradient(y[k], x)
    for part in parts:
        print(part)
"""
    assert loops_of_gradients(text) == [3, 5]


TAPE = """
with tf.GradientTape(persistent=True) as tape:
    for x in rows:
        loss, state = net(x, state)
        with tape.stop_recording():
            grads = tape.gradient(loss, net.weights)
            optimizer.apply_gradients(zip(grads, net.weights))
"""


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, 2),
        ({"optimizer.apply_gradients": "kept.append"}, None),
        ({"tape.gradient": "inner.gradient"}, None),
        ({"    for x in rows:": "    if rows:"}, None),
    ],
    ids=["all steps", "no update", "another tape", "no loop"],
)
def test_a_tape_that_is_open_around_all_steps_is_found(
    changed: dict[str, str], line: int | None
) -> None:
    text = TAPE
    for old, new in changed.items():
        text = text.replace(old, new)
    assert tape_of_all_steps(text, 6) == line
    at = StackFrame(TRAIN, 6, "f", text.splitlines()[5])
    assert ("by tf.stop_gradient()" in (advice_on_line(_facts(LineWork(), text), at) or "")) == (
        line is not None
    )
