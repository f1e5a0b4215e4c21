"""The line that a remedy changes: offered only where it is certain, and said alike everywhere."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import strategy_profiles
from strategy_core.cli.main import main
from strategy_profiles.analysis.advice.changed_line import changed_line
from strategy_profiles.analysis.advice.rules.tracing import NOT_UNROLLED
from strategy_profiles.analysis.facts import Finding
from strategy_profiles.run.event_parts import SourceLine
from tests.synthetic import write_run

AHEAD = "Prepare batches ahead: dataset.prefetch(tf.data.AUTOTUNE), a parallel map, or cache()."
PARALLEL = "Call map() with num_parallel_calls=tf.data.AUTOTUNE, and do less in its function."
MAP = {"stage": "Iterator::Root::Prefetch::Map"}
TF = "x = tf.constant(1)"


def change(
    key: str, lines: Sequence[str], advice: str = "", *, replicas: int = 1, **evidence: Any
) -> str | None:
    recorded = tuple(SourceLine("/p/train.py", n, text) for n, text in enumerate(lines, 1))
    facts: Any = SimpleNamespace(lines=recorded, segment=SimpleNamespace(num_replicas=replicas))
    line = changed_line(facts, Finding(key, 0, "", advice, None, evidence))
    return None if line is None else line.after


@pytest.mark.parametrize(
    ("key", "line", "advice", "evidence", "after"),
    [
        ("input-bound", "    ds = ds.map(decode)", PARALLEL, MAP,
         "    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)"),
        ("input-bound", "ds = ds.map(lambda x: f(x, ')'),).batch(8)", PARALLEL, MAP,
         "ds = ds.map(lambda x: f(x, ')'), num_parallel_calls=tf.data.AUTOTUNE).batch(8)"),
        ("input-bound", "ds = load().batch(32)  # per step", AHEAD, {},
         "ds = load().batch(32).prefetch(tf.data.AUTOTUNE)  # per step"),
        ("epoch-start", "ds = files.map(decode).shuffle(9)", "cache() behind that work", {},
         "ds = files.map(decode).cache().shuffle(9)"),
        ("launch-bound", "@tf.function", "", {}, "@tf.function(jit_compile=True)"),
        ("small-ops", "step = tf.function(step, reduce_retracing=True)", "", {},
         "step = tf.function(step, reduce_retracing=True, jit_compile=True)"),
        ("small-ops", "model.compile('sgd', loss='mse')", "", {},
         "model.compile('sgd', loss='mse', jit_compile=True)"),
        ("dispatch", "model.compile(optimizer=o, loss=l)", "steps_per_execution", {},
         "model.compile(optimizer=o, loss=l, steps_per_execution=10)"),
    ],
)  # fmt: skip
def test_a_call_on_one_line_is_changed_where_it_is(
    key: str, line: str, advice: str, evidence: dict[str, Any], after: str
) -> None:
    assert change(key, [TF, line], advice, **evidence) == after
    program = f"{after.strip()}\ndef step(): pass" if after.startswith("@") else after.strip()
    ast.parse(program)


@pytest.mark.parametrize(
    ("key", "lines", "advice", "evidence"),
    [
        ("input-bound", ["ds = ds.map(f).map(g)"], PARALLEL, MAP),
        ("input-bound", ["ds = ds.map("], PARALLEL, MAP),
        ("input-bound", ["ds = ds.map(f, num_parallel_calls=4)"], PARALLEL, MAP),
        ("input-bound", ["ds = ds.map(f)"], "It runs Python under the GIL.", MAP),
        ("input-bound", ["ds = ds.batch(8)", "ds = ds.prefetch(2)"], AHEAD, {}),
        ("input-bound", [f"ds = ds.map(f){' ' * 120}"], PARALLEL, MAP),
        ("dispatch", ["pattern = re.compile('a')"], "steps_per_execution", {}),
        (
            "dispatch",
            ["m.compile(optimizer=o, loss=l)", "m.train_on_batch(x, y)"],
            "steps_per_execution",
            {},
        ),
        ("launch-bound", ["@tf.function", "@tf.function"], "", {}),
        ("launch-bound", ["train = strategy.run(step)"], "", {}),
        ("small-ops", ["@tf.function"], f"{NOT_UNROLLED}. Compile it.", {}),
        ("straggler", ["ds = ds.map(f)"], PARALLEL, MAP),
    ],
)
def test_what_is_not_certain_keeps_the_words_of_its_remedy(
    key: str, lines: list[str], advice: str, evidence: dict[str, Any]
) -> None:
    assert change(key, [TF, *lines], advice, **evidence) is None


def test_xla_is_offered_for_one_replica_only() -> None:
    """It compiles no function that spans the replicas of MirroredStrategy."""
    assert change("launch-bound", ["@tf.function"], replicas=1)
    assert change("launch-bound", ["@tf.function"], replicas=2) is None


def test_terminal_and_json_say_the_same_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ((3, "    data = source.batch(32)"), (9, "loss = tf.reduce_mean(x)"))
    run = write_run(tmp_path / "mine", steps=60, input_ms=40.0, gaps=(), lines=lines)
    said = ("train.py:3", "- data = source.batch(32)",
            "+ data = source.batch(32).prefetch(tf.data.AUTOTUNE)")  # fmt: skip
    summary = strategy_profiles.load(run).summary()
    (finding,) = (f for f in summary["segments"][0]["findings"] if f["key"] == "input-bound")
    assert tuple(finding["change"]["difference"].splitlines()) == said
    assert main(["summary", str(run)]) == 0
    printed = capsys.readouterr().out
    for line in said:
        assert line in printed
