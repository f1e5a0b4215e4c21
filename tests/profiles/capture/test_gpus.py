"""Captures of GPUs as TensorFlow's collector writes them, with the figures that they must give.

Nothing here has run on a GPU: the captures are made after the collector's source.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from strategy_profiles.capture import xspace
from strategy_profiles.capture.convert import WindowOf, to_tables
from strategy_profiles.capture.graph import Graph
from strategy_profiles.capture.joined import Joined, join
from tests.made_xplane import MadeLine, MadePlane, started
from tests.made_xplane import xspace as made_xspace
from tests.profiles.capture.xspace_builder import integer, message
from tests.replaced import replace
from tests.synthetic.gpus import BYTES, EPOCH_NS, Cards

LATE = 20.0
NUMBERS = ("compute", "transfer", "wait", "input", "idle", "communication", "exposed")
CASES = {
    "one GPU": Cards(num=1),
    "two GPUs": Cards(),
    "one of two is late": Cards(late_ms=LATE),
    "one of eight is late": Cards(num=8, late_ms=LATE),
    "launches on a plane of their own": Cards(late_ms=LATE, is_merged=False),
    "kernels run behind their step": Cards(late_ms=LATE, is_ahead=True),
    "the program has the second card": Cards(num=1, first=1),
    "two cards from the second on": Cards(first=1, late_ms=LATE),
    "kernels of CUDA graphs, without ops": Cards(late_ms=LATE, with_ops=False),
    "a sum on the first GPU": Cards(num=3, late_ms=LATE, by_copies=True),
    "copies that their receives start": Cards(
        num=3, late_ms=LATE, by_copies=True, is_received=True
    ),
    "a sum, run behind its step": Cards(late_ms=LATE, by_copies=True, is_ahead=True),
    "four logical GPUs on one card": Cards(num=4, per_card=4, late_ms=LATE, by_copies=True),
}


def _joined(cards: Cards) -> Joined:
    return join(xspace.decode(cards.capture()), cards.graph())


def _tables(cards: Cards) -> dict[str, list[dict[str, Any]]]:
    tables = to_tables(_joined(cards), WindowOf(0, 0))
    return {name: table.to_pylist() for name, table in tables.items()}


@pytest.mark.parametrize("case", CASES)
def test_each_phase_of_each_gpu_is_what_ran(case: str) -> None:
    cards = CASES[case]
    rows = _tables(cards)["replica_steps"]
    assert len(rows) == cards.num * cards.steps
    truth = cards.truth()
    for row in rows:
        numbers = {name: row[f"{name}_ms"] for name in NUMBERS}
        expected = truth[row["step"]][row["replica"]]
        assert numbers == pytest.approx(expected, rel=0.01, abs=0.02), row
        assert row["clock"] == "device"
        assert row["device"] == cards.devices[row["replica"]]


@pytest.mark.parametrize("is_ahead", [False, True])
def test_a_collective_lasts_as_long_as_its_nccl_kernel(is_ahead: bool) -> None:
    rows = _tables(Cards(late_ms=LATE, is_ahead=is_ahead))["collectives"]
    of_step = [row for row in rows if row["step"] == 1]
    numbers = {
        (row["name"], row["replica"]): (round(row["wait_ms"], 2), round(row["transfer_ms"], 2))
        for row in of_step
    }
    assert numbers == {
        ("Adam/CollectiveReduceV2_0_0", 0): (20, 4),
        ("Adam/CollectiveReduceV2_0_1", 1): (0, 4),
        ("Adam/CollectiveReduceV2_1_0", 0): (6, 6),
        ("Adam/CollectiveReduceV2_1_1", 1): (0, 6),
    }
    assert {row["op"] for row in of_step} == {"all-reduce"}
    assert {row["group_size"] for row in of_step} == {2}
    assert {row["bytes"] for row in of_step} == {BYTES}
    assert {round(row["busbw_gbps"], 3) for row in of_step} == {1.0, 0.667}


@pytest.mark.parametrize(
    ("collective", "op", "num_bytes"),
    [
        ("AllReduce", "all-reduce", BYTES),
        ("AllGather", "all-gather", BYTES),
        ("ReduceScatter", "reduce-scatter", 2 * BYTES),
    ],
)
def test_nccl_kernels_of_unknown_launches_are_matched_across_gpus(
    collective: str, op: str, num_bytes: int
) -> None:
    """The kernel has the bytes of its output, of which a reduce-scatter has a share per member."""
    cards = Cards(late_ms=LATE, collective=collective)
    joined = join(xspace.decode(cards.capture()), Graph([], cards.devices))
    rows = to_tables(joined, WindowOf(0, 0))["collectives"].to_pylist()
    late = [row["wait_ms"] for row in rows if row["replica"] == 0 and row["step"] == 0]
    assert late == pytest.approx([20, 6])
    assert {(row["op"], row["name"], row["bytes"]) for row in rows} == {(op, None, num_bytes)}


def test_a_kernel_belongs_to_the_step_that_launched_it() -> None:
    """The last of four steps ends on the host after 19 ms, and on the GPU after 294 ms."""
    cards = Cards(late_ms=LATE, is_ahead=True)
    spans = _tables(cards)["spans"]
    kernels = [row for row in spans if row["op"] == "ResourceApplyGradientDescent"]
    assert [row["step"] for row in sorted(kernels, key=lambda row: row["start_ns"])] == [
        0, 0, 1, 1, 2, 2, 3, 3,
    ]  # fmt: skip
    assert max(row["start_ns"] for row in kernels) > EPOCH_NS + 250 * 10**6


def test_a_sum_on_one_gpu_is_an_all_reduce_with_its_copies() -> None:
    tables = _tables(Cards(late_ms=LATE, by_copies=True))
    waits = {
        row["replica"]: (row["op"], round(row["wait_ms"], 1), row["source"])
        for row in tables["collectives"]
        if row["step"] == 0
    }
    assert waits == {0: ("all-reduce", 20.0, "derived"), 1: ("all-reduce", 0.0, "derived")}
    copies = [row for row in tables["transfers"] if row["step"] == 0]
    between = [row for row in copies if "GPU" in row["send_device"]]
    transfers = {(row["tensor"], round(row["duration_ms"], 2)) for row in between}
    assert transfers == {("replica_1/grad/MatMul_2", 5.0), ("AddN", 5.0)}
    assert {row["bytes"] for row in between} == {BYTES}


def test_the_op_that_starts_a_copy_does_not_tell_its_device() -> None:
    """A receive starts the copy that the other card makes. Two functions may name an edge alike."""
    cards = Cards(by_copies=True, is_received=True)
    nodes = [replace(node, tensor=None) for node in cards.graph().nodes]
    joined = join(xspace.decode(cards.capture()), Graph(nodes, cards.devices))
    spans = to_tables(joined, WindowOf(0, 0))["spans"].to_pylist()
    between = Counter(row["device"] for row in spans if row["op"] == "MemcpyP2P")
    assert between == dict.fromkeys(cards.devices, cards.steps)


def test_a_gpu_that_idles_until_a_launch_says_so() -> None:
    """The host launches the update 30 ms after the last collective: the GPU idles meanwhile."""
    cards = Cards(launch_late_ms=30.0)
    tables = _tables(cards)
    (row, *_) = tables["replica_steps"]
    assert row["idle_ms"] == pytest.approx(cards.truth()[0][0]["idle"], rel=0.01)
    launch_causes = [cause for cause in tables["causes"] if cause["kind"] == "launch"]
    assert [(cause["step"], cause["replica"]) for cause in launch_causes] == [
        (step, replica) for replica in range(2) for step in range(4)
    ]
    assert {cause["count"] for cause in launch_causes} == {7}
    # Beside it, each step begins with what passes until its first launch.
    assert {round(cause["held_ms"]) for cause in launch_causes} == {30}
    assert [cause for cause in tables["causes"] if cause["kind"] == "between-ops"] == []


def test_a_gpu_whose_kernels_are_launched_ahead_does_not_idle_for_launches() -> None:
    causes = _tables(Cards(late_ms=LATE, is_ahead=True))["causes"]
    assert [cause for cause in causes if cause["kind"] == "launch"] == []


def test_logical_gpus_of_one_card_have_rows_of_their_own() -> None:
    rows = _tables(CASES["four logical GPUs on one card"])["replica_steps"]
    compute = {row["replica"]: round(row["compute_ms"]) for row in rows}
    assert compute == {0: 43, 1: 42, 2: 42, 3: 62}


def test_a_gpu_without_kernels_has_no_phases_but_a_reason() -> None:
    said = [
        "CUPTI could not be loaded or symbol could not be found.",
        "Detected GPU events dropped on box: Profiler has collected 8 driver events.",
    ]
    cards = Cards(with_kernels=False, errors=said[:1], warnings=said[1:])
    joined = _joined(cards)
    assert to_tables(joined, WindowOf(0, 0))["replica_steps"].num_rows == 0
    first, *rest = joined.problems
    assert first == "TensorFlow's profiler recorded nothing that GPU:0 and GPU:1 ran"
    assert rest == [f"TensorFlow's profiler said: {text.rstrip('.')}" for text in said]


def test_a_capture_that_dropped_events_says_so() -> None:
    dropped = "Detected GPU events dropped on box: 5 events dropped because of a limit."
    joined = _joined(Cards(warnings=[dropped]))
    assert joined.problems == (f"TensorFlow's profiler said: {dropped.rstrip('.')}",)
    assert _joined(Cards()).problems == ()


def test_instructions_of_a_tpu_core_are_read() -> None:
    reduce = "%all-reduce.1 = f32[1000]{0} all-reduce(f32[1000]{0} %fusion.1), to_apply=%add"
    ms = 10**9
    cores = [
        MadePlane(
            f"/device:TPU:{core}",
            [
                MadeLine("XLA Modules", [("jit_step(7)", ms, 18 * ms, {})], 1),
                MadeLine(
                    "XLA Ops",
                    [
                        ("%fusion.1 = f32[1000]{0} fusion(f32[1000]{0} %p)", ms, 12 * ms, {}),
                        (reduce, 13 * ms, 6 * ms, {}),
                    ],
                    2,
                ),
            ],
        )
        for core in range(2)
    ]
    host = MadePlane("/host:CPU", [MadeLine("main", [("train", 0, 20 * ms, {"step_num": 3})])])
    devices = [f"/job:worker/replica:0/task:0/device:TPU:{core}" for core in range(2)]
    # A real file numbers its programs, which are no events, with 64 bits.
    program = integer(1, 2433868464432466958) + message(2, message(2, b"jit_step"))
    programs = message(1, message(2, b"/host:metadata") + message(4, program))
    data = made_xspace([*cores, host, started(EPOCH_NS)]) + programs
    joined = join(xspace.decode(data), Graph([], devices))
    rows = to_tables(joined, WindowOf(0, 0))["replica_steps"].to_pylist()
    times = {(row["replica"], row["compute_ms"], row["transfer_ms"]) for row in rows}
    assert times == {(0, 12.0, 6.0), (1, 12.0, 6.0)}
