"""A cause that was planted in a program of somebody else's is the first that the lab tells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

import strategy_profiles
from strategy_profiles.analysis.causes import held_up
from strategy_profiles.analysis.findings import ASIDE, ONCE, Finding, findings, gather_facts
from strategy_profiles.run.events import Failed
from strategy_profiles.tables.schema import CALLS
from tests.foreign.both_ways import runner

pytestmark = [pytest.mark.run, pytest.mark.slow]

CALL = r"program\.py:\d+"
FAILING = {
    "two-strategies": "shared-collective-key",
    "shapes-differ": "shared-collective-key",
    "compiled-step": "xla-across-devices",
    "compiled-fit": "xla-across-devices",
    "optimizer-not-built": "variables-in-first-step",
    "model-not-built": "variables-in-first-step",
}
"""Programs that fail, and the rule that says why."""
OFF_DEVICE = "variable-off-device"
Planted = Callable[..., strategy_profiles.Profile]
Recorded = Callable[[str], list[Finding]]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    """The run of a planted program, recorded once in a process of its own."""
    folder = tmp_path_factory.mktemp("planted")
    with runner(folder) as running:

        @cache
        def run(kind: str, attempt: int = 1) -> strategy_profiles.Profile:
            path = folder / f"{kind}-{attempt}"
            ran = running.run("tests.planted.program", is_traced=False, arguments=(kind, str(path)))
            assert (ran.code != 0) == (kind in FAILING), ran.errors
            return strategy_profiles.load(path)

        yield run


@pytest.fixture
def recorded(request: pytest.FixtureRequest, planted: Planted) -> Recorded:
    """The findings of a planted program, which a second try records again."""
    attempt = getattr(request.node, "execution_count", 1)

    def findings_of(kind: str) -> list[Finding]:
        profile = planted(kind) if attempt == 1 else planted(kind, attempt)
        return list(findings(gather_facts(profile, profile.segments[0])))

    return findings_of


def first(reported: list[Finding]) -> Finding:
    """The first finding about a usual step: recording and the first step cost a short run most."""
    return next(item for item in reported if item.key not in (*ASIDE, ONCE))


def test_retracing_is_reported_with_the_argument_and_its_length(recorded: Recorded) -> None:
    finding = first(recorded("retracing"))
    assert finding.key == "retracing"
    assert re.match(
        r"train_step is traced again in 23 of the 23 steps after the first", finding.sentence
    )
    assert "argument `scale` is a Python value that changes (1.0" in finding.sentence
    assert re.search(r"Building its graph takes \d+ % of a captured step \(", finding.sentence)


def test_work_of_the_host_in_the_step_is_reported_with_its_line(recorded: Recorded) -> None:
    finding = first(recorded("host-round-trip"))
    assert finding.key == "host-round-trip"
    assert re.search(
        r"runs Python at program\.py:\d+ \(`(for number in|value \+=)", finding.sentence
    )


def test_ops_of_a_replica_on_another_device_are_reported_with_device_and_bytes(
    recorded: Recorded,
) -> None:
    finding = first(recorded("pinned-op"))
    assert finding.key == "detour"
    assert "of replica 0 runs on CPU:1, not on its own device" in finding.sentence
    there = back = 16 * 64 * 4
    assert finding.evidence["bytes"] == there + back


def test_a_table_on_the_device_of_another_replica_is_reported(recorded: Recorded) -> None:
    (finding,) = [item for item in recorded("variable-of-another") if item.key == OFF_DEVICE]
    assert "is on CPU:1, the device of one replica: the others copy 16.0 MB" in finding.sentence
    assert finding.evidence["copied_ms"] > 0


@pytest.mark.parametrize(
    ("kind", "device"), [("captured-table", "CPU:0"), ("captured-table-of-another", "CPU:1")]
)
def test_a_captured_tensor_that_is_copied_in_each_step_is_named(
    kind: str, device: str, recorded: Recorded
) -> None:
    (finding,) = [item for item in recorded(kind) if item.key == "implicit-copy"]
    assert f"is on {device}, the device of one replica" in finding.sentence
    assert finding.evidence["bytes"] == 16_000 * 64 * 4


@pytest.mark.parametrize("kind", ["generator", "generator-prefetched"])
def test_a_slow_generator_under_fit_is_named_as_the_limiting_stage(
    kind: str, recorded: Recorded
) -> None:
    finding = first(recorded(kind))
    assert finding.key == "input-bound"
    assert "reads inside the step" in finding.sentence
    assert (
        "The limiting stage is the Python generator (from_generator, PyDataset)" in finding.sentence
    )
    assert finding.evidence["stage_ms"] >= 50.0
    assert ("Prefetch > Rebatch > Prefetch" in finding.sentence) == (kind == "generator-prefetched")


def test_python_in_a_prefetched_map_is_a_cause_while_calls_hold_up_the_step(
    planted: Planted,
) -> None:
    """Whether the calls themselves are a finding depends on how quick the machine is."""
    held = held_up(planted("python-prefetched"), 0)
    (op,) = held.of_kind("input-python-ahead")
    assert (op.name, op.detail) == ("PyFunc", "PyFunc")
    calls_ms = held.held_ms(*CALLS)
    assert 0.2 * calls_ms < op.held_ms <= 1.01 * calls_ms


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("kind", FAILING)
def test_why_a_program_failed_is_named(kind: str, recorded: Recorded) -> None:
    assert [item.key for item in recorded(kind)] == [FAILING[kind]]


def test_tensors_of_different_shapes_are_distinguished_from_two_strategies(
    recorded: Recorded,
) -> None:
    (differ,), (two,) = recorded("shapes-differ"), recorded("two-strategies")
    assert re.match(f"The run ended at {CALL} because the members of a coll", differ.sentence)
    assert differ.sentence.endswith("([1024] and [960]): the replicas' tensors differ.")
    assert "one shape in all replicas" in differ.advice
    assert "strategy" not in differ.advice
    assert "the program has 2 strategies" in two.sentence
    assert "one strategy for the whole program" in two.advice


@pytest.mark.parametrize("kind", ["compiled-step", "compiled-fit"])
def test_the_line_that_ran_the_compiled_step_is_named(kind: str, recorded: Recorded) -> None:
    (finding,) = recorded(kind)
    assert re.match(f"The run ended at {CALL} because XLA compiled", finding.sentence)


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("kind", ["optimizer-not-built", "model-not-built"])
def test_what_to_build_before_the_first_step_is_said(kind: str, recorded: Recorded) -> None:
    (finding,) = recorded(kind)
    assert re.match(f"The run ended at {CALL} because the first step created var", finding.sentence)
    assert "optimizer.build(model.trainable_variables)" in finding.advice


@pytest.mark.parametrize("kind", ["shapes-differ", "compiled-fit"])
def test_the_run_has_the_traceback_of_the_program(kind: str, planted: Planted) -> None:
    (failed,) = planted(kind).events(Failed)
    assert failed.detail.startswith("Traceback (most recent call last)")
    assert "tests/planted/program.py" in failed.detail


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("kind", ["float64", "float64-fit"])
def test_a_step_that_computes_in_float64_is_reported_with_its_op(
    kind: str, recorded: Recorded
) -> None:
    (finding,) = [item for item in recorded(kind) if item.key == "float64"]
    assert any(op in finding.evidence["op"] for op in ("MatMul", "SplitV")), "of layer or optimizer"
    assert finding.evidence["share_of_compute"] > 0.5


def test_float64_leads_if_it_is_all_that_is_planted(recorded: Recorded) -> None:
    assert first(recorded("float64")).key == "float64"


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("kind", ["float16", "float16-fit"])
def test_a_step_that_computes_in_float16_on_cpus_is_reported(kind: str, recorded: Recorded) -> None:
    (finding,) = [item for item in recorded(kind) if item.key == "float16-on-cpu"]
    assert "ops that compute in float16 on CPUs" in finding.sentence


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("kind", ["one-thread", "one-thread-fit"])
def test_replicas_that_share_one_thread_never_compute_together(
    kind: str, recorded: Recorded
) -> None:
    (finding,) = [item for item in recorded(kind) if item.key == "inter-op-threads"]
    assert finding.evidence["num_threads"] == 1
    assert finding.evidence["computing_together"] < 0.02
    assert "run one after the other" in finding.sentence


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("kind", ["loop-of-small-ops", "loop-of-products"])
def test_the_start_of_small_ops_is_not_blamed_on_python(kind: str, recorded: Recorded) -> None:
    keys = [item.key for item in recorded(kind)]
    assert "dispatch" not in keys[: keys.index("small-ops")]
    finding = recorded(kind)[keys.index("small-ops")]
    assert finding.evidence["loop"] == "while"


@pytest.mark.long(keep=1)
@pytest.mark.parametrize(
    ("kind", "op"),
    [("printing", "StringFormat"), ("checking", "Check"), ("checking-each-op", "DebugNumeric")],
)
def test_ops_that_print_and_check_are_named(kind: str, op: str, recorded: Recorded) -> None:
    (finding,) = [item for item in recorded(kind) if item.key == "debugging-ops"]
    assert op in finding.sentence


@pytest.mark.long(keep=2)
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("between-steps", "between-steps"),
        ("slow-callback", "callback"),
        ("saving-each-seventh", "callback"),
        ("saving-each-epoch", "callback"),
        ("validated-each-epoch", "validation"),
    ],
)
def test_what_the_program_does_between_its_steps_leads_and_is_named(
    kind: str, key: str, recorded: Recorded
) -> None:
    finding = first(recorded(kind))
    assert finding.key == key
    assert finding.evidence["place"].startswith("program.py:")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["unsteady", "unsteady-branch"])
def test_steps_whose_work_depends_on_the_batch_are_unsteady(kind: str, recorded: Recorded) -> None:
    assert "unsteady" in {item.key for item in recorded(kind)}


def test_a_healthy_program_is_blamed_for_nothing(recorded: Recorded) -> None:
    blamed = {item.key for item in recorded("healthy")}
    assert not blamed & {
        "retracing", "host-round-trip", "detour", "input-bound", "idle", "dispatch", "python-op",
        "float64", "inter-op-threads", "implicit-copy",
    }  # fmt: skip
