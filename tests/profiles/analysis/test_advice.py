"""Every rule finds its illness, finds none in a healthy run, and is documented."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.analysis.account.op_time import OpTime
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.late_because import late_batch
from strategy_profiles.analysis.advice.line_advice import advice_on_line
from strategy_profiles.analysis.advice.registry import RULES
from strategy_profiles.analysis.advice.rows import main_line
from strategy_profiles.analysis.advice.rules import not_captured
from strategy_profiles.analysis.advice.rules.computation import OF_AGAIN
from strategy_profiles.analysis.advice.rules.retracing import NO_NAME
from strategy_profiles.analysis.busy_threads import BusyThread
from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.communication import Traffic
from strategy_profiles.analysis.element_types import ComputedIn
from strategy_profiles.analysis.facts import Facts, Finding, Gain
from strategy_profiles.analysis.findings import LEFT_OVER, findings, gather_facts, main_finding
from strategy_profiles.analysis.growth import growth
from strategy_profiles.analysis.late_batches import BatchLine
from strategy_profiles.analysis.line_work import LineWork
from strategy_profiles.analysis.lone_worker import LoneWorker
from strategy_profiles.analysis.longer_op import LongerOp
from strategy_profiles.analysis.longest_before import LongestBefore
from strategy_profiles.analysis.machine_load import MachineLoad
from strategy_profiles.analysis.memory import DeviceMemory
from strategy_profiles.analysis.outside_function import OutsideFunction
from strategy_profiles.analysis.placed import (
    CopiedVariables,
    DenseGradient,
    Placed,
    PlacedVariable,
)
from strategy_profiles.analysis.python_in_ops import PythonInOps
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.analysis.repeated_calls import RepeatedCalls
from strategy_profiles.analysis.retracing import Retracing
from strategy_profiles.analysis.same_each_step import SameEachStep
from strategy_profiles.run.event_parts import (
    SourceLine,
    StackFrame,
    StackPlace,
    Threads,
    WholeRead,
)
from strategy_profiles.run.events import (
    FETCHED_EACH,
    IMPORTED,
    IN_TURNS,
    OWN_BATCH_EACH,
    WHOLE_BATCH_EACH,
)
from strategy_profiles.spec.run_spec import RunSpec
from tests.replaced import replace
from tests.synthetic import stacks, write_run
from tests.synthetic.stacks import stack_place

EAGER = Path(__file__).parents[2] / "data/eager_step"
"""A real program: two replicas, a custom loop without a tf.function."""
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:1"
GPU = DEVICE.replace("CPU:1", "GPU:0")


def cause(kind: str, name: str, ms: float, **more: Any) -> dict[str, Any]:
    row = {"kind": kind, "name": name, "detail": name, "count": 1, "total_ms": ms, "held_ms": ms}
    return {"causes": [row | more], "idle_ms": ms + 0.5}


def after_epochs(where: StackPlace) -> dict[str, Any]:
    """A program that is at this place for 400 ms after every 20th step."""
    return {"gaps": [(step, 400.0, where) for step in range(19, 299, 20)]}


ILL: dict[str, dict[str, Any]] = {
    "argument-copy": cause("argument", "train.py:7", 9.0),
    "between-steps": after_epochs(stack_place("python", 30, "augment(batch)")),
    "callback": after_epochs(stack_place("call", 40, "fit()", within="callback", call="Heavy")),
    "checkpoint": after_epochs(stack_place("call", 40, "manager.save()", within="checkpoint")),
    "communication-exposed": {"transfer_ms": 12.0},
    "epoch-start": after_epochs(stack_place("epoch-start", 12, "for batch in data:")),
    "failure": {"ending": "failed"},
    "host-read": after_epochs(stack_place("host-read", 31, "loss.numpy()", call="numpy")),
    "launch-bound": cause("launch", "", 9.0, replica=0, device=GPU, count=2400)
    | {"device_kind": "GPU"},
    "logging": after_epochs(stack_place("logging", 32, "tf.summary.histogram(w)")),
    "prediction": after_epochs(stack_place("function", 40, "model.predict(x)", within="predict")),
    "validation": after_epochs(stack_place("function", 40, "fit()", within="validation")),
    "costly-capture": {"steps": 60},
    "recompiling": cause("compiling", "step", 40.0),
    "debugging-ops": cause("debugging-op", "PrintV2", 9.0, device=DEVICE),
    "detour": cause("detour", "MatMul", 9.0, replica=0, device=DEVICE, bytes=8192),
    "dispatch": cause("call", "train.py:7", 35.0),
    "host-round-trip": cause("read-back", "train.py:9", 9.0),
    "idle": {"idle_ms": 15.0},
    "input-bound": {"input_ms": 10.0},
    "loss-lost": {"nan_loss_from": 40},
    "many-small-collectives": {"collective_bytes": (1000,) * 20},
    "python-in-input": {
        **(beside := cause("call", "train.py:7", 9.0)),
        "causes": [
            *beside["causes"],
            *cause("input-python-ahead", "EagerPyFunc", 8.0)["causes"],
        ],
    },
    "no-further-step": {
        "ending": "stopped",
        "gaps": [(299, 30_000.0, stack_place("python", 31, "lock.acquire()"))],
    },
    "python-op": cause("python-op", "EagerPyFunc", 9.0),
    "retracing": {
        "retraced": [{"step": n, "function": "f", "num_traces": 1} for n in range(9, 29)]
    },
    "shared-cores": {"replicas": 4},
    "short-steps": {"step_ms": 3.0, "input_ms": 0.1, "transfer_ms": 0.1}
    | cause("call", "train.py:7", 0.8),
    "small-ops": cause("between-ops", "rnn/while", 9.0, count=2400),
    "small-collective": {"collective_bytes": (24,), "transfer_ms": 25.0},
    "straggler": {"straggler": (1, 15.0)},
    "tiny-batch": {"global_batch_size": 4, "step_ms": 1.0},
    "tracing": {"tracing_ms": 20_000.0},
    "unsteady": {"noise": 0.8},
}


def facts_of(run: Path) -> Facts:
    profile = strategy_profiles.load(run)
    return gather_facts(profile, profile.segments[0])


def unlike(facts: Facts) -> Facts:
    """Captured steps that took a third of the others."""
    wall = np.where(facts.steps.captured, facts.steps.wall_ms, 3 * facts.steps.wall_ms)
    return replace(facts, steps=replace(facts.steps, wall_ms=wall))


def partial(facts: Facts) -> Facts:
    """Every fifth step has 17 examples and takes as long as the others."""
    is_last = facts.steps.step % 5 == 4
    examples = np.where(is_last, 17.0, facts.steps.examples)
    return replace(facts, steps=replace(facts.steps, examples=examples))


def reduced_by_one(facts: Facts) -> Facts:
    """Long transfers by an algorithm that is not TensorFlow's choice on CPUs."""
    one = "reduction-to-one-device"
    segment = msgspec.structs.replace(facts.segment, cross_device_ops=one)
    spec = {**facts.segment.spec, "cross_device_ops": one}
    return replace(facts, segment=msgspec.structs.replace(segment, spec=spec))


def nearly_full(facts: Facts) -> Facts:
    """A process that holds 95 % of the machine's memory."""
    assert facts.environment is not None
    host = msgspec.structs.replace(facts.environment.host, memory_bytes=10**9)
    environment = msgspec.structs.replace(facts.environment, host=host)
    process = DeviceMemory(
        worker=0,
        device="host",
        source="process-resident",
        num_samples=9,
        last_bytes=9 * 10**8,
        peak_bytes=95 * 10**7,
        growth_bytes_per_step=None,
        is_growing=False,
    )
    return replace(facts, environment=environment, memory=(process,))


def short_of_threads(facts: Facts) -> Facts:
    """One thread for two replicas, of which one waits for the other for 10 of 20 ms."""
    assert facts.environment is not None
    environment = msgspec.structs.replace(facts.environment, threads=Threads(1, 0))
    replicas = [replace(each, wait_ms=10.0 * each.replica) for each in facts.breakdown.replicas]
    breakdown = replace(facts.breakdown, replicas=tuple(replicas))
    return replace(facts, environment=environment, breakdown=breakdown)


def crowded(facts: Facts) -> Facts:
    return replace(
        facts,
        load=MachineLoad(
            num_samples=9, num_cores=4, run_cores=2.5, other_cores=1.2, stolen_cores=0.1
        ),
    )


def made_dense(facts: Facts) -> Facts:
    gradient = DenseGradient(op="UnsortedSegmentSum", device=DEVICE, bytes=2_560_000.0, ms=4.0)
    return replace(facts, placed=Placed(dense_gradients=(gradient,)))


def in_float64(facts: Facts) -> Facts:
    return replace(facts, float64=ComputedIn(4.0, "MatMul", "dense/MatMul", 3.0, 5))


def in_float16(facts: Facts) -> Facts:
    return replace(facts, float16=ComputedIn(4.0, "MatMul", "dense/MatMul", 3.0, 5))


def away(facts: Facts) -> Facts:
    table = PlacedVariable("table", "/job:localhost/replica:0/task:0/device:GPU:0", 2_560_000.0)
    return replace(facts, placed=Placed(off_device=CopiedVariables((table,))))


def taking_a_table(facts: Facts) -> Facts:
    table = PlacedVariable("gatherv2_params", DEVICE, 128e6)
    return replace(facts, placed=Placed(taken=CopiedVariables((table,), {0: 4.0, 1: 0.0})))


def adapting(facts: Facts) -> Facts:
    """A layer that adapts to its data for 40 s of a minute before the loop begins."""
    program = Row("program", "program", 6e4, "measured")
    line = StackFrame("me/train.py", 9, "<module>", "layer.adapt(texts)")
    longest = LongestBefore(line, "TextVectorization.adapt", 4e4)
    return replace(
        facts,
        account=replace(facts.account, rows=(program, *facts.account.rows)),
        read_longest_before=lambda: longest,
    )


@pytest.mark.parametrize(
    ("call", "loop_ms", "is_said"),
    [("TextVectorization.adapt", 8e3, True), ("", 8e3, False), ("", 2e3, True)],
    ids=["adapt", "another call", "longer than the loop"],
)
def test_three_seconds_before_training_are_said_of_adapt_and_beside_a_shorter_loop(
    call: str, loop_ms: float, is_said: bool, facts_with_illness: Any
) -> None:
    facts = adapting(facts_with_illness("healthy"))
    program = Row("program", "program", 1e4, "measured")
    others = (row for row in facts.account.rows if row.row != "program")
    rows = (
        program,
        *(replace(row, total_ms=loop_ms) if row.row == "loop" else row for row in others),
    )
    found = facts.read_longest_before()
    assert found is not None
    short = replace(found, ms=3e3, call=call)
    account = replace(facts.account, rows=rows)
    item = main_finding(replace(facts, account=account, read_longest_before=lambda: short))
    assert (item is not None and item.key == "before-training") == is_said


def refused(facts: Facts) -> Facts:
    """TensorFlow 2.21's error of a program with two strategies."""
    error = "InvalidArgumentError: Collective ops is aborted by: Shape mismatch in the collective "
    return replace(facts, failure=f"{error}instance 100. Op at device CPU:0 expected shape [5]")


def of_several_devices(facts: Facts) -> Facts:
    """TensorFlow 2.21's error of a compiled step with variables of both replicas."""
    error = "InvalidArgumentError: Trying to access resource dense/kernel/replica_1/3 (defined @ "
    return replace(facts, failure=f"{error}core.py:43) located in device CPU:1 from device CPU:0")


def created_late(facts: Facts) -> Facts:
    """TensorFlow 2.21's error of an optimizer that creates its slots in the first step."""
    error = "InvalidArgumentError: You must feed a value for placeholder tensor "
    return replace(facts, failure=f"{error}'cond/else/_1/cond/Placeholder_2' with dtype int32")


def filling_up(facts: Facts) -> Facts:
    """A process that holds 10 MB more after each of 300 steps."""
    process = DeviceMemory(
        worker=0,
        device="host",
        source="process-resident",
        num_samples=20,
        last_bytes=6 * 10**9,
        peak_bytes=6 * 10**9,
        growth_bytes_per_step=1e7,
        is_growing=True,
    )
    return replace(facts, memory=(process,))


def noted(field: str) -> Callable[[Facts], Facts]:
    """A run of two replicas, or workers, in which the recorder saw something at a line."""

    def with_line(facts: Facts) -> Facts:
        workers = 2 if field == FETCHED_EACH else 1
        segment = msgspec.structs.replace(facts.segment, num_workers=workers)
        return replace(facts, segment=segment, noted={field: "train.py:40"})

    return with_line


def waiting_for_one(facts: Facts) -> Facts:
    """A coordinator that waits for its worker 1 for half of its steps' time."""
    line = StackFrame("train.py", 40, "<module>", "coordinator.join()")
    steps = facts.account.row("loop/steps")
    assert steps is not None
    alone = LoneWorker(1, 0.5 * steps.total_ms, 0.0, line)
    segment = msgspec.structs.replace(facts.segment, num_workers=2)
    return replace(facts, read_lone_worker=lambda: alone, segment=segment)


def beside_a_thread(facts: Facts) -> Facts:
    """A program with another thread that computes in Python all the time."""
    line = StackFrame("train.py", 12, "make_batches", "rows.append(row)")
    return replace(facts, read_busy_threads=lambda: (BusyThread("make_batches", line, 0.97),))


def joining(facts: Facts) -> Facts:
    """A program that waits for the workers of its coordinator for half of its steps' time."""
    steps = facts.account.row("loop/steps")
    assert steps is not None
    row = Row("loop/steps/workers", "workers", 0.5 * steps.total_ms, "sampled", 50, 10)
    account = facts.account
    return replace(facts, account=replace(account, rows=(row, *account.rows)))


def test_a_wait_for_workers_names_the_variable_that_each_step_reads_as_a_whole(
    facts_with_illness: Any,
) -> None:
    facts = joining(facts_with_illness("healthy"))
    reads = (
        WholeRead("table", 15_000_000, "train.py:67", True),
        WholeRead("scale", 4, "train.py:70", True),
    )
    found = advice_by_key(replace(facts, whole_reads=reads))["waiting-for-workers"]
    assert "reads all of `table` (15.0 MB) from a parameter server at train.py:67 and" in (
        found.sentence
    )
    assert "other variable" not in found.sentence
    assert found.evidence["place"] == "train.py:67"
    small = advice_by_key(replace(facts, whole_reads=reads[1:]))["waiting-for-workers"]
    assert "scale" not in small.sentence
    again = (*reads, WholeRead("kernel", 256, "train.py:52", True, in_loop=True))
    looped = advice_by_key(replace(facts, whole_reads=again))["waiting-for-workers"]
    assert "Each turn of a loop in their steps reads all of `kernel` (256 B)" in looped.sentence
    assert "once, before the loop" in looped.advice


def test_a_wait_for_workers_in_steps_and_between_them_is_one_finding(
    facts_with_illness: Any,
) -> None:
    facts = joining(facts_with_illness("healthy"))
    inside = facts.account.row("loop/steps/workers")
    assert inside is not None
    between = msgspec.structs.replace(inside, row="loop/between/workers")
    account = replace(facts.account, rows=(between, *facts.account.rows))
    waits = [
        item
        for item in findings(replace(facts, account=account))
        if item.key == "waiting-for-workers"
    ]
    assert len(waits) == 1
    assert waits[0].cost is not None
    assert waits[0].cost.ms * account.num_steps == pytest.approx(2 * inside.total_ms)


@pytest.mark.parametrize(
    ("num_joined", "ms", "said", "remedy"),
    [
        (4, 3.0, "after every 4 steps; a step takes a worker 6.00 ms", "call join() once"),
        (1, 3.0, "after each step; a step takes a worker 3.00 ms", "Do more in each"),
        (4, 30.0, "a step takes a worker 60.0 ms", "try one at a time"),
    ],
)
def test_a_wait_for_workers_says_how_many_steps_it_is_for(
    num_joined: int, ms: float, said: str, remedy: str, facts_with_illness: Any
) -> None:
    facts = joining(facts_with_illness("healthy"))
    # Steps between two joins are recorded with the same part of their time.
    joins = np.arange(facts.steps.count) // num_joined
    steps = replace(facts.steps, wall_ms=ms + 1e-6 * (joins % 7))
    facts = replace(facts, segment=replace(facts.segment, num_workers=2), steps=steps)
    found = advice_by_key(facts)["waiting-for-workers"]
    assert said in found.sentence
    assert remedy in found.advice


@pytest.mark.parametrize(
    ("op", "trains", "remedy"),
    [
        ("TopKV2", False, "Order fewer candidates"),
        ("Conv2DBackpropFilter", True, "smaller inputs"),
        ("MatMul", True, "narrower layers"),
        ("ScatterNd", True, "fewer rows"),
        ("ResizeBicubic", False, "the area of its pictures"),
        ("MaxPoolGrad", True, "a larger stride"),
        ("StringSplitV2", False, "one text after the other"),
        ("NonMaxSuppressionV5", False, "fewer candidates"),
        ("UnsortedSegmentMax", False, "one row after the other"),
        ("MirrorPad", False, "copies values and computes nothing"),
        ("Lgamma", False, "jit_compile"),
    ],
)
def test_a_computation_says_what_makes_its_op_shorter(
    op: str, trains: bool, remedy: str, facts_with_illness: Any
) -> None:
    ops = (OpTime("layer", op, 0.9, trains=trains), OpTime("layer", "Relu", 0.1))
    found = advice_by_key(replace(facts_with_illness("healthy"), ops=ops))["computation"]
    assert remedy in found.advice
    assert ("only for a metric" in found.advice) is not trains


@pytest.mark.parametrize(
    ("maker", "remedy"),
    [
        ("OneHot", "tf.gather"),
        ("ScatterNd", "sparse_dense_matmul"),
        ("MatrixDiagV3", "by the vector itself"),
        ("SparseSoftmaxCrossEntropyWithLogits", "sampled_softmax_loss"),
    ],
)
def test_a_product_with_what_is_mostly_zeros_has_its_own_remedy(
    maker: str, remedy: str, facts_with_illness: Any
) -> None:
    ops = (OpTime("layer", "MatMul", 0.9), OpTime("layer", maker, 0.1))
    found = advice_by_key(replace(facts_with_illness("healthy"), ops=ops))["computation"]
    assert remedy in found.advice.partition("A product of matrices")[0]


def test_captured_steps_whose_ops_have_no_replica_are_said_to_say_nothing(
    facts_with_illness: Any,
) -> None:
    facts = facts_with_illness("healthy")
    replicas = tuple(replace(each, num_steps=0) for each in facts.breakdown.replicas)
    facts = replace(facts, breakdown=replace(facts.breakdown, replicas=replicas))
    found = advice_by_key(replace(facts, held_up=replace(facts.held_up, num_steps=3)))
    assert found["not-captured"].sentence.startswith("Of 3 captured steps it is not known")
    assert not_captured.edits(facts, found["not-captured"]) == {}, "more captures tell no more"


def test_the_largest_of_what_tf_sort_orders_are_to_be_taken_by_top_k(
    facts_with_illness: Any,
) -> None:
    for scope, is_sorted in (("sort", True), ("layer", False)):
        ops = (OpTime(scope, "TopKV2", 0.9),)
        found = advice_by_key(replace(facts_with_illness("healthy"), ops=ops))["computation"]
        assert ("tf.math.top_k()" in found.advice) is is_sorted


def test_calls_of_a_model_that_repeat_another_one_are_named(facts_with_illness: Any) -> None:
    again = RepeatedCalls(0.4, ("/home/me/train.py:12", "/home/me/train.py:20"), "me/train.py:17")
    facts = replace(facts_with_illness("healthy"), read_repeated_calls=lambda: again)
    found = advice_by_key(facts)["computation"]
    assert "train.py:12 and train.py:20 compute again what that at train.py:17" in found.sentence
    assert found.advice.startswith(OF_AGAIN)
    little = replace(facts, read_repeated_calls=lambda: replace(again, share=0.05))
    assert "again" not in advice_by_key(little)["computation"].sentence


def test_the_advice_on_an_update_speaks_of_tables_only_if_the_model_has_one(
    facts_with_illness: Any,
) -> None:
    ops = [OpTime("adam", "AssignSubVariableOp", 0.6), OpTime("adam", "Mul", 0.3)]
    for text, is_said in (("self.words = Embedding(9000, 64)", True), ("Dense(64)", False)):
        facts = replace(facts_with_illness("healthy"), ops=ops, sources={"me/train.py": text})
        assert ("few rows of a table" in advice_by_key(facts)["computation"].advice) is is_said


def test_an_argument_that_one_of_several_steps_waited_at_is_no_copy(
    facts_with_illness: Any,
) -> None:
    """The thread lost its core there: each step would copy the array."""
    facts = facts_with_illness("argument-copy")
    causes = tuple(replace(each, num_steps=1) for each in facts.held_up.causes)
    once = replace(facts, held_up=replace(facts.held_up, causes=causes))
    assert "argument-copy" in advice_by_key(facts)
    assert facts.held_up.num_steps > 2
    assert "argument-copy" not in advice_by_key(once)


def test_more_replicas_help_only_where_cores_are_left(facts_with_illness: Any) -> None:
    facts = replace(
        facts_with_illness("healthy"), ops=[OpTime("dense_1", "MatMul", 0.9, trains=True)]
    )
    assert facts.environment is not None
    for cpus, may_help in ((64, True), (1, False)):
        host = replace(facts.environment.host, cpus=cpus)
        changed = replace(facts, environment=replace(facts.environment, host=host))
        assert ("more replicas" in advice_by_key(changed)["computation"].advice) is may_help


def test_an_op_and_its_gradients_are_one_part_of_the_computation(facts_with_illness: Any) -> None:
    ops = [
        OpTime("conv_1", "Conv2D", 0.2, trains=True),
        OpTime("conv_1", "Conv2DBackpropFilter", 0.3, trains=True),
        OpTime(None, "MatMul", 0.4, trains=True),
    ]
    found = advice_by_key(replace(facts_with_illness("healthy"), ops=ops))["computation"]
    assert "most of all `Conv2D` of `conv_1`, with its gradients" in found.sentence
    assert found.evidence["part"] == pytest.approx(0.6), "no one change shortens both"


def test_the_update_is_known_beside_sparse_gradients_that_are_made_dense(
    facts_with_illness: Any,
) -> None:
    times = {"UnsortedSegmentSum": 0.7, "Square": 0.1, "AssignSubVariableOp": 0.001}
    for layer, is_update in (("adam", True), ("auc_1", False)):
        ops = [OpTime(layer, op, share) for op, share in times.items()]
        ops.append(OpTime("dense_1", "MatMul", 0.1, trains=True))
        found = advice_by_key(replace(facts_with_illness("healthy"), ops=ops))["computation"]
        assert (f"the update of `{layer}`" in found.sentence) is is_update


def test_a_line_outside_of_layers_is_one_part_with_what_its_text_says(
    facts_with_illness: Any,
) -> None:
    line = "/home/me/train.py:2"
    ops = [OpTime(None, op, 0.2, line) for op in ("ConcatV2", "ReadVariableOp", "AssignVariableOp")]
    ops.append(OpTime("dense_1", "MatMul", 0.3, trains=True))
    text = "def keep(rows):\n    bank.assign(tf.concat([rows, bank[:-8]], 0))\n"
    facts = replace(facts_with_illness("healthy"), ops=ops, sources={"/home/me/train.py": text})
    found = advice_by_key(facts)["computation"]
    assert "`ConcatV2`, `ReadVariableOp` and `AssignVariableOp` at train.py:2" in found.sentence
    assert found.advice.startswith("The line writes all of the variable to change some of it")


def test_the_line_that_pads_sequences_is_named_beside_what_is_computed_of_them(
    facts_with_illness: Any,
) -> None:
    ops = [OpTime("conv_1", "Conv2D", 0.9, trains=True)]
    for text, is_named in (("x = pad_sequences(words)", True), ("# pad_sequences(words)", False)):
        facts = replace(facts_with_illness("healthy"), ops=ops, sources={"me/train.py": text})
        advice = advice_by_key(facts)["computation"].advice
        assert ("train.py:1 pads sequences" in advice) is is_named


def test_replicas_that_are_passed_nothing_are_said_to_make_their_own_data(
    facts_with_illness: Any,
) -> None:
    facts = facts_with_illness("healthy")
    ops = [OpTime("dense_1", "MatMul", 0.9, trains=True)]
    for text, size, is_said in (
        ("loss = strategy.run(self.step)", None, True),
        ("loss = strategy.run(self.step)", 32, False),
        ("loss = strategy.run(step, args=(batch,))", None, False),
        ("subprocess.run(command)", None, False),
    ):
        segment = replace(facts.segment, num_replicas=4, global_batch_size=size)
        sources = {"me/train.py": text}
        changed = replace(facts, ops=ops, segment=segment, sources=sources)
        advice = advice_by_key(changed)["computation"].advice
        assert ("train.py:1 passes nothing to the replicas" in advice) is is_said, text


def test_an_op_that_computes_the_same_in_each_step_is_to_be_computed_once(
    facts_with_illness: Any,
) -> None:
    ops = (OpTime("layer", "MatrixInverse", 0.9, trains=True), OpTime("layer", "Relu", 0.1))
    same = SameEachStep(0.9, ("MatrixInverse", "AddV2"), "/home/me/train.py:37")
    facts = replace(facts_with_illness("healthy"), ops=ops, read_same_each_step=lambda: same)
    found = advice_by_key(facts)["computation"]
    assert "Nothing that `MatrixInverse` and `AddV2` at train.py:37 read changes" in found.advice
    assert found.evidence["trains"] is False, "it can be mended"
    little = replace(facts, read_same_each_step=lambda: SameEachStep(0.05, ("AddV2",), None))
    assert "Nothing that" not in advice_by_key(little)["computation"].advice


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["model.fit(x, y, validation_data=held_out)"], "validation_freq"),
        (["total = self.evaluate_all(batches)"], "Validate less often, on fewer examples"),
    ],
)
def test_advice_on_validation_is_for_the_loop_that_the_program_has(
    texts: list[str], says: str, facts_with_illness: Any
) -> None:
    facts = with_lines(facts_with_illness("validation"), *texts)
    assert says in advice_by_key(facts)["validation"].advice
    own = replace(facts, sources={"me/train.py": "    def evaluate(self, data):"})
    assert "on fewer examples" in advice_by_key(own)["validation"].advice


def test_validation_that_mostly_traces_new_functions_is_no_finding_of_its_own(
    facts_with_illness: Any,
) -> None:
    facts = facts_with_illness("validation")
    validation = facts.account.row("loop/between/validation")
    row = replace(
        main_line(facts, validation), row="loop/between/tracing", kind="tracing", num_times=8
    )
    found = {}
    for times in (0.5, 2.0):
        traced = replace(row, total_ms=times * validation.total_ms)
        account = replace(facts.account, rows=(traced, *facts.account.rows))
        found[times] = advice_by_key(replace(facts, account=account))
    assert "validation" in found[0.5]
    assert "validation" not in found[2.0]
    assert found[2.0]["retracing"].evidence["place"] == row.place


@pytest.mark.parametrize(
    ("text", "says"),
    [("h = tf.image.resize(x, size)", "forked processes hang"), ("h = warp(x)", "use_multi")],
)
def test_a_pydataset_that_calls_tensorflow_is_not_sent_to_other_processes(
    text: str, says: str, facts_with_illness: Any
) -> None:
    facts = with_lines(facts_with_illness("input-bound"), "class Pictures(keras.utils.PyDataset):")
    stage = "Iterator::Root::Prefetch::FlatMap[0]::Generator"
    made = Cause("input-stage", stage, None, None, None, 3, 9.0, 9.0, 9.0, None)
    inside = PythonInOps(0.5, StackFrame("/home/me/train.py", 12, "__getitem__", text), 0.95)
    facts = replace(
        facts,
        held_up=replace(facts.held_up, causes=(made,)),
        read_python_in_ops=lambda *_: inside,
    )
    assert says in advice_by_key(facts)["input-bound"].advice


@pytest.mark.parametrize(
    ("stage", "text", "says"),
    [
        ("ParallelMapV2::ParallelInterleaveV4", "ds = files.interleave(read)", "cycle_length"),
        ("BatchV2::TensorSlice", "ds = Dataset.from_tensor_slices(rows)", "tf.gather"),
        ("PaddedBatchV2", "ds = ds.padded_batch(8)", "Pad less"),
        ("Filter", "ds = ds.filter(is_clean)", "with NumPy"),
        ("CSVDatasetV2", "ds = tf.data.experimental.CsvDataset(paths, kinds)", "pandas"),
    ],
)
def test_a_stage_of_the_input_is_named_as_the_program_names_it(
    stage: str, text: str, says: str, facts_with_illness: Any
) -> None:
    facts = with_lines(facts_with_illness("input-bound"), text)
    name = f"Iterator::Root::Prefetch::{stage.replace('Dataset', '')}"
    made = Cause("input-stage", name, None, None, None, 3, 9.0, 9.0, 9.0, None)
    held_up = replace(facts.held_up, causes=(made,))
    found = advice_by_key(replace(facts, held_up=held_up))["input-bound"]
    assert says in found.advice
    assert f"It is at train.py:10 (`{text}`)" in found.sentence


@pytest.mark.parametrize(
    ("stages", "text", "says"),
    [
        (
            ("DirectedInterleave::ParallelMapV2", "DirectedInterleave::ParallelMapV2::Random"),
            "data = tf.data.Dataset.sample_from_datasets(parts)",
            "mix their indices",
        ),
        (
            ("DirectedInterleave::ParallelMapV2::Filter::Zip::Map",),
            "data = data.rejection_resample(label_of, [0.5, 0.5]).map(lambda _, pair: pair)",
            "throws most of them away",
        ),
        (("DirectedInterleave::ParallelMapV2",), "data = data.map(f)", "map()"),
        (("MapAndBatch",), "data = image_dataset_from_directory(root)", "call cache()"),
    ],
)
def test_a_stage_that_a_call_makes_of_others_is_named_as_that_call(
    stages: tuple[str, ...], text: str, says: str, facts_with_illness: Any
) -> None:
    facts = with_lines(facts_with_illness("input-bound"), text)
    causes = tuple(
        Cause("input-stage", f"Iterator::Root::Prefetch::{name}", None, None, None, 3, 9.0 / n, 9.0,
              9.0, None)
        for n, name in enumerate(stages, 1)
    )  # fmt: skip
    held_up = replace(facts.held_up, causes=causes)
    found = advice_by_key(replace(facts, held_up=held_up, sources={"me/train.py": text}))
    assert says in found["input-bound"].advice
    assert ("map()" in found["input-bound"].sentence) is (says == "map()")


@pytest.mark.parametrize(("waited_ms", "is_named"), [(0.6, False), (3.0, True)])
def test_a_short_wait_is_no_cause_on_a_machine_whose_load_is_unknown(
    waited_ms: float, is_named: bool, facts_with_illness: Any
) -> None:
    facts = facts_with_illness("input-bound")
    waits = replace(facts.input, waiting_ms=waited_ms)
    found = advice_by_key(replace(facts, input=waits, load=None))
    assert ("input-bound" in found) is is_named


@pytest.mark.parametrize(("draws", "says"), [("x", "cache()"), ("tf.random.normal(x)", "do less")])
def test_examples_that_are_parsed_one_by_one_are_to_be_parsed_by_the_batch(
    draws: str, says: str, facts_with_illness: Any
) -> None:
    parses = "    x = tf.io.parse_single_example(raw, SPEC)"
    text = "\n".join(("def parse(raw):", parses, f"    return {draws}", "data = data.map(parse)"))
    facts = with_lines(facts_with_illness("input-bound"), parses)
    stage = Cause("input-stage", "Iterator::Root::Prefetch::Map", None, None, None, 3, 9.0, 9.0,
                  9.0, None)  # fmt: skip
    found = replace(
        facts,
        held_up=replace(facts.held_up, causes=(stage,)),
        sources={"me/train.py": text},
    )
    advice = advice_by_key(found)["input-bound"].advice
    assert "train.py:2" in advice
    assert "tf.io.parse_example in a map() behind batch()" in advice
    assert says in advice


def test_a_pool_of_few_threads_of_the_pipeline_is_named(facts_with_illness: Any) -> None:
    facts = facts_with_illness("input-bound")
    stage = Cause("input-stage", "Iterator::Root::MapAndBatch", None, None, None, 3, 9.0, 9.0, 9.0,
                  None)  # fmt: skip
    held_up = replace(facts.held_up, causes=(stage,))
    num_cores = facts.environment.host.cpus
    for num_threads in (1, num_cores):
        text = f"options.threading.private_threadpool_size = {num_threads}"
        found = replace(facts, held_up=held_up, sources={"me/train.py": text})
        advice = advice_by_key(found)["input-bound"].advice
        assert ("its own pool of 1 thread" in advice) is (num_threads < num_cores)


def test_a_batch_of_many_single_elements_is_to_be_taken_by_rows(facts_with_illness: Any) -> None:
    """To record each element makes the stage behind them look longer than it is."""
    facts = facts_with_illness("input-bound")
    for num_elements, says in ((4096.0, "single elements a step"), (64.0, "num_parallel_calls")):
        stages = [
            Cause("input-stage", f"Iterator::Root::Prefetch::BatchV2{below}", None, None, None, 3,
                  held_ms, 9.0, count, None)
            for below, held_ms, count in (("", 9.0, 1.0), ("::Shuffle", 4.0, num_elements))
        ]  # fmt: skip
        held_up = replace(facts.held_up, causes=tuple(stages))
        found = advice_by_key(replace(facts, held_up=held_up))["input-bound"]
        assert says in found.advice


def test_the_lock_that_python_in_the_graph_waits_for_is_named(facts_with_illness: Any) -> None:
    waits = StackFrame("/home/me/store.py", 28, "ask", "time.sleep(0.03)")
    lock = StackFrame("/home/me/store.py", 33, "get", "with self.guard:")
    facts = replace(
        facts_with_illness("python-op"),
        read_python_in_ops=lambda *_: PythonInOps(0.9, waits, 0.7, lock),
    )
    advice = advice_by_key(facts)["python-op"].advice
    assert "wait for each other at store.py:33 (`with self.guard:`)" in advice
    assert "private_threadpool_size" in advice


def test_a_second_line_that_takes_a_large_part_is_named_too(facts_with_illness: Any) -> None:
    facts = facts_with_illness("healthy")
    row = Row("loop/between/own-lines", "own-lines", 0.5 * facts.account.loop_ms, "sampled", 50, 10)
    lines = [
        Row(f"{row.row}/{line}", "own-lines", part * row.total_ms, "sampled", 25, 10,
            "train.py", line, f"rows{line} = pick(i)")
        for line, part in ((31, 0.55), (32, 0.4))
    ]  # fmt: skip
    others = [each for each in facts.account.rows if each.row != row.row]
    account = replace(facts.account, rows=(row, *lines, *others))
    found = advice_by_key(replace(facts, account=account))["between-steps"]
    assert "55 % of it at train.py:31 (`rows31 = pick(i)`), 40 % at train.py:32" in found.sentence


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tf.debugging.enable_check_numerics()", "disable_check_numerics()"),
        ("tf.debugging.experimental.enable_dump_debug_info(folder)", "take the call out"),
    ],
)
def test_what_has_every_op_checked_is_what_is_to_be_switched_off(
    text: str, says: str, facts_with_illness: Any
) -> None:
    facts = with_lines(facts_with_illness("debugging-ops"), text)
    checks = tuple(replace(each, name="DebugNumericSummaryV2") for each in facts.held_up.causes)
    facts = replace(facts, held_up=replace(facts.held_up, causes=checks))
    assert says in advice_by_key(facts)["debugging-ops"].advice


def test_a_worker_without_others_keeps_none_waiting(facts_with_illness: Any) -> None:
    facts = waiting_for_one(facts_with_illness("healthy"))
    alone = replace(facts, segment=msgspec.structs.replace(facts.segment, num_workers=1))
    assert "lone-worker" in advice_by_key(facts)
    assert "lone-worker" not in advice_by_key(alone)


@pytest.mark.parametrize(
    ("times", "num_calls", "says"),
    [
        (1.0, 4, "Raise the batch per replica"),
        (4.0, 4, "reduces their gradients 4.00 times"),
        (4.0, 2, "4.00 times as much as all variables of a replica have"),
    ],
)
def test_what_a_step_reduces_beyond_its_variables_is_gradients_only_in_as_many_calls(
    times: float, num_calls: int, says: str, facts_with_illness: Any
) -> None:
    facts = facts_with_illness("communication-exposed")
    uses = [replace(use, per_step=num_calls) for use in facts.communication.collectives]
    communication = replace(facts.communication, collectives=tuple(uses))
    placed = Placed(variable_bytes=communication.main.bytes / times)
    found = advice_by_key(replace(facts, communication=communication, placed=placed))
    assert says in found["communication-exposed"].advice


@pytest.mark.parametrize(("part", "is_unused"), [(0.01, True), (1.0, False), (None, False)])
def test_gradients_of_variables_that_no_op_writes_need_no_reduction(
    part: float | None, is_unused: bool, facts_with_illness: Any
) -> None:
    facts = facts_with_illness("communication-exposed")
    num_bytes = facts.communication.main.bytes
    written = None if part is None else int(part * num_bytes)
    facts = replace(
        facts, placed=Placed(variable_bytes=num_bytes), read_written_bytes=lambda: written
    )
    advice = advice_by_key(facts)["communication-exposed"].advice
    assert ("ops of the step write only" in advice) is is_unused


def test_steps_that_are_all_traced_cost_the_preparing_of_their_graphs_too(
    facts_with_illness: Any,
) -> None:
    facts = facts_with_illness("healthy")
    steps, step_ms = facts.held_up.num_steps, facts.breakdown.mean_ms("wall")
    building_ms, idle_ms = 0.3 * step_ms, 0.8 * step_ms
    cause = Cause("tracing", "step", None, None, None, steps, building_ms, building_ms, 1.0, None)
    rows = tuple(replace(row, idle_ms=idle_ms) for row in facts.breakdown.replicas)
    facts = replace(
        facts,
        held_up=replace(facts.held_up, causes=(cause,)),
        breakdown=replace(facts.breakdown, replicas=rows),
        retracing=Retracing(tuple(facts.steps.step[1:].tolist()), "step", steps, None),
    )
    found = advice_by_key(facts)["retracing"]
    assert "and preparing it for its first run another 50 %" in found.sentence


def test_steps_that_vary_on_a_busy_machine_are_one_finding_on_the_machine(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    facts = facts_with_illness("unsteady")
    assert "unsteady" in advice_by_key(facts)
    busy = {"busy-machine", "unsteady"} & set(advice_by_key(crowded(facts)))
    assert busy == {"busy-machine"}


def test_all_ops_of_an_optimizer_are_one_update(facts_with_illness: Any) -> None:
    update = [OpTime("adam", op, 0.15) for op in ("Sub", "Mul", "AssignAddVariableOp")]
    ops = (OpTime("dense", "MatMul", 0.3, trains=True), *update)
    placed = Placed(largest=PlacedVariable("table", "/device:CPU:0", 15_000_000))
    facts = replace(facts_with_illness("healthy"), ops=ops, placed=placed)
    found = advice_by_key(facts)["computation"]
    assert "most of all the update of `adam` (`Sub`, `Mul`, `AssignAddVariableOp`)" in (
        found.sentence
    )
    assert "The largest variable is `table` (15.0 MB)" in found.advice
    assert "more replicas do not help" in found.advice


def test_a_layer_that_draws_random_numbers_writes_its_seed_and_is_no_update(
    facts_with_illness: Any,
) -> None:
    parts = {"ImageProjectiveTransformV3": 0.6, "AssignVariableOp": 0.001, "Mul": 0.1}
    turned = [OpTime("random_rotation", op, share) for op, share in parts.items()]
    ops = (*turned, OpTime("dense", "MatMul", 0.1, trains=True))
    found = advice_by_key(replace(facts_with_illness("healthy"), ops=ops))["computation"]
    assert "most of all `random_rotation` (`ImageProjectiveTransformV3`, " in found.sentence
    assert "the area of its pictures" in found.advice


def test_a_layer_that_is_not_trained_is_named_where_it_takes_more_than_any_type_of_op(
    facts_with_illness: Any,
) -> None:
    """Its ops are of many types, such as those of a metric or of a text that is taken apart."""
    parts = {"StringSplitV2": 0.15, "LookupTableFindV2": 0.15, "RegexReplace": 0.1}
    trained = [OpTime(f"dense_{i}", "MatMul", 0.1, trains=True) for i in range(3)]
    for trains, named in ((False, "`text` (`StringSplitV2`"), (True, "`MatMul` of `dense_0`")):
        ops = [OpTime("text", op, share, trains=trains) for op, share in parts.items()]
        facts = replace(facts_with_illness("healthy"), ops=(*ops, *trained))
        found = advice_by_key(facts)["computation"]
        assert f"most of all {named}" in found.sentence
        assert ("apply it in the dataset's map()" in found.advice) is not trains


@pytest.mark.parametrize(
    ("call", "text", "remedy"),
    [
        ("Queue.get", "x, y = made.get()", "waits for another thread"),
        ("_TensorIterator.__next__", "for loss in losses:", "call .numpy() once"),
        ("_slice_helper", "worst = max(errors[i] for i in rows)", "call .numpy() once"),
        (None, "with self.lock:", "waits for a lock"),
        (None, "turn.acquire()", "waits for a lock"),
        ("Model.save", "with self.saved() as file:", "The line calls Model.save"),
        (None, "weights = np.array(self.priority)", "keep one array"),
        ("append", "rows = np.append(rows, row)", "collect the parts"),
        ("constant", "frames = tf.constant(self.frames)", "make the tensor once"),
        (None, "gc.collect()", "by itself"),
        (None, "tidy.up()", "The line calls tidy.up"),
        (None, "sheet.save(path, optimize=True)", "The line writes"),
        ("write_file", "tf.io.write_file(path, tf.io.encode_png(x))", "The line writes"),
        ("concat", "log = pd.concat([log, row])", "collect the rows"),
        ("NpzFile.__getitem__", "x = self.archive['x'][rows]", "take the array out of it once"),
        ("Dataset.__getitem__", "x = self.flux[rows]", "by whole chunks"),
        (None, "episodes[key] = values[:self.filled].copy()", "the rows of a batch"),
        ("StrategyBase.reduce", "mean = strategy.reduce('MEAN', v, None)", "behind that call"),
        (None, "c = self.base.execute('select v from t where id = ?', (i,))", "in one query"),
        (None, "self.base.execute('begin exclusive')", "The line calls self.base.execute"),
        (None, "time.sleep(0.1)", "several such waits"),
        ("BaseResourceVariable.assign", "bank.assign(memory.rows)", "only the rows that have"),
        ("DatasetV2.from_tensor_slices", "d = Dataset.from_tensor_slices(x)", "before the loop"),
        (None, "rows = rng.choice(every, 32, replace=False)", "integers()"),
        (None, "number = words.index(word)", "a dict"),
        (None, "total += 1", "If it is a Python loop"),
    ],
)
def test_what_to_do_about_a_line_between_steps_is_what_the_line_does(
    call: str | None, text: str, remedy: str, facts_with_illness: Any
) -> None:
    facts = facts_with_illness("healthy")
    took_ms = 0.5 * facts.account.loop_ms
    row = Row(
        "loop/between/own-lines",
        "own-lines",
        took_ms,
        "sampled",
        50,
        10,
        "train.py",
        40,
        text,
        call,
    )
    rows = [row, *(each for each in facts.account.rows if each.row != row.row)]
    account = replace(facts.account, rows=tuple(rows))
    found = advice_by_key(replace(facts, account=account, sources={"me/data.py": "import h5py"}))
    assert remedy in found["argument-copy" if call == "constant" else "between-steps"].advice


def test_of_a_row_only_the_lines_that_make_tensors_are_copies(facts_with_illness: Any) -> None:
    facts = facts_with_illness("healthy")
    row = Row("loop/between/own-lines", "own-lines", 0.5 * facts.account.loop_ms, "sampled", 50, 10)
    lines = [
        Row(f"{row.row}/{place}", "own-lines", share * facts.account.loop_ms, "sampled", 25, 10,
            "train.py", place, text, call)
        for place, share, text, call in (
            (40, 0.3, "x = tf.constant(rows)", "constant"), (41, 0.2, "rows = sample(7)", None)
        )
    ]  # fmt: skip
    others = [each for each in facts.account.rows if each.row != row.row]
    account = replace(facts.account, rows=(row, *lines, *others))
    found = advice_by_key(replace(facts, account=account))
    assert "30 % of the loop" in found["argument-copy"].sentence
    assert "20 % of the loop" in found["between-steps"].sentence
    assert "train.py:41" in found["between-steps"].sentence


def test_functions_without_a_name_in_steps_that_predict_are_those_of_its_data(
    facts_with_illness: Any,
) -> None:
    facts = facts_with_illness("healthy")
    cause = Cause("tracing", NO_NAME, None, None, None, 3, 5.0, 5.0, 1.0, None)
    held_up = replace(facts.held_up, causes=(cause, *facts.held_up.causes))
    facts = replace(facts, held_up=held_up)
    assert "retracing" in advice_by_key(facts)
    row = Row("loop/steps/predict", "predict", 100.0, "sampled", 50, 10)
    account = replace(facts.account, rows=(row, *facts.account.rows))
    assert "retracing" not in advice_by_key(replace(facts, account=account))


@pytest.mark.parametrize(
    ("text", "is_slow_loop"),
    [("sum(d.size for d in shot.compare(first))", False), ("sum(d * d for d in sizes)", True)],
)
def test_a_loop_over_what_a_function_returns_may_be_short(
    text: str, is_slow_loop: bool, facts_with_illness: Any
) -> None:
    """The function may take the time."""
    loop = SourceLine("train.py", 40, text)
    facts = replace(
        facts_with_illness("healthy"), read_line_work=lambda *_: LineWork(loops=(loop,))
    )
    row = Row("loop/between/own-lines", "own-lines", 9.0, "sampled", 9, 9, "train.py", 40, text)
    assert (advice_on_line(facts, row) is not None) is is_slow_loop


def test_no_replica_is_late_by_python_that_runs_in_one_replica_after_the_other(
    facts_with_illness: Any,
) -> None:
    """The last one waits for its turn: an even division of the work changed nothing."""
    facts = facts_with_illness("straggler")
    for replicas, each_ms, num_workers, is_late in (
        ((0, 1), 9.0, 1, False),
        ((1,), 9.0, 1, True),
        ((0, 1), 4.0, 1, True),  # it is late by more than that
        ((0, 1), 9.0, 2, True),  # each worker has a function of its own
    ):
        causes = tuple(
            Cause("python-op", "PyFunc", "PyFunc", replica, DEVICE, 3, each_ms, each_ms, 1.0, None)
            for replica in replicas
        )
        segment = msgspec.structs.replace(facts.segment, num_workers=num_workers)
        held_up = replace(facts.held_up, causes=causes)
        found = advice_by_key(replace(facts, held_up=held_up, segment=segment))
        assert "python-op" in found
        assert ("straggler" in found) is is_late


def test_a_replica_that_is_late_by_a_little_on_a_busy_machine_is_so_by_chance(
    facts_with_illness: Any,
) -> None:
    """Its ops take longer while it waits for a core."""
    facts = facts_with_illness("straggler")
    for late_ms, is_told in ((1.7, False), (15.0, True)):
        late = tuple(replace(item, late_ms=late_ms) for item in facts.stragglers.late)
        late_by = replace(facts, stragglers=replace(facts.stragglers, late=late))
        assert "straggler" in advice_by_key(late_by)
        busy = MachineLoad(9, num_cores=4, run_cores=1.2, other_cores=2.7, stolen_cores=0.0)
        assert ("straggler" in advice_by_key(replace(late_by, load=busy))) is is_told


def test_python_in_the_graph_that_waits_is_sent_to_a_parallel_map(facts_with_illness: Any) -> None:
    for text, says in (
        ("time.sleep(0.1)", "set options.threading.private_threadpool_size"),
        ("y = f(x)", "Python's"),
    ):
        line = StackFrame("/home/me/train.py", 19, "solve", text)
        facts = replace(
            facts_with_illness("python-op"),
            read_python_in_ops=lambda *_, line=line: PythonInOps(0.5, line, 0.95),
        )
        assert says in advice_by_key(facts)["python-op"].advice


def test_a_reduction_that_lasts_while_replicas_compute_costs_nothing(
    facts_with_illness: Any,
) -> None:
    """The copy of a loss of 4 B to one device lasted as long as the other replica's ops."""
    facts = facts_with_illness("small-collective")
    assert "small-collective" in advice_by_key(facts)
    beside = tuple(replace(each, wait_ms=0.0, transfer_ms=0.1) for each in facts.breakdown.replicas)
    facts = replace(facts, breakdown=replace(facts.breakdown, replicas=beside))
    assert "small-collective" not in advice_by_key(facts)


@pytest.mark.parametrize(("examples", "is_small"), [(1, True), (64, False)])
def test_single_examples_for_train_on_batch_are_to_be_one_batch(
    examples: int, is_small: bool, facts_with_illness: Any
) -> None:
    facts = with_lines(facts_with_illness("dispatch"), "loss = model.train_on_batch(x, y)")
    facts = replace(facts, segment=replace(facts.segment, global_batch_size=examples))
    advice = advice_by_key(facts)["dispatch"].advice
    assert ("the examples of several calls at once" in advice) is is_small


def test_a_deque_that_is_indexed_is_to_be_a_list(facts_with_illness: Any) -> None:
    facts = facts_with_illness("healthy")
    row = Row("loop/between/own-lines", "own-lines", 0.5 * facts.account.loop_ms, "sampled", 50, 10,
              "me/train.py", 2, "rows = [self.trips[i] for i in picks]")  # fmt: skip
    others = [each for each in facts.account.rows if each.row != row.row]
    facts = replace(facts, account=replace(facts.account, rows=(row, *others)))
    for made, is_deque in (("deque(maxlen=SIZE)", True), ("list(trips)", False)):
        text = f"self.trips = {made}\nrows = [self.trips[i] for i in picks]"
        found = advice_by_key(replace(facts, sources={"me/train.py": text}))
        assert ("`trips` is a deque" in found["between-steps"].advice) is is_deque


def test_a_jacobian_outside_of_a_function_is_to_be_computed_in_one(facts_with_illness: Any) -> None:
    """An eager Gauss-Newton step of 160 ms took 9 ms so."""
    facts = facts_with_illness("retracing")
    row = Row("loop/steps/tracing", "tracing", 100.0, "sampled", 50, 10, "train.py", 11,
              "jac = tape.jacobian(out, net.trainable_variables)")  # fmt: skip
    others = [each for each in facts.account.rows if each.row != row.row]
    account = replace(facts.account, rows=(row, *others))
    advice = advice_by_key(replace(facts, account=account))["retracing"].advice
    assert advice.startswith("Put @tf.function on the function that calls this line")


def test_what_the_program_gathers_from_replicas_is_to_be_reduced_first(
    facts_with_illness: Any,
) -> None:
    facts = facts_with_illness("communication-exposed")
    main, transfer_ms = facts.communication.main, facts.breakdown.mean_ms("transfer")
    gather = replace(main, op="all-gather", bytes=None, transfer_ms=transfer_ms)
    facts = replace(
        with_lines(facts, "whole = self.strategy.gather(features, axis=0)"),
        communication=replace(facts.communication, collectives=(gather,)),
    )
    found = advice_by_key(facts)["communication-exposed"]
    assert "gathers tensors of all replicas at train.py:10" in found.sentence
    assert found.advice.startswith("Gather less")


def test_a_wait_for_workers_names_the_line_that_cuts_variables_into_shards(
    facts_with_illness: Any,
) -> None:
    facts = with_lines(joining(facts_with_illness("healthy")), "p = MinSizePartitioner(8 << 10)")
    steps = replace(facts.steps, wall_ms=np.full(facts.steps.count, 9.0))
    found = advice_by_key(replace(facts, steps=steps))["waiting-for-workers"]
    assert "cut into shards at train.py:10" in found.advice


def test_a_line_that_calls_nothing_is_named_by_its_loop_and_by_what_searches_in_it(
    facts_with_illness: Any,
) -> None:
    """Samples are taken at calls and at the ends of loops: they may be of the lines before it."""
    facts = facts_with_illness("healthy")
    place = ("sampled", 50, 10, "me/train.py", 40)
    took_ms = 0.5 * facts.account.loop_ms
    row = Row("loop/between/own-lines", "own-lines", took_ms, *place, "out[i] = self.boost")
    rows = [row, *(each for each in facts.account.rows if each.row != row.row)]
    loop = SourceLine("me/train.py", 37, "    for i, item in enumerate(items):")
    search = SourceLine("me/train.py", 38, "        if item not in self.seen:")
    work = LineWork(loops=(loop,), searches=search)
    account = replace(facts.account, rows=tuple(rows))
    facts = replace(facts, account=account, read_line_work=lambda *_: work)
    found = advice_by_key(facts)["between-steps"]
    assert "in the loop at train.py:37 (`for i, item in enumerate(items):`)" in found.sentence
    assert found.advice.startswith("train.py:38 (`if item not in self.seen:`) looks at one element")
    assert found.evidence["place"] == "train.py:37"


def test_python_around_the_calls_beside_a_busy_thread_is_that_of_the_thread(
    facts_with_illness: Any,
) -> None:
    found = advice_by_key(beside_a_thread(facts_with_illness("dispatch")))
    assert "`make_batches` at train.py:12 (`rows.append(row)`)" in found["busy-thread"].sentence
    assert "dispatch" not in found


def test_steps_that_are_longer_outside_of_captures_beside_a_busy_thread_wait_for_it(
    facts_with_illness: Any,
) -> None:
    """Captures shorten Python's switch interval."""
    facts = unlike(facts_with_illness("healthy"))
    found = advice_by_key(beside_a_thread(facts))
    assert "the rest is waiting for the thread" in found["busy-thread"].sentence
    assert "not-captured" not in found
    assert "not-captured" in advice_by_key(facts)


def test_steps_of_which_some_wait_for_a_busy_thread_cost_what_they_take_on_average(
    facts_with_illness: Any,
) -> None:
    """Most steps of few milliseconds are done before the thread has the lock again."""
    facts = facts_with_illness("healthy")
    wall_ms = facts.steps.wall_ms.copy()
    wall_ms[::3] *= 10.0
    facts = replace(facts, steps=replace(facts.steps, wall_ms=wall_ms))
    found = advice_by_key(beside_a_thread(facts))
    assert "on average, a captured one" in found["busy-thread"].sentence
    assert "unsteady" not in found
    assert "unsteady" in advice_by_key(facts)


def test_a_whole_batch_for_each_replica_is_named_by_the_line_that_divides_its_losses(
    facts_with_illness: Any,
) -> None:
    found = advice_by_key(noted(OWN_BATCH_EACH)(facts_with_illness("healthy")))["whole-batch"]
    assert "a whole global batch of its own" in found.sentence
    assert found.evidence["place"] == "train.py:40"
    assert "get_per_replica_batch_size" in found.advice


def growing(facts: Facts) -> Facts:
    """Steps of 10 ms at first and of 40 ms at last."""
    wall_ms = np.linspace(10.0, 40.0, facts.steps.count)
    return replace(facts, steps=replace(facts.steps, wall_ms=wall_ms))


def test_steps_that_are_long_for_a_while_do_not_grow(facts_with_illness: Any) -> None:
    facts = growing(facts_with_illness("healthy"))
    lengths_ms = np.repeat([8.0, 12.0, 9.0, 13.0, 30.0, 10.0, 40.0, 40.0], 20)
    assert growth(lengths_ms) is None
    assert growth(np.sort(lengths_ms)) is not None
    assert "growing-steps" in advice_by_key(facts)
    assert "growing-steps" not in advice_by_key(beside_a_thread(facts))


def test_growth_by_less_than_double_counts_if_the_lengths_follow_their_order() -> None:
    """Gaps before each step in which a program searched all rows that it had kept: by 1.9 times."""
    noise_ms = np.random.default_rng(1).normal(0.0, 5.0, 87)
    grown = growth(np.linspace(80.0, 170.0, 87) + noise_ms)
    assert grown is not None
    assert 1.4 < grown[1] / grown[0] < 2.0
    assert growth(np.linspace(10.0, 18.0, 87) + 2 * noise_ms) is None
    assert growth(np.linspace(100.0, 120.0, 87)) is None


def test_memory_that_grows_with_the_length_of_steps_follows_from_what_they_add_to(
    facts_with_illness: Any,
) -> None:
    facts = filling_up(growing(facts_with_illness("healthy")))
    keys = [item.key for item in findings(facts)]
    assert keys[0] == "growing-steps"
    assert "memory-growth" in keys
    assert "unsteady" not in keys
    assert next(item.key for item in findings(filling_up(facts_with_illness("healthy")))) == (
        "memory-growth"
    )


def with_lines(facts: Facts, *texts: str) -> Facts:
    """A program with these lines."""
    lines = [SourceLine("/home/me/train.py", 10 * n, text) for n, text in enumerate(texts, 1)]
    return replace(facts, lines=tuple(lines))


BATCHES = ("data = strategy.distribute_datasets_from_function(make)", "ds = ds.batch({size})")


@pytest.mark.parametrize(
    ("texts", "is_whole"),
    [
        ([each.format(size="GLOBAL_BATCH") for each in BATCHES], True),
        ([each.format(size="PER_REPLICA_BATCH") for each in BATCHES], False),
        ([BATCHES[1].format(size="global_batch")], False),
        (
            [BATCHES[0], "n = context.get_per_replica_batch_size(G)", "ds = ds.batch(global_n)"],
            False,
        ),
    ],
    ids=["global", "of a replica", "divided by the strategy", "divided by the program"],
)
def test_a_batch_that_is_called_global_and_is_of_each_replica_is_a_whole_batch(
    texts: list[str], is_whole: bool, facts_with_illness: Any
) -> None:
    found = advice_by_key(with_lines(facts_with_illness("healthy"), *texts))
    assert ("whole-batch" in found) == is_whole
    if is_whole:
        assert found["whole-batch"].evidence["place"] == "train.py:20"


@pytest.mark.parametrize(
    ("reads", "key", "text", "remedy"),
    [
        (
            "read_array_copies",
            "argument-copy",
            "tf.nn.embedding_lookup(table, ids)",
            "make the tensor once",
        ),
        (
            "read_single_ops",
            "eager-step",
            "opt.apply_gradients(pairs)",
            "Make it a part of the tf.function",
        ),
    ],
)
def test_work_beside_the_function_of_the_step_does_not_count_as_python_around_its_calls(
    reads: str, key: str, text: str, remedy: str, facts_with_illness: Any
) -> None:
    line = StackFrame("/home/me/train.py", 19, "update", text)
    facts = facts_with_illness("dispatch")
    wall, calls_ms = facts.breakdown.mean_ms("wall"), facts.held_up.held_ms("call")
    outside = OutsideFunction(calls_ms / wall, line)
    found = advice_by_key(replace(facts, **{reads: lambda: outside}))
    most = "most of it " if key == "eager-step" else ""
    assert f"{most}at train.py:19 (`{text}`)" in found[key].sentence
    assert remedy in found[key].advice
    assert "dispatch" not in found
    assert "dispatch" in advice_by_key(facts)


@pytest.mark.parametrize(
    ("doing", "call", "is_beside"),
    [
        ("op", "BaseOptimizer.apply_gradients", True),
        ("op", "TensorFlowTrainer.fit", False),
        ("function", "Function.__call__", False),
    ],
)
def test_ops_beside_the_step_are_the_programs_and_not_those_of_keras_fit(
    doing: str, call: str, is_beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = stack_place(doing, 19, "the line", call=call)
    monkeypatch.setattr(stacks, "STEP", place)
    facts = facts_of(write_run(tmp_path / "run", steps=200, gaps=[(5, 10.0, place)]))
    assert (facts.read_single_ops() is not None) is is_beside


def test_an_unrolled_layer_is_named_by_its_line(facts_with_illness: Any) -> None:
    facts = with_lines(facts_with_illness("tracing"), "x = LSTM(32, unroll=True)(x)")
    found = advice_by_key(facts)["tracing"]
    assert "at train.py:10 (`x = LSTM(32, unroll=True)(x)`)" in found.sentence
    assert "Let unroll be False" in found.advice


def test_variables_with_an_aggregation_are_named_behind_many_small_collectives(
    facts_with_illness: Any,
) -> None:
    facts = facts_with_illness("many-small-collectives")
    text = "seen = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)"
    for source, is_named in ((text, True), (text.replace("SUM", "SUM, s=ON_READ"), False)):
        found = advice_by_key(replace(facts, sources={"me/train.py": source}))
        item = found["many-small-collectives"]
        assert ("of a variable that is made at train.py:1" in item.sentence) is is_named
        assert ("ON_READ each replica adds to a copy" in item.advice) is is_named


def test_a_late_worker_without_a_dataset_is_late_by_its_own_python(
    facts_with_illness: Any,
) -> None:
    line = StackFrame("me/train.py", 29, "watch", "now = measure(self.window)")
    for waits, says in ((True, "Its batch at train.py:29"), (False, "Its own Python at train.py")):
        facts = replace(
            facts_with_illness("healthy"), read_batch_line=lambda _, w=waits: BatchLine(line, w)
        )
        assert says in late_batch(facts, 1, 11.0)


def test_a_function_that_also_reads_results_is_named_with_all_that_it_takes(
    tmp_path: Path,
) -> None:
    texts = [(40, "def follow():"), (41, "    new = mix()"), (42, "    old = read()"), (44, "pass")]
    places = [
        stack_place(doing, line, text.strip(), function="follow")
        for doing, (line, text) in zip(("python", "host-read"), texts[1:3], strict=True)
    ]
    gaps = [(step, 100.0, place) for step in range(9, 100, 10) for place in places]
    facts = facts_of(write_run(tmp_path / "run", steps=100, gaps=gaps, lines=texts))
    assert "All of `follow`, with the results that it reads" in (
        advice_by_key(facts)["between-steps"].sentence
    )


@pytest.mark.parametrize("is_keras", [True, False])
def test_a_fit_of_the_programs_own_has_no_steps_per_execution(
    is_keras: bool, facts_with_illness: Any
) -> None:
    facts = with_lines(facts_with_illness("dispatch"), "trainer.fit(data)")
    own = {} if is_keras else {"me/train.py": "class Trainer:\n    def fit(self, data):\n"}
    advice = advice_by_key(replace(facts, sources=own))["dispatch"].advice
    assert ("steps_per_execution" in advice) is is_keras


def test_a_packed_file_is_to_be_written_without_compression(tmp_path: Path) -> None:
    text = "np.savez_compressed(path, **arrays)"
    place = stack_place("python", 40, text, function="save")
    gaps = [(step, 300.0, place) for step in range(9, 100, 10)]
    facts = facts_of(write_run(tmp_path / "run", steps=100, gaps=gaps))
    assert advice_by_key(facts)["checkpoint"].advice.startswith("Write without compression")


def test_the_op_that_grows_with_the_steps_is_named(facts_with_illness: Any) -> None:
    facts = facts_with_illness("growing-steps")
    op = LongerOp("TopKV2", "/home/me/train.py:24", 20.0, 1.0, 1.0)
    found = advice_by_key(replace(facts, read_growing_op=lambda: op))["growing-steps"]
    assert "`TopKV2` at train.py:24 grows most: by 20.0 ms a step" in found.sentence
    small = LongerOp("TopKV2", None, 1.0, 1.0, 1.0)
    found = advice_by_key(replace(facts, read_growing_op=lambda: small))["growing-steps"]
    assert "grows most" not in found.sentence


def test_a_line_that_waits_has_other_advice_than_one_that_computes(facts_with_illness: Any) -> None:
    facts = facts_with_illness("between-steps")
    assert "processor time" not in advice_by_key(facts)["between-steps"].advice
    waiting = replace(facts, read_line_work=lambda *_: LineWork(waits=True))
    assert "hardly any processor time" in advice_by_key(waiting)["between-steps"].advice


CHANGED: dict[str, tuple[str, Callable[[Facts], Facts]]] = {
    "before-training": ("healthy", adapting),
    "busy-thread": ("dispatch", beside_a_thread),
    "growing-steps": ("healthy", growing),
    "not-captured": ("healthy", unlike),
    "partial-batch": ("healthy", partial),
    "replicas-in-turns": ("healthy", noted(IN_TURNS)),
    "whole-batch": ("healthy", noted(WHOLE_BATCH_EACH)),
    "workers-in-turns": ("healthy", noted(FETCHED_EACH)),
    "lone-worker": ("healthy", waiting_for_one),
    "waiting-for-workers": ("healthy", joining),
    "other-algorithm": ("communication-exposed", reduced_by_one),
    "memory-growth": ("healthy", filling_up),
    "memory-limit": ("healthy", nearly_full),
    "busy-machine": ("healthy", crowded),
    "implicit-copy": ("healthy", taking_a_table),
    "inter-op-threads": ("healthy", short_of_threads),
    "dense-gradient": ("healthy", made_dense),
    "float16-on-cpu": ("healthy", in_float16),
    "float64": ("healthy", in_float64),
    "variable-off-device": ("healthy", away),
    "shared-collective-key": ("healthy", refused),
    "xla-across-devices": ("healthy", of_several_devices),
    "variables-in-first-step": ("healthy", created_late),
}
"""Illnesses that are put into the facts of a run."""


@pytest.fixture(scope="module")
def facts_with_illness(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Facts]:
    """The facts of a run that has an illness; `healthy` of one that has none."""
    folder = tmp_path_factory.mktemp("ill")

    @cache
    def facts(key: str) -> Facts:
        if key == "eager-step":
            return facts_of(EAGER)
        if key in CHANGED:
            base, change = CHANGED[key]
            return change(facts(base))
        options = {"replicas": 2, "steps": 300, **ILL.get(key, {})}
        return facts_of(write_run(folder / key, **options))

    return facts


def advice_by_key(facts: Facts) -> dict[str, Finding]:
    return {item.key: item for item in findings(facts)}


@pytest.mark.parametrize("key", [rule.key for rule in RULES])
def test_a_rule_finds_its_illness_and_nothing_in_a_healthy_run(
    key: str, facts_with_illness: Callable[[str], Facts]
) -> None:
    item = advice_by_key(facts_with_illness(key))[key]
    assert item.sentence.endswith(".")
    assert item.advice.endswith(".")
    assert item.evidence
    assert key == LEFT_OVER or key not in advice_by_key(facts_with_illness("healthy"))


@pytest.mark.parametrize("count", [40, 406])
def test_gaps_that_are_longer_than_starts_are_not_due_to_the_number_of_ops(
    count: int, tmp_path: Path
) -> None:
    """On a busy machine an op also waits for a core."""
    few = cause("between-ops", "", 15.0, count=count)
    by_key = advice_by_key(facts_of(write_run(tmp_path / "run", replicas=2, steps=300, **few)))
    assert not {"small-ops", "dispatch"} & set(by_key)
    assert "the next one waits for a core" in by_key["idle"].sentence


def test_the_start_of_many_ops_is_no_unknown_reason(tmp_path: Path) -> None:
    many = cause("between-ops", "rnn/while", 15.0, count=2400)
    by_key = advice_by_key(facts_of(write_run(tmp_path / "run", replicas=2, steps=300, **many)))
    assert "idle" not in by_key
    sentence = by_key["small-ops"].sentence
    assert "runs 2,400 ops in a step, most of them in the loop `rnn/while`." in sentence


def test_a_loop_of_unrecorded_ops_is_named(tmp_path: Path) -> None:
    loop = cause("between-ops", "rnn/while", 15.0, count=None)
    by_key = advice_by_key(facts_of(write_run(tmp_path / "run", replicas=2, steps=300, **loop)))
    assert "idle" not in by_key
    assert "too short to be recorded, such as those of the loop `rnn/while`" in (
        by_key["small-ops"].sentence
    )


def test_checks_of_every_op_are_found_however_short(tmp_path: Path) -> None:
    """They keep TensorFlow from fusing ops, so no replay tells what they cost."""

    def debugging_finding(name: str, count: int) -> Finding | None:
        short = cause("debugging-op", name, 0.2, device=DEVICE, count=count)
        run = write_run(tmp_path / f"{name}-{count}", replicas=2, steps=300, **short)
        return advice_by_key(facts_of(run)).get("debugging-ops")

    every = debugging_finding("DebugNumericSummaryV2", 60)
    assert every is not None
    assert "disable_check_numerics()" in every.advice
    assert isinstance(every.removal, str)
    assert debugging_finding("DebugNumericSummaryV2", 2) is None
    assert debugging_finding("PrintV2", 60) is None


@pytest.mark.parametrize("effect", ["dispatch", "short-steps"])
def test_python_that_checks_every_op_comes_after_the_checks(effect: str, tmp_path: Path) -> None:
    calls = ILL[effect]
    check = cause("debugging-op", "DebugNumericSummaryV2", 0.2, device=DEVICE, count=60)
    one = cause("debugging-op", "CheckNumerics", 0.2, device=DEVICE, count=60)
    advised = []
    few = cause("debugging-op", "DebugNumericSummaryV2", 0.2, device=DEVICE, count=2)
    for name, added in (("every", check), ("one", one), ("few", few)):
        options = {**calls, "causes": [*calls["causes"], *added["causes"]]}
        advised.append(
            advice_by_key(facts_of(write_run(tmp_path / name, replicas=2, steps=300, **options)))
        )
    every, some, rare = advised
    assert every[effect].caused_by == "debugging-ops"
    assert list(every).index("debugging-ops") < list(every).index(effect)
    assert every["debugging-ops"].cost is not None
    calls_ms = calls["causes"][0]["held_ms"]
    assert every["debugging-ops"].cost.ms == pytest.approx(calls_ms + 0.2, rel=0.01)
    assert some[effect].caused_by is None, "the program's own checks run no Python"
    assert rare[effect].caused_by is None
    assert "debugging-ops" not in rare, "a cause that is named is a finding"


@pytest.mark.parametrize("key", ["float16-on-cpu", "float64"])
def test_ops_of_an_element_type_cost_a_part_of_captured_steps(
    key: str, facts_with_illness: Callable[[str], Facts]
) -> None:
    cost = advice_by_key(facts_with_illness(key))[key].cost
    assert cost is not None
    assert cost.num_steps > 0


def test_float16_is_no_fault_on_a_gpu(facts_with_illness: Callable[[str], Facts]) -> None:
    facts = facts_with_illness("float16-on-cpu")
    gpus = [device.replace("CPU", "GPU") for device in facts.segment.replica_devices]
    elsewhere = msgspec.structs.replace(facts.segment, replica_devices=gpus)
    assert "float16-on-cpu" not in advice_by_key(replace(facts, segment=elsewhere))


@pytest.mark.parametrize(
    ("inter_op", "is_found"), [(0, False), (1, True), (2, False), (3, False)], ids=str
)
def test_threads_are_few_if_replicas_and_cores_are_more(
    inter_op: int, is_found: bool, facts_with_illness: Callable[[str], Facts]
) -> None:
    """0 is TensorFlow's choice. The machine has 2 cores, the run 2 replicas or 4."""
    for key in ("inter-op-threads", "shared-cores"):
        facts = facts_with_illness(key)
        assert facts.environment is not None
        environment = msgspec.structs.replace(facts.environment, threads=Threads(inter_op, 0))
        by_key = advice_by_key(replace(facts, environment=environment))
        assert ("inter-op-threads" in by_key) == is_found


@pytest.mark.parametrize(("longer_ms", "is_its_work"), [(1.0, False), (12.0, True)])
def test_work_that_is_hardly_longer_does_not_make_a_replica_late(
    longer_ms: float, is_its_work: bool, facts_with_illness: Callable[[str], Facts]
) -> None:
    """It is late by 15 ms."""
    facts = facts_with_illness("straggler")
    replicas = tuple(
        replace(each, compute_ms=9.0 + longer_ms * each.replica)
        for each in facts.breakdown.replicas
    )
    advice = advice_by_key(replace(facts, breakdown=replace(facts.breakdown, replicas=replicas)))
    assert ("Its own work takes longer" in advice["straggler"].advice) == is_its_work


def test_a_loop_of_unrecorded_ops_leaves_open_whether_a_late_replica_works_longer(
    tmp_path: Path,
) -> None:
    loop = cause("between-ops", "rnn/while", 2.0, count=None)
    run = write_run(tmp_path / "run", replicas=2, straggler=(1, 15.0), **loop)
    advice = advice_by_key(facts_of(run))["straggler"].advice
    assert advice.startswith(
        "Whether it has more work is not known, as the ops of the loop `rnn/while` are"
    )


@pytest.mark.parametrize("is_of_lab", [True, False])
def test_a_program_of_others_packs_by_one_call(
    is_of_lab: bool, facts_with_illness: Callable[[str], Facts]
) -> None:
    facts = facts_with_illness("many-small-collectives")
    spec = facts.segment.spec if is_of_lab else {}
    segment = msgspec.structs.replace(facts.segment, spec=spec)
    advice = advice_by_key(replace(facts, segment=segment))["many-small-collectives"].advice
    assert ("Pass all tensors to one call" in advice) != is_of_lab


@pytest.mark.parametrize(("every", "is_each"), [(1, True), (20, False)])
def test_an_iterator_for_each_step_is_made_once_before_the_loop(
    every: int, is_each: bool, tmp_path: Path
) -> None:
    line = stack_place("epoch-start", 9, "step(next(iter(data)))")
    gaps = [(step, 20.0 * every, line) for step in range(0, 100, every)]
    facts = facts_of(write_run(tmp_path / "run", replicas=2, steps=100, gaps=gaps))
    advice = advice_by_key(facts)["epoch-start"].advice
    assert ("Make one iterator before the loop" in advice) == is_each


def test_a_fit_whose_epochs_are_single_steps_is_to_have_longer_epochs(tmp_path: Path) -> None:
    line = stack_place("epoch-start", 9, "model.fit(x, y, epochs=300)")
    gaps = [(step, 20.0, line) for step in range(100)]
    facts = facts_of(write_run(tmp_path / "run", replicas=2, steps=100, gaps=gaps))
    advice = advice_by_key(facts)["epoch-start"].advice
    assert advice.startswith("An epoch of this fit() is a step or two")


@pytest.mark.parametrize(
    ("line", "is_once"),
    [
        ("model.fit(x, y, epochs=1, verbose=0)", True),
        ("history = model.fit(part)", True),
        ("model.fit(x, epochs=epoch + 1, initial_epoch=epoch)", True),
        ("model.fit(x, y, epochs=3)", False),
        ("model.fit(x, y, 32, 3)", False),
        ("model.fit(x, y, **options)", False),
        ("model.fit(", False),
    ],
)
def test_fit_for_one_epoch_that_is_called_again_and_again_is_to_be_called_once(
    line: str, is_once: bool, tmp_path: Path
) -> None:
    again = stack_place("epoch-start", 9, line, call="TensorFlowTrainer.fit")
    gaps = [(step, 400.0, again) for step in range(9, 100, 10)]
    facts = facts_of(write_run(tmp_path / "run", replicas=2, steps=100, gaps=gaps))
    advice = advice_by_key(facts)["epoch-start"].advice
    assert ("Call fit() once" in advice) == is_once
    assert ("Give fit() a dataset that repeats" in advice) == (not is_once)


def test_a_map_that_the_autotuner_made_parallel_is_to_be_so_without_it(tmp_path: Path) -> None:
    again = stack_place("epoch-start", 9, "model.fit(data, epochs=9)")
    gaps = [(step, 400.0, again) for step in range(9, 100, 10)]
    facts = facts_of(write_run(tmp_path / "run", replicas=1, steps=100, gaps=gaps))
    for text, is_plain in (("data.map(f)", True), ("data.map(f, num_parallel_calls=2)", False)):
        found = replace(facts, sources={"me/train.py": text})
        advice = advice_by_key(found)["epoch-start"].advice
        assert "autotune.enabled = False" in advice
        assert ("Give map() at train.py:1 num_parallel_calls" in advice) == is_plain
    of_arrays = replace(facts, sources={"me/train.py": "model.fit(x, y, epochs=9)"})
    advice = advice_by_key(of_arrays)["epoch-start"].advice
    assert advice.startswith("If fit() is given arrays, make a dataset of them")


def test_few_threads_come_before_what_follows_from_them(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    facts = facts_with_illness("straggler")
    assert facts.environment is not None
    environment = msgspec.structs.replace(facts.environment, threads=Threads(1, 0))
    works = advice_by_key(replace(facts, environment=environment))
    assert works["straggler"].caused_by is None, "its own work takes longer"
    assert works["inter-op-threads"].cost is None
    alike = tuple(replace(each, compute_ms=9.0) for each in facts.breakdown.replicas)
    breakdown = replace(facts.breakdown, replicas=alike)
    by_key = advice_by_key(replace(facts, environment=environment, breakdown=breakdown))
    assert by_key["straggler"].caused_by == "inter-op-threads"
    keys = list(by_key)
    assert keys.index("inter-op-threads") < keys.index("straggler")
    costs = [by_key[key].cost for key in ("inter-op-threads", "straggler")]
    assert costs[0] is not None
    assert costs[1] is not None
    assert advice_by_key(replace(facts, breakdown=breakdown))["straggler"].caused_by is None


def test_a_dense_gradient_costs_its_all_reduce_as_well(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    facts = facts_with_illness("communication-exposed")
    moved = facts.communication.collective_bytes
    assert moved is not None
    gradient = DenseGradient(op="UnsortedSegmentSum", device=DEVICE, bytes=moved / 2, ms=1.0)
    item = advice_by_key(replace(facts, placed=Placed(dense_gradients=(gradient,))))[
        "dense-gradient"
    ]
    transfer = facts.breakdown.mean_ms("transfer")
    assert transfer is not None
    assert item.cost is not None
    assert item.cost.ms == pytest.approx(1.0 + transfer / 2, rel=0.01)
    assert "The all-reduce of the result takes" in item.sentence


def test_a_dense_gradient_of_the_optimizer_costs_its_update_of_all_rows(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    """Of the update, the part by bytes of the variable and of what the optimizer keeps for it."""
    facts = facts_with_illness("communication-exposed")
    shares = {"UnsortedSegmentSum": 0.2, "AssignAddVariableOp": 0.4, "Sqrt": 0.1}
    ops = tuple(OpTime("adam", op, share) for op, share in shares.items())
    gradient = DenseGradient(
        op="adam/UnsortedSegmentSum",
        device=DEVICE,
        bytes=2_560_000.0,
        ms=1.0,
        share_of_variables=0.5,
    )
    dense = replace(facts, ops=ops, placed=Placed(dense_gradients=(gradient,)))
    cost, compute_ms = (
        advice_by_key(dense)["dense-gradient"].cost,
        facts.breakdown.mean_ms("compute"),
    )
    assert cost is not None
    assert compute_ms is not None
    of_all = replace(gradient, share_of_variables=1.0)
    whole = advice_by_key(replace(dense, placed=Placed(dense_gradients=(of_all,))))[
        "dense-gradient"
    ].cost
    assert whole is not None
    assert whole.ms - cost.ms == pytest.approx(0.25 * compute_ms, rel=0.02)


def test_a_dense_gradient_costs_what_else_is_computed_on_all_of_the_variable(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    facts = facts_with_illness("communication-exposed")
    ops = (OpTime("AddN", "UnsortedSegmentSum", 0.1, "/home/me/train.py:44"),)
    gradient = DenseGradient("AddN/UnsortedSegmentSum", DEVICE, 2_560_000.0, 1.0, others_ms=5.0)
    dense = replace(facts, ops=ops, placed=Placed(dense_gradients=(gradient,)))
    found, compute_ms = advice_by_key(dense)["dense-gradient"], facts.breakdown.mean_ms("compute")
    assert found.cost is not None
    assert compute_ms is not None
    assert found.cost.ms == pytest.approx(0.6 * compute_ms, rel=0.02)
    assert found.sentence.startswith("AddN/UnsortedSegmentSum at train.py:44 makes")
    assert "What else is computed on all of the variable takes" in found.sentence
    assert "tf.convert_to_tensor" in found.advice


def test_a_gradient_that_the_optimizer_makes_dense_has_advice_on_optimizers(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    facts = facts_with_illness("communication-exposed")
    ops = (OpTime("adam", "UnsortedSegmentSum", 0.1), OpTime("adam", "AssignSubVariableOp", 0.3))
    name = "StatefulPartitionedCall/adam/UnsortedSegmentSum"
    gradient = DenseGradient(name, DEVICE, 2_560_000.0, 1.0)
    found = advice_by_key(replace(facts, ops=ops, placed=Placed(dense_gradients=(gradient,))))[
        "dense-gradient"
    ]
    assert found.sentence.startswith("adam/UnsortedSegmentSum makes a sparse gradient dense")
    assert "SGD without momentum" in found.advice


def test_the_all_reduce_of_a_sparse_gradient_is_no_cost_of_the_dense_one(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    """What is made dense after the reduction is larger than what was reduced."""
    facts = facts_with_illness("communication-exposed")
    moved = facts.communication.collective_bytes
    assert moved is not None
    gradient = DenseGradient(op="UnsortedSegmentSum", device=DEVICE, bytes=moved * 2, ms=1.0)
    item = advice_by_key(replace(facts, placed=Placed(dense_gradients=(gradient,))))[
        "dense-gradient"
    ]
    assert item.cost is not None
    assert item.cost.ms == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.key)
def test_a_rule_says_what_it_does_why_and_what_to_do(rule: Any) -> None:
    assert re.findall(r"^## (.*)$", rule.text, re.MULTILINE) == [
        "What it does",
        "Why is this slow",
        "What to do",
    ]
    assert rule.text.split("\n")[0].endswith(".")
    assert rule.find.__module__.endswith(f".{rule.key.replace('-', '_')}")


@pytest.mark.parametrize("key", [rule.key for rule in RULES if rule.edits])
def test_proposed_changes_are_changes_of_the_spec(
    key: str, facts_with_illness: Callable[[str], Facts]
) -> None:
    facts = facts_with_illness(key)
    edits = advice_by_key(facts)[key].edits
    if edits:
        spec = RunSpec.model_validate(facts.segment.spec)
        assert spec.with_changes(edits) != spec


def test_the_lab_proposes_more_packs_more_batch_and_fewer_replicas(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    proposed = {key: advice_by_key(facts_with_illness(key))[key].edits for key in ILL}
    assert proposed["many-small-collectives"] == {"bytes_per_pack": 32_000_000}
    assert proposed["tiny-batch"] == {"global_batch_size": 64}
    assert proposed["shared-cores"] == {"devices": "cpu:2"}
    assert proposed["input-bound"] == {}, "no field of a spec changes a program's input pipeline"


def test_a_program_of_others_has_no_spec_to_change() -> None:
    facts = facts_of(EAGER)
    assert all(item.edits == {} for item in findings(facts))


def test_an_injected_delay_is_what_the_lab_takes_away(tmp_path: Path) -> None:
    delay = [{"replica": 1, "ms": 30.0}]
    run = write_run(tmp_path / "run", replicas=2, straggler=(1, 30.0), inject=delay)
    assert advice_by_key(facts_of(run))["straggler"].edits == {"inject": []}


def test_a_step_that_runs_op_by_op_names_the_line_that_calls() -> None:
    item = advice_by_key(facts_of(EAGER))["eager-step"]
    assert re.search(
        r"\(9\d %\) pass in calls into TensorFlow, most of them at eager\.py:17", (item.sentence)
    )
    assert item.cost is not None
    assert item.cost.source == "measured"


def test_partial_steps_that_take_their_share_cost_nothing(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    facts = partial(facts_with_illness("healthy"))
    short = np.where(
        facts.steps.examples == 17, 17 / 256 * facts.steps.wall_ms, facts.steps.wall_ms
    )
    by_key = advice_by_key(replace(facts, steps=replace(facts.steps, wall_ms=short)))
    assert "partial-batch" not in by_key
    assert "unsteady" not in by_key  # their length is that of their examples
    assert "17 of 256 examples" in advice_by_key(facts)["partial-batch"].sentence


def test_a_long_first_step_does_not_hide_partial_batches(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    """Of a short run it is most of the time."""
    facts = partial(facts_with_illness("healthy"))
    wall = facts.steps.wall_ms.copy()
    wall[0] = 20 * wall.sum()
    assert "partial-batch" in advice_by_key(
        replace(facts, steps=replace(facts.steps, wall_ms=wall))
    )


def test_copies_within_a_device_are_no_traffic_between_devices(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    facts = facts_with_illness("communication-exposed")
    copy = Traffic(
        send_device="/host:CPU",
        recv_device="/device:TPU:0",
        bytes=4e6,
        num_transfers=1,
        duration_ms=12.0,
        source="measured",
    )
    copies = replace(facts.communication, collectives=(), traffic=(copy,))
    alone = msgspec.structs.replace(facts.segment, cross_device_ops="")
    item = advice_by_key(replace(facts, communication=copies, segment=alone))[
        "communication-exposed"
    ]
    assert "copies tensors within a device or between it and its host" in item.sentence
    assert "cross-device" not in item.advice
    assert item.edits == {}


def test_a_prediction_comes_from_the_evidence_of_a_finding(
    facts_with_illness: Callable[[str], Facts],
) -> None:
    def predict(item: Finding) -> Gain | str:
        if item.key != "straggler":
            return "No edit."
        step_ms = 20.0 - item.evidence["late_ms"]
        return Gain(
            step_ms=step_ms,
            low_ms=4.0,
            high_ms=6.0,
            measured_ms=20.0,
            error=0.01,
            times_examples=1.0,
            is_bound=False,
            is_within_error=False,
            sentence="Without it.",
        )

    by_key = {item.key: item for item in findings(facts_with_illness("straggler"), predict)}
    late = by_key.pop("straggler")
    assert late.gain is not None
    assert late.gain.step_ms == pytest.approx(5.0, abs=0.5)
    assert {(item.gain, item.why_no_gain) for item in by_key.values()} <= {(None, "No edit.")}


@pytest.mark.parametrize(
    ("key", "removal"),
    [
        ("straggler", Removal("average-replica")),
        ("input-bound", Removal("free-input")),
        ("communication-exposed", Removal("free-ops", "communication", is_bound=True)),
        ("small-collective", Removal("free-ops", "communication", is_bound=True)),
        ("python-op", Removal("free-ops", "EagerPyFunc", is_bound=True)),
        ("debugging-ops", Removal("free-ops", "tf.print")),
        ("tiny-batch", Removal("spec", changes={"global_batch_size": 64})),
        (
            "other-algorithm",
            Removal("spec", changes={"cross_device_ops": "auto", "num_packs": 1}),
        ),
        ("dispatch", "Python around the calls of a step is not an op of the replayed step."),
    ],
)
def test_a_finding_names_what_removes_its_cause(
    key: str, removal: Removal | str, facts_with_illness: Callable[[str], Facts]
) -> None:
    assert advice_by_key(facts_with_illness(key))[key].removal == removal


@pytest.mark.parametrize(
    ("num_workers", "strategy"), [(1, "mirrored"), (2, "mirrored"), (1, IMPORTED)]
)
def test_a_replica_whose_batch_comes_later_is_sent_to_its_input(
    num_workers: int, strategy: str, facts_with_illness: Callable[[str], Facts]
) -> None:
    """Replicas of one process take their batches from one pipeline: none of them has an input.
    Those of an imported run may be processes of one host."""
    facts = facts_with_illness("straggler")
    segment = msgspec.structs.replace(facts.segment, num_workers=num_workers, strategy=strategy)
    facts = replace(facts, segment=segment)
    replicas = [
        replace(each, input_ms=15.0 if each.replica == 1 else 1.0)
        for each in facts.breakdown.replicas
    ]
    breakdown = replace(facts.breakdown, replicas=tuple(replicas))
    works = advice_by_key(replace(facts, breakdown=breakdown))
    if num_workers == 1 and strategy != IMPORTED:
        assert "straggler" not in works
        return
    item = works["straggler"]
    assert item.advice.startswith("Its batch takes 14.0 ms longer than those of the others.")
    assert item.evidence["input_longer_ms"] == pytest.approx(14.0)
    assert advice_by_key(facts)["straggler"].evidence["input_longer_ms"] is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.key)
def test_every_rule_names_a_removal_or_the_reason(rule: Any) -> None:
    if isinstance(rule.removal, str):
        assert rule.removal.endswith(".")
    else:
        assert rule.removal.__doc__
