"""The tracer sees every switch, says when it happened, and leaves nothing behind."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strategy_profiles.errors import SpecError
from strategy_profiles.registered import registered

pytestmark = pytest.mark.tf


@pytest.fixture(scope="module")
def tf() -> Any:
    return importlib.import_module("tensorflow")


def strategies(tf: Any) -> dict[str, Callable[[], Any]]:
    def mirrored() -> Any:
        one = tf.distribute.ReductionToOneDevice()
        return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=one)

    return {
        "mirrored": mirrored,
        "one-device": lambda: tf.distribute.OneDeviceStrategy("CPU:0"),
        "central-storage": lambda: tf.distribute.experimental.CentralStorageStrategy(
            ["CPU:0", "CPU:1"], "CPU:0"
        ),
        "default": tf.distribute.get_strategy,
    }


@pytest.mark.parametrize("name", ["mirrored", "one-device", "central-storage"])
def test_every_strategy_enters_one_replica_context_per_replica(tf: Any, name: str) -> None:
    from strategy_contexts.tracer import trace_contexts

    strategy = strategies(tf)[name]()
    with trace_contexts() as trace:
        strategy.run(lambda: tf.constant(1.0))
    entered = [entry.replica for entry in trace.entries if entry.context == "replica"]
    assert entered == list(range(strategy.num_replicas_in_sync))
    run = next(entry for entry in trace.entries if entry.call == "run")
    assert run.context == "default", "nothing has entered the scope yet"
    starts = next(entry for entry in trace.entries if entry.call == "call_for_each_replica")
    assert (starts.context, starts.parent) == ("cross-replica", run.seq)
    replicas = [entry for entry in trace.entries if entry.switch and entry != starts]
    assert {entry.parent for entry in replicas} == {starts.seq}


PROGRAM = """
import tensorflow as tf

def say():
    context = tf.distribute.get_replica_context()
    print(tf.distribute.in_cross_replica_context(), context is not None)

def demonstrate(strategy):
    say()
    with strategy.scope():
        say()
        v = tf.Variable(1.0, name="v")
        strategy.extended.update(v, lambda copy: say())

    def merge(strategy):
        say()

    def step():
        say()
        tf.distribute.get_replica_context().merge_call(merge)
        say()

    strategy.run(step)
    say()
"""


@pytest.mark.parametrize("name", ["mirrored", "one-device", "central-storage", "default"])
def test_the_recorded_context_is_what_tensorflow_answers_there(
    tf: Any, tmp_path: Path, name: str
) -> None:
    from strategy_contexts import demonstration

    recording = demonstration.record(PROGRAM, strategies(tf)[name](), tmp_path / "program.py")
    assert recording.error is None
    seen = {(line["context"], line["text"]) for line in recording.trace["printed"]}
    assert seen == {
        ("default", "False True"),
        ("cross-replica", "True False"),
        # The default strategy's scope enters no cross-replica context, so neither does its update.
        ("update", "False True" if name == "default" else "True False"),
        ("replica", "False True"),
    }
    for line in recording.trace["printed"]:
        parent = next((e for e in recording.trace["entries"] if e["seq"] == line["parent"]), None)
        if parent:
            assert (parent["context"], parent["replica"]) == (line["context"], line["replica"])


def test_a_replica_has_the_values_that_it_gets_and_returns(tf: Any) -> None:
    from strategy_contexts.tracer import trace_contexts

    strategy = strategies(tf)["mirrored"]()
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(context.replica_id_in_sync_group + 1.0)
    )
    with trace_contexts() as trace:
        strategy.run(lambda x, times: x * times, args=(values,), kwargs={"times": 10.0})
    replicas = [entry for entry in trace.entries if entry.call == "enter replica"]
    assert [[name for name, _ in entry.values_in] for entry in replicas] == [["x", "times"]] * 2
    assert [entry.values_in[0][1].components[0].value for entry in replicas] == [1.0, 2.0]
    assert [entry.value_out.components[0].value for entry in replicas] == [10.0, 20.0]


def test_a_number_that_json_does_not_have_is_kept_as_text(tf: Any, tmp_path: Path) -> None:
    from strategy_contexts.stepper.recorded_contexts import read_recording
    from strategy_contexts.tracer import trace_contexts

    with trace_contexts() as trace:
        strategies(tf)["one-device"]().run(lambda: tf.constant([[math.nan, 1.0], [-math.inf, 2]]))
    for suffix in ("html", "json"):
        trace.save(tmp_path / f"contexts.{suffix}")
    entries = read_recording(tmp_path / "contexts.json")["trace"]["entries"]
    replica = next(entry for entry in entries if entry["call"] == "enter replica")
    assert replica["value_out"]["components"][0]["value"] == [["nan", 1.0], ["-inf", 2.0]]


@pytest.mark.skipif(
    "tpu" not in registered("strategies"), reason="no installed package emulates TPUs"
)
def test_a_tpu_program_is_traced_once_for_all_replicas(tf: Any) -> None:
    from strategy_contexts.tracer import trace_contexts
    from strategy_core import tpu

    strategy = tpu.build(num_replicas=2)

    @tf.function
    def program() -> Any:
        def step() -> Any:
            context = tf.distribute.get_replica_context()
            return context.all_reduce("SUM", tf.constant(1.0))

        return strategy.run(step)

    with trace_contexts() as trace:
        total = program()
    assert float(strategy.experimental_local_results(total)[0]) == 2.0
    calls = [entry.call for entry in trace.entries]
    assert calls.index("run") < calls.index("enter replica") < calls.index("all_reduce")


def test_tensorflows_methods_are_restored_when_the_tracer_ends() -> None:
    from strategy_contexts.patches import _hooks
    from strategy_contexts.tracer import trace_contexts

    owners = {(owner, name): owner.__dict__[name] for owner, name, _, _ in _hooks()}
    with pytest.raises(ZeroDivisionError), trace_contexts():
        raise ZeroDivisionError
    assert {key: key[0].__dict__[key[1]] for key in owners} == owners


def test_a_second_tracer_is_refused_while_one_is_on() -> None:
    from strategy_contexts.tracer import trace_contexts

    with (
        trace_contexts(),
        pytest.raises(RuntimeError, match=r"A trace_contexts\(\) is active already"),
        trace_contexts(),
    ):
        pass


def test_lines_are_the_users_also_through_autograph(tf: Any) -> None:
    from strategy_contexts.tracer import trace_contexts

    strategy = strategies(tf)["mirrored"]()

    @tf.function
    def program(x: Any) -> Any:
        def step(x: Any) -> Any:
            if x > 1.0:
                x = x * 2.0
            return tf.distribute.get_replica_context().all_reduce("SUM", x)

        return strategy.run(step, args=(x,))

    with trace_contexts() as trace:
        program(tf.constant(2.0))
    calls = {entry.call: entry for entry in trace.entries}
    lines = Path(__file__).read_text().splitlines()
    assert "all_reduce" in lines[calls["all_reduce"].source.line - 1]
    assert "strategy.run" in lines[calls["run"].source.line - 1]
    assert {entry.phase for entry in trace.entries} == {"tracing"}
    assert calls["all_reduce"].values_in[1][1].components[0].reason.startswith("symbolic")


def test_the_program_computes_the_same_under_the_tracer(tf: Any) -> None:
    from strategy_contexts.tracer import trace_contexts

    strategy = strategies(tf)["mirrored"]()

    def step() -> Any:
        context = tf.distribute.get_replica_context()
        own = tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0
        return own * context.merge_call(
            lambda strategy, x: strategy.reduce("SUM", x, axis=None), args=(own,)
        )

    bare = strategy.experimental_local_results(strategy.run(step))
    with trace_contexts():
        traced = strategy.experimental_local_results(strategy.run(step))
    assert [float(x) for x in bare] == [float(x) for x in traced] == [3.0, 6.0]


def test_rows_are_the_contexts_table(tf: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from strategy_contexts.tracer import trace_contexts
    from strategy_profiles.tables.schema import TABLES

    strategy = strategies(tf)["mirrored"]()
    with trace_contexts() as trace:
        strategy.run(lambda: tf.constant(1.0))
    trace.save(tmp_path / "contexts.parquet")
    table = pq.read_table(tmp_path / "contexts.parquet")
    assert table.schema.names == TABLES["contexts"].names
    assert table.column("context").to_pylist() == [
        "default",
        "cross-replica",
        "replica",
        "replica",
    ]
    assert table.column("depth").to_pylist() == [0, 1, 2, 2]


@pytest.mark.parametrize("name", ["mirrored", "one-device", "central-storage", "default"])
def test_a_program_is_recorded_under_every_strategy(tf: Any, tmp_path: Path, name: str) -> None:
    from strategy_contexts import demonstration

    source = "def demonstrate(strategy):\n    print(strategy.num_replicas_in_sync)\n"
    recording = demonstration.record(source, strategies(tf)[name](), tmp_path / "program.py")
    assert recording.error is None
    assert recording.trace["printed"][0]["text"] in ("1", "2")


@pytest.mark.parametrize(
    ("source", "message"),
    [("def other(): pass", "demonstrate"), ("def demonstrate(s) pass", "line 1")],
)
def test_source_that_is_no_demonstration_is_refused(
    tf: Any, tmp_path: Path, source: str, message: str
) -> None:
    from strategy_contexts import demonstration

    with pytest.raises(SpecError, match=message):
        demonstration.record(source, strategies(tf)["default"](), tmp_path / "editor.py")


def test_a_program_of_ones_own_is_saved_as_a_page(tf: Any, tmp_path: Path) -> None:
    from strategy_contexts.tracer import trace_contexts

    strategy = strategies(tf)["mirrored"]()
    with trace_contexts() as trace:
        strategy.run(lambda: tf.constant(1.0))
    trace.save(tmp_path / "contexts.html")
    document = (tmp_path / "contexts.html").read_text()
    assert Path(__file__).name in document, "the file that made the calls is shown"
    with pytest.raises(SpecError, match=r"\.html, \.json or \.parquet"):
        trace.save(tmp_path / "contexts.doc")


def test_every_hooked_method_is_defined_where_we_hook_it() -> None:
    from strategy_contexts.patches import _hooks

    for owner, attribute, _, _ in _hooks():
        assert attribute in owner.__dict__, f"{owner.__name__}.{attribute} is gone"
