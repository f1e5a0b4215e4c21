"""Each reason for slowness is found where it is, and not where it is not."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_profiles.analysis.account.account import Account
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.breakdown import UNDIVIDED
from strategy_profiles.analysis.cost import Cost
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.findings import (
    Finding,
    findings,
    gather_facts,
    main_finding,
    ranked,
    within_rows,
)
from strategy_profiles.analysis.headline import headline
from strategy_profiles.analysis.input_share import InputShare
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.analysis.longer_op import LongerOp, longer_op
from strategy_profiles.analysis.placed import CopiedVariables, Placed, PlacedVariable
from strategy_profiles.analysis.python_in_ops import PythonInOps
from strategy_profiles.answers.answer import Code
from strategy_profiles.questions.loop import loop
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import SourceLine, StackFrame
from strategy_profiles.run.events import EXIT_CODE
from tests.event_records import read_records, write_records
from tests.replaced import replace
from tests.synthetic import write_run
from tests.synthetic.stacks import stack_place


def findings_of_run(folder: Path, **options: Any) -> dict[str, Finding]:
    profile = strategy_profiles.load(write_run(folder, **options))
    return {item.key: item for item in findings(gather_facts(profile, profile.segments[0]))}


def test_a_healthy_run_is_limited_by_its_computation_alone(tmp_path: Path) -> None:
    by_key = findings_of_run(tmp_path / "run", replicas=2, steps=1000, step_ms=100.0)
    assert list(by_key) == ["computation"]


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("straggler", {"straggler": (1, 15.0)}),
        ("input-bound", {"input_ms": 10.0}),
        ("communication-exposed", {"transfer_ms": 12.0}),
        ("many-small-collectives", {"collective_bytes": (1000,) * 20}),
        ("tiny-batch", {"global_batch_size": 4, "step_ms": 1.0}),
        ("idle", {"idle_ms": 15.0}),
        ("shared-cores", {"replicas": 4}),
        ("tracing", {"tracing_ms": 20_000.0}),
        ("unsteady", {"noise": 0.8}),
        ("costly-capture", {"steps": 60}),
        ("loss-lost", {"nan_loss_from": 40}),
    ],
)
def test_a_reason_is_found_with_evidence_and_advice(
    tmp_path: Path, key: str, options: dict[str, Any]
) -> None:
    healthy = findings_of_run(tmp_path / "healthy", replicas=2, steps=300)
    ill = findings_of_run(tmp_path / "ill", **{"replicas": 2, "steps": 300, **options})
    assert key not in healthy
    assert ill[key].sentence.endswith(".")
    assert ill[key].advice.endswith(".")
    assert ill[key].evidence


def test_the_largest_share_comes_first(tmp_path: Path) -> None:
    by_key = findings_of_run(
        tmp_path / "run", replicas=2, steps=300, straggler=(1, 60.0), input_ms=20.0
    )
    assert list(by_key)[:2] == ["straggler", "input-bound"]
    lost = findings_of_run(
        tmp_path / "lost", replicas=2, steps=300, input_ms=20.0, nan_loss_from=40
    )
    assert list(lost)[:2] == ["loss-lost", "input-bound"], "what is wrong, before what is slow"


def test_a_loss_that_a_program_did_not_record_is_not_called_lost(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=300, nan_loss_from=0)
    profile = strategy_profiles.load(run)
    segment = msgspec.structs.replace(profile.segments[0], spec={"parameter_servers": 2})
    keys = [item.key for item in findings(gather_facts(profile, segment))]
    assert "loss-lost" not in keys


@pytest.mark.parametrize(("num_known", "is_found"), [(15, True), (5, False)])
def test_small_collectives_are_known_by_the_sizes_of_most_of_them(
    num_known: int, is_found: bool, tmp_path: Path
) -> None:
    """The sizes of tensors whose shape is known at run time alone are missing."""
    sizes = (1000,) * 20
    run = write_run(tmp_path / "run", replicas=2, steps=300, collective_bytes=sizes)
    for path in run.glob("worker-*/window-*/collectives.parquet"):
        table = pq.read_table(path)
        size = [
            bytes_of if number % len(sizes) < num_known else None
            for number, bytes_of in enumerate(table["bytes"].to_pylist())
        ]
        at = table.schema.get_field_index("bytes")
        pq.write_table(table.set_column(at, table.schema.field(at), [size]), path)
    profile = strategy_profiles.load(run)
    by_key = {item.key: item for item in findings(gather_facts(profile, profile.segments[0]))}
    assert ("many-small-collectives" in by_key) == is_found
    if is_found:
        assert "20 all-reduce calls a step move 1.00 kB each" in (
            by_key["many-small-collectives"].sentence
        )


def test_communication_says_how_many_calls_move_how_much(tmp_path: Path) -> None:
    options = {"transfer_ms": 30.0, "collective_bytes": (48_000_000, 2_000_000)}
    found = findings_of_run(tmp_path / "run", replicas=2, steps=300, **options)
    assert found["communication-exposed"].sentence.endswith("Its 2 all-reduce calls move 50.0 MB.")


def test_advice_names_only_knobs_that_the_strategy_has(tmp_path: Path) -> None:
    small = {"replicas": 2, "steps": 300, "collective_bytes": (1000,) * 20}
    ring = findings_of_run(tmp_path / "ring", **small)["many-small-collectives"]
    assert "bytes_per_pack" in ring.advice
    run = write_run(tmp_path / "tpu", strategy="tpu", **small)
    profile = strategy_profiles.load(run)
    segment = msgspec.structs.replace(profile.segments[0], cross_device_ops="cross-replica-sum")
    by_key = {item.key: item for item in findings(gather_facts(profile, segment))}
    assert "pack" not in by_key["many-small-collectives"].advice.lower()


@pytest.mark.parametrize(
    ("slowdown", "advice"),
    [(1.003, "starts each step later"), (1.5, "divided evenly among the replicas, makes")],
)
def test_a_straggler_that_works_no_longer_than_the_others_has_begun_later(
    slowdown: float, advice: str, tmp_path: Path
) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", straggler=(1, 15.0)))
    facts = gather_facts(profile, profile.segments[0])
    worst = facts.stragglers.straggler
    assert worst is not None
    changed = replace(worst, slowdown=slowdown)
    known = replace(facts.stragglers, straggler=changed, late=(changed,))
    by_key = {item.key: item for item in findings(replace(facts, stragglers=known))}
    assert advice in by_key["straggler"].advice


def test_a_straggler_whose_work_only_varies_has_begun_later(tmp_path: Path) -> None:
    """Steps in which it works longer add up, also if it works less in the others."""
    profile = strategy_profiles.load(write_run(tmp_path / "run", replicas=2, straggler=(1, 15.0)))
    facts = gather_facts(profile, profile.segments[0])
    assert facts.stragglers.straggler is not None
    assert "Its own work takes longer" in _advice_on_late(facts)
    rows = tuple(
        replace(row, compute_ms=4.0 if row.replica else 5.0, delay_ms=None)
        for row in facts.breakdown.replicas
    )
    varied = replace(facts, breakdown=replace(facts.breakdown, replicas=rows))
    assert "does no more work than the others" in _advice_on_late(varied)


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ((1465.0, 200.0), "1,465 times a step, another replica 200 times. Compare the data"),
        ((20.0, 20.0), "The others run it as often, so it has larger tensors"),
        ((20.0, 0.0), "No other replica on time runs it."),
    ],
)
def test_advice_on_a_late_replica_names_the_op_that_makes_its_work_longer(
    counts: tuple[float, float], says: str, tmp_path: Path
) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", straggler=(1, 15.0)))
    facts = gather_facts(profile, profile.segments[0])
    asked = []

    def longer(replica: int, others: Collection[int]) -> LongerOp:
        asked.append((replica, set(others)))
        return LongerOp("MatMul", "/work/train.py:68", 12.0, *counts)

    advice = _advice_on_late(replace(facts, read_longer_op=longer))
    assert "longer, most of all in `MatMul` at train.py:68, by 12.0 ms a step." in advice
    assert says in advice
    assert asked == [(1, {0, 2, 3})]


def test_the_op_that_a_late_replica_runs_longer_is_found_in_its_spans(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", straggler=(1, 15.0)))
    found = longer_op(profile, 0, 1, {0})
    assert found is not None
    ops = profile.table("spans").to_pylist()
    sums = [
        sum(row["duration_ns"] for row in ops if (row["replica"], row["op"]) == (r, found.op))
        for r in (0, 1)
    ]
    num_steps = len({row["step"] for row in ops})
    assert found.longer_ms == pytest.approx((sums[1] - sums[0]) / 1e6 / num_steps, rel=0.1)
    assert found.count == found.count_of_others


def _advice_on_late(facts: Facts) -> str:
    return next(item.advice for item in findings(facts) if item.key == "straggler")


def test_lateness_in_captured_steps_is_a_share_of_those_steps(tmp_path: Path) -> None:
    """Without timestamps only captured steps tell it, and these may take longer or shorter."""
    profile = strategy_profiles.load(write_run(tmp_path / "run", straggler=(1, 60.0)))
    facts = gather_facts(profile, profile.segments[0])
    median_ms = facts.steps.median_ms or 0.0
    for factor, length in ((1.1, ""), (2.0, f", which took {units.milliseconds(2 * median_ms)}")):
        known = replace(facts.stragglers, source="measured", step_ms=factor * median_ms)
        by_key = {item.key: item for item in findings(replace(facts, stragglers=known))}
        late = by_key["straggler"]
        assert late.sentence.endswith(f"in 100 % of the captured steps{length}.")
        assert late.cost is not None
        steps = facts.account.row("loop/steps")
        wait = facts.account.row("loop/steps/wait")
        of_steps = facts.stragglers.late[0].late_ms / (factor * median_ms)
        claimed = of_steps * facts.account.share(steps)
        assert late.cost.share == pytest.approx(min(claimed, facts.account.share(wait)))
        assert "divided evenly among the replicas" in late.advice


def test_every_late_replica_is_named_with_its_delay(tmp_path: Path) -> None:
    finding = findings_of_run(tmp_path / "run", straggler=(1, 60.0), also_late=(2, 30.0))[
        "straggler"
    ]
    assert re.match(
        r"Replica 1 is late by (59|60)\.\d ms and replica 2 is late by (29|30)\.\d ms: the others "
        r"wait for replica 1 in 100 % of the steps, and would wait for replica 2 in "
        r"100 % without replica 1",
        finding.sentence,
    )


def test_advice_on_several_late_replicas_says_which_one_it_means(tmp_path: Path) -> None:
    finding = findings_of_run(tmp_path / "run", straggler=(1, 60.0), also_late=(2, 30.0))[
        "straggler"
    ]
    assert finding.advice.startswith("Replica 1 is the latest. Its own work takes longer.")


def test_a_delay_that_the_lab_injected_is_named_and_nothing_else_is_blamed(tmp_path: Path) -> None:
    delay = {"replica": 1, "ms": 30.0}
    finding = findings_of_run(tmp_path / "run", straggler=(1, 30.0), inject=[delay])["straggler"]
    assert finding.sentence.startswith("Replica 1 is late because of the injected delay of 30 ms: ")
    assert finding.advice == "Remove the injected delay to measure the program without it."


def test_an_injected_delay_of_another_worker_is_named_by_its_replica_in_the_run(
    tmp_path: Path,
) -> None:
    options = {"replicas": 4, "workers": 2, "clock_ahead_ms": (0.0, 0.0)}
    delay = {"replica": 1, "worker": 1, "ms": 30.0}
    by_key = findings_of_run(tmp_path / "run", straggler=(3, 30.0), inject=[delay], **options)
    assert (
        "eplica 3 of worker 1 is late because of the injected delay" in by_key["straggler"].sentence
    )


def test_an_injected_delay_explains_its_part_and_no_more(tmp_path: Path) -> None:
    delay = {"replica": 1, "ms": 30.0}
    finding = findings_of_run(tmp_path / "run", straggler=(1, 90.0), inject=[delay])["straggler"]
    assert finding.sentence.endswith("The lab injected 30.0 ms into replica 1.")
    assert re.match(
        r"The injected delay explains 30\.0 ms of the (89|90)\.\d ms by which replica 1 is late: "
        r"remove it to measure the rest\. Its own work takes longer\.",
        finding.advice,
    )


def test_of_several_late_replicas_the_one_is_named_whose_lateness_a_delay_explains_in_part(
    tmp_path: Path,
) -> None:
    options = {"straggler": (3, 90.0), "also_late": (1, 60.0)}
    delays = [{"replica": 3, "ms": 90.0}, {"replica": 1, "ms": 30.0}]
    finding = findings_of_run(tmp_path / "run", inject=delays, **options)["straggler"]
    assert "replica 3 is late because of the injected delay" in finding.sentence.lower()
    assert "by which replica 1 is late: remove it" in finding.advice


def test_a_delay_that_is_longer_than_a_replica_is_late_explains_it(tmp_path: Path) -> None:
    """Others may be late by something else meanwhile, as workers that share cores."""
    delay = {"replica": 1, "ms": 90.0}
    finding = findings_of_run(tmp_path / "run", straggler=(1, 40.0), inject=[delay])["straggler"]
    assert finding.advice == "Remove the injected delay to measure the program without it."


def test_an_injected_delay_explains_no_other_replica(tmp_path: Path) -> None:
    delay = {"replica": 0, "ms": 30.0}
    finding = findings_of_run(tmp_path / "run", straggler=(1, 90.0), inject=[delay])["straggler"]
    assert finding.advice.startswith("The injected delay does not explain replica 1.")


def test_no_advice_guesses_an_injected_delay(tmp_path: Path) -> None:
    finding = findings_of_run(tmp_path / "run", straggler=(1, 30.0))["straggler"]
    assert "inject" not in finding.sentence + finding.advice


def test_the_input_of_a_median_step_is_given_in_medians(tmp_path: Path) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", replicas=2, steps=300, input_ms=10.0)
    )
    facts = gather_facts(profile, profile.segments[0])
    by_key = {item.key: item for item in findings(facts)}["input-bound"]
    match = re.match(
        r"The median step waits (\S+) ms for its batch, (\d+) % of it", by_key.sentence
    )
    assert match
    waited, percent = map(float, match.groups())
    assert facts.steps.median_ms
    assert percent == pytest.approx(100 * waited / facts.steps.median_ms, abs=1.0)


def test_the_advice_to_workers_that_agree_on_each_batch_is_to_repeat_the_dataset(
    tmp_path: Path,
) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", replicas=2, steps=300, input_ms=10.0)
    )
    facts = gather_facts(profile, profile.segments[0])
    assert not facts.input_collectives
    agreeing = replace(
        facts,
        segment=msgspec.structs.replace(facts.segment, num_workers=2),
        read_input_collectives=lambda: 1.0,
    )
    by_key = {item.key: item for item in findings(agreeing)}["input-bound"]
    assert (
        "with each batch the workers agree, by an all-reduce, whether any has one"
        in by_key.sentence
    )
    assert "repeat()" in by_key.advice
    # In one process no other has to agree.
    alone = replace(agreeing, segment=facts.segment)
    assert "agree" not in {item.key: item for item in findings(alone)}["input-bound"].sentence


def test_the_headline_gives_the_step_time_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=300, input_ms=10.0)
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    said = "".join(headline(profile, facts))
    assert "waits" in said
    assert said.count(units.milliseconds(facts.steps.median_ms)) == 1, said


def test_input_that_only_some_steps_wait_for_is_reported_for_those_steps(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", replicas=2, steps=300))
    facts = gather_facts(profile, profile.segments[0])
    waited = InputShare(
        segment=0,
        num_steps=299,
        mean_ms=6.0,
        share=0.28,
        median_ms=0.1,
        median_wall_ms=20.0,
        num_waiting=30,
        waiting_ms=60.0,
    )
    by_key = {item.key: item for item in findings(replace(facts, input=waited))}
    assert by_key["input-bound"].sentence.startswith(
        "30 of 299 steps wait for their batch, 1.79 s in all: 28 % of the time of all 299."
    )


@pytest.mark.parametrize(("steps", "is_its_failure"), [(300, False), (0, True)])
def test_an_exit_code_of_the_program_is_its_failure_only_if_it_did_no_step(
    steps: int, is_its_failure: bool, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=steps, ending="failed", windows=0)
    records = read_records(events := run / "worker-0-0" / "events.jsonl")
    for record in records:
        if record["kind"] == "failed":
            record |= {"message": f"{EXIT_CODE}3.", "detail": ""}
    write_records(events, records)
    profile = strategy_profiles.load(run)
    assert profile.status.message == "The program ended with exit code 3."
    facts = gather_facts(profile, profile.segments[0])
    assert ("failure" in {item.key for item in findings(facts)}) == is_its_failure


def test_each_callback_costs_its_own_row(tmp_path: Path) -> None:
    rows = {
        name: stack_place("call", 40, "fit()", within="callback", call=name) for name in ("", "A")
    }
    gaps = [(step, ms, rows[name]) for name, ms, step in (("", 90.0, 9), ("A", 400.0, 19))]
    gaps = [(start + step, ms, row) for start in range(0, 280, 20) for step, ms, row in gaps]
    run = write_run(tmp_path / "run", replicas=2, steps=300, gaps=sorted(gaps, key=lambda g: g[0]))
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    finding = findings(facts)[0]
    assert finding.cost is not None
    assert finding.cost.share == pytest.approx(
        facts.account.share(facts.account.row("loop/between/callback:A")), rel=0.01
    )


def test_a_long_transfer_does_not_take_the_wait_for_a_late_replica(tmp_path: Path) -> None:
    options = {"collective_bytes": (24,), "transfer_ms": 35.0, "straggler": (1, 30.0)}
    found = findings_of_run(tmp_path / "run", replicas=2, steps=300, **options)
    assert list(found)[:2] == ["small-collective", "straggler"]
    assert found["small-collective"].cost.share > found["straggler"].cost.share > 0.15


def test_a_finding_takes_the_time_of_its_first_rows_before_that_of_others() -> None:
    lengths = {"loop": 200.0, "loop/steps": 200.0, "loop/steps/input": 100.0}
    lengths |= {"loop/steps/wait": 100.0}
    parts = (Row(path, "steps", ms, "measured") for path, ms in lengths.items())
    account = Account(0, 1, tuple(parts))
    claims = [
        (rows, Finding(key, 0, "", "", account.cost(ms, "measured"), {}))
        for key, ms, rows in (
            ("a", 80.0, ("loop/steps/input", "loop/steps/wait")),
            ("b", 70.0, ("loop/steps/wait",)),
        )
    ]
    assert [item.cost.ms for item in within_rows(account, claims) if item.cost] == [80.0, 70.0]


def test_that_steps_vary_costs_what_other_findings_leave() -> None:
    lengths = {"loop": 200.0, "loop/steps": 200.0, "loop/steps/input": 180.0}
    lengths |= {"loop/steps/compute": 20.0}
    account = Account(0, 1, tuple(Row(path, "", ms, "measured") for path, ms in lengths.items()))

    def left_of(waits_ms: float) -> list[float]:
        claims = [
            (rows, Finding(key, 0, "", "", account.cost(ms, "measured"), {}))
            for key, ms, rows in (
                ("unsteady", 150.0, ("loop/steps",)),
                ("input-bound", waits_ms, ("loop/steps/input",)),
                ("computation", 15.0, ("loop/steps/compute",)),
            )
        ]
        limited = within_rows(account, claims)
        return [item.cost.ms for item in limited if item.cost and item.key == "unsteady"]

    assert left_of(100.0) == [85.0]
    assert left_of(178.0) == [], "a tenth of it is not worth a second finding"


def test_a_long_first_step_is_said_and_is_no_fault(tmp_path: Path) -> None:
    finding = findings_of_run(tmp_path / "run", replicas=2, steps=300, tracing_ms=20_000.0)[
        "tracing"
    ]
    assert finding.advice.endswith("normal, and its share falls.")
    profile = strategy_profiles.load(tmp_path / "run")
    facts = gather_facts(profile, profile.segments[0])
    assert main_finding(facts).key == "tracing", "74 % of the loop"
    short = findings_of_run(tmp_path / "short", replicas=2, steps=300, tracing_ms=4_000.0)
    assert next(iter(short)) != "tracing", "a longer run has less of it"


def test_a_first_step_that_mostly_waits_for_its_batch_is_not_blamed_on_tracing(
    tmp_path: Path,
) -> None:
    """Before its first batch, a shuffle buffer is filled."""
    run = write_run(tmp_path / "run", replicas=2, steps=300, tracing_ms=20_000.0)
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    waited_ms = facts.steps.input_ms.copy()
    waited_ms[0] = 15_000.0
    facts = replace(facts, steps=replace(facts.steps, input_ms=waited_ms))
    (finding,) = [item for item in findings(facts) if item.key == "tracing"]
    assert ": 15.0 s of it until the first batch was there." in finding.sentence
    assert "shuffle()" in finding.advice


@pytest.mark.parametrize(
    ("name", "num_variables", "is_unrolled"),
    [
        ("gradient_tape/sequential_{}/dense/TanhGrad", 12, True),
        ("replica_1/gradient_tape/MatMul_{}", 0, True),
        ("gradient_tape/speller_1/gru_cell_{}/MatMul/MatMul_1", 32, True),
        ("gradient_tape/inception_v3/conv2d_{}/Conv2D", 480, False),
        ("gradient_tape/lstm/while_grad/enter/_{}", 20, False),
        ("adam/Mul_{}", 12, False),
        ("normalise/MatMul_{}", 12, True),
        ("optimiser/Mul_{}", 60, False),
    ],
)
def test_a_first_step_that_traces_an_unrolled_loop_names_its_line(
    name: str, num_variables: int, is_unrolled: bool, tmp_path: Path
) -> None:
    """A model of many layers, and an optimizer of many variables, are no loop."""
    run = write_run(tmp_path / "run", replicas=2, steps=300, tracing_ms=4_000.0)
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    lines = {name.format(number): "/home/me/train.py:17" for number in range(160)}
    placed = replace(facts.placed, num_variables=num_variables)
    facts = replace(facts, line_of=lines, placed=placed)
    (found,) = [item for item in findings(facts) if item.key == "tracing"]
    assert ("the ops of train.py:17 160 times" in found.sentence) == is_unrolled
    assert (main_finding(facts) == found) == is_unrolled


@pytest.mark.parametrize(("num_models", "comes_back"), [(2, False), (4, True)])
def test_first_steps_of_several_models_are_no_cost_that_happens_once(
    num_models: int, comes_back: bool, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"replicas": 2, "steps": 200, "segments": ({},) * num_models}
    run = write_run(tmp_path / "run", tracing_ms=2_000.0, is_of_lab=False, **options)
    profile = strategy_profiles.load(run)
    main = main_finding(gather_facts(profile, profile.segments[-1]))
    assert main is not None
    assert (main.key == "tracing") == comes_back
    if comes_back:
        assert (
            "The program trains 4 times, each time with another function of the step"
            in main.sentence
        )
        assert "Make and compile one model" in main.advice


def test_a_first_step_that_took_most_of_the_run_comes_before_half_of_each_step(
    tmp_path: Path,
) -> None:
    by_key = findings_of_run(
        tmp_path / "run", replicas=2, steps=300, straggler=(1, 60.0), tracing_ms=69_000.0
    )
    assert list(by_key)[:2] == ["tracing", "straggler"]
    cost = by_key["tracing"].cost
    assert cost is not None
    assert cost.share_text == "73 % of the loop"
    assert cost.detail_text == "230 ms a step, measured"


def test_a_cost_says_how_few_captured_steps_it_rests_on(tmp_path: Path) -> None:
    options = {"replicas": 2, "steps": 300, "transfer_ms": 12.0}
    for windows, is_said in ((1, True), (3, False)):
        by_key = findings_of_run(tmp_path / str(windows), windows=windows, **options)
        cost = by_key["communication-exposed"].cost
        assert cost is not None
        assert ("from 6 captured steps" in cost.detail_text) is is_said, cost.detail_text


def test_findings_are_ranked_by_what_they_cost_and_those_of_unknown_cost_are_last(
    tmp_path: Path,
) -> None:
    by_key = findings_of_run(
        tmp_path / "run", replicas=4, steps=60, straggler=(1, 60.0), input_ms=20.0
    )
    assert {"straggler", "input-bound", "shared-cores"} <= set(by_key)
    costs = [item.cost for item in by_key.values()]
    known = [cost.share for cost in costs if cost and cost.share_of_usual >= 0.1]
    assert known == sorted(known, reverse=True)
    assert list(by_key)[-1] == "shared-cores", "how long replicas wait for a core is not recorded"


def test_a_small_collective_that_takes_half_the_step_is_found(tmp_path: Path) -> None:
    """A run of large all-reduces alone has no such finding."""
    healthy = findings_of_run(tmp_path / "large", replicas=2, steps=300, transfer_ms=12.0)
    assert "small-collective" not in healthy
    options = {"replicas": 2, "steps": 300, "collective_bytes": (24,), "transfer_ms": 25.0}
    the_finding = findings_of_run(tmp_path / "run", **options)["small-collective"]
    assert re.search(
        r"passes in the all-reduce of 24 B: .* is latency, not bytes", the_finding.sentence
    )
    assert the_finding.cost is not None
    assert the_finding.cost.share == pytest.approx(0.5, abs=0.06)
    assert the_finding.cost.source == "measured"


def test_waiting_for_a_late_replica_is_not_blamed_on_the_small_collective(tmp_path: Path) -> None:
    options = {"replicas": 2, "steps": 300, "collective_bytes": (24,), "straggler": (1, 30.0)}
    by_key = findings_of_run(tmp_path / "run", **options)
    assert "straggler" in by_key
    assert "small-collective" not in by_key


def test_what_may_be_waiting_for_a_late_worker_is_no_cost_of_a_small_collective(
    tmp_path: Path,
) -> None:
    """The wait for a worker that was not captured is a part of what looks like the transfer."""
    options = {"replicas": 2, "steps": 300, "collective_bytes": (24,), "transfer_ms": 25.0}
    made = write_run(tmp_path / "run", straggler=(1, 30.0), **options)
    profile = strategy_profiles.load(made)
    facts = gather_facts(profile, profile.segments[0])
    assert {"straggler", "small-collective"} <= {item.key for item in findings(facts)}
    first, last = facts.breakdown.replicas
    of_one = replace(facts.breakdown, replicas=(first, replace(last, source=UNDIVIDED)))
    keys = {item.key for item in findings(replace(facts, breakdown=of_one))}
    assert "straggler" in keys
    assert "small-collective" not in keys


def test_waiting_without_a_straggler_names_the_injected_delay(tmp_path: Path) -> None:
    """On a busy machine a replica may be late by an amount that varies too much to stand out."""
    delay = [{"replica": 1, "ms": 30.0}]
    options = {"replicas": 2, "steps": 300, "collective_bytes": (24, 1_000), "inject": delay}
    profile = strategy_profiles.load(write_run(tmp_path / "run", straggler=(1, 30.0), **options))
    facts = gather_facts(profile, profile.segments[0])
    unsure = replace(facts, stragglers=replace(facts.stragglers, straggler=None, late=()))
    by_key = {item.key: item for item in findings(unsure)}["small-collective"]
    assert "passes in 2 all-reduces a step, of 512 B on average: " in by_key.sentence
    assert by_key.sentence.endswith("not bytes. The lab injected 30.0 ms into replica 1.")
    assert by_key.advice == "Remove the injected delay to measure the program without it."
    assert by_key.edits == {"inject": []}


def test_two_replicas_that_are_equally_late_are_both_named(tmp_path: Path) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", straggler=(1, 30.0), also_late=(2, 30.0))
    )
    facts = gather_facts(profile, profile.segments[0])
    (late,) = [item for item in findings(facts) if item.key == "straggler"]
    assert "eplica 1" in late.sentence
    assert "eplica 2" in late.sentence
    (slowest,) = [item for item in key_numbers(facts) if item.key == "slowest"]
    assert re.search(r"replica [12], later than the others; replica [12] as well", slowest.note)


@pytest.mark.parametrize(("also_late_ms", "num_findings"), [(3.0, 1), (30.0, 0)])
def test_of_three_replicas_one_that_is_far_later_than_another_late_one_stands_out(
    also_late_ms: float, num_findings: int, tmp_path: Path
) -> None:
    """With two of three equally late, the third is early."""
    late = {"straggler": (0, 30.0), "also_late": (1, also_late_ms), "inject": []}
    profile = strategy_profiles.load(write_run(tmp_path / "run", replicas=3, **late))
    facts = gather_facts(profile, profile.segments[0])
    assert [item.replica for item in facts.stragglers.late] == [0, 1]
    assert [item.key for item in findings(facts)].count("straggler") == num_findings


CALL = {"kind": "call", "name": "train.py:7", "detail": "loss = step(batch)", "count": 9}
LINE = {"kind": "python", "name": "train.py:9", "detail": "score(loss.numpy())", "count": 9}


def _idle_for(*causes: tuple[dict[str, Any], float]) -> dict[str, Any]:
    rows = [{**row, "total_ms": held_ms, "held_ms": held_ms} for row, held_ms in causes]
    return {"replicas": 2, "steps": 300, "idle_ms": 40.0, "causes": rows}


def test_idle_time_that_nothing_explains_is_called_unknown(tmp_path: Path) -> None:
    finding = findings_of_run(tmp_path / "run", **_idle_for())["idle"]
    assert finding.sentence.startswith("For ")
    assert finding.sentence.endswith(
        ", no replica runs an op, for a reason that this run does not record."
    )
    assert "Timeline" in finding.advice


def test_idle_time_beside_tracing_is_what_the_new_graph_needs(tmp_path: Path) -> None:
    """Before a new graph runs for the first time, the runtime places and optimises it."""
    traced = {**LINE, "kind": "tracing"}
    found = findings_of_run(tmp_path / "run", **_idle_for((traced, 20.0)))
    assert "idle" not in found


def test_replicas_that_run_one_after_the_other_are_not_idle_all_at_once(tmp_path: Path) -> None:
    """Each is idle for 30 of 53 ms, but while 20 ms of the others' 30 pass, the next one runs."""
    options = {"replicas": 2, "steps": 300, "idle_ms": 30.0, "noise": 0.0}
    run = write_run(tmp_path / "run", **options)
    together = strategy_profiles.load(run)
    assert "idle" in {item.key for item in findings(gather_facts(together, together.segments[0]))}
    for file in run.glob("worker-*/window-*/spans.parquet"):
        rows = pq.read_table(file)
        start = rows["start_ns"].to_numpy().copy()
        start[rows["replica"].to_numpy() == 1] += 23_000_000
        at = rows.schema.get_field_index("start_ns")
        pq.write_table(rows.set_column(at, "start_ns", pa.array(start)), file)
    by_turns = strategy_profiles.load(run)
    facts = gather_facts(by_turns, by_turns.segments[0])
    assert facts.breakdown.mean_ms("idle") == pytest.approx(30.0, abs=0.1)
    assert facts.all_idle_ms == pytest.approx(7.0, abs=0.1)
    assert "idle" not in {item.key for item in findings(facts)}


def test_idle_time_that_only_captured_steps_have_is_not_the_programs(tmp_path: Path) -> None:
    """As if the profiler were started inside of the captured steps."""
    profile = strategy_profiles.load(write_run(tmp_path / "run", **_idle_for()))
    facts = gather_facts(profile, profile.segments[0])
    steps = facts.steps
    assert steps.captured.any()
    usual = replace(steps, wall_ms=np.where(steps.captured, steps.wall_ms, steps.wall_ms - 40))
    assert "idle" in {item.key for item in findings(facts)}
    assert "idle" not in {item.key for item in findings(replace(facts, steps=usual))}


def test_the_programs_own_python_is_named_with_its_line(tmp_path: Path) -> None:
    by_key = findings_of_run(tmp_path / "run", **_idle_for((LINE, 30.0), (CALL, 4.0)))
    assert "idle" not in by_key
    assert "at train.py:9 (`score(loss.numpy())`)" in by_key["host-round-trip"].sentence
    assert "dispatch" not in by_key


def test_tensorflows_own_python_around_the_calls_asks_for_more_work_per_call(
    tmp_path: Path,
) -> None:
    by_key = findings_of_run(tmp_path / "run", **_idle_for((CALL, 35.0)))
    assert "steps_per_execution" in by_key["dispatch"].advice
    assert "idle" not in by_key


def test_python_that_makes_the_keys_of_many_collectives_is_a_cost_of_the_collectives(
    tmp_path: Path,
) -> None:
    options = _idle_for(({**CALL, "kind": "collective-key"}, 35.0), (CALL, 1.0))
    many = findings_of_run(tmp_path / "many", collective_bytes=(1000,) * 20, **options)
    assert many["many-small-collectives"].evidence["keys_ms"] == 35.0
    assert many["many-small-collectives"].cost.ms > 35.0
    assert "TensorFlow's Python makes their keys" in many["many-small-collectives"].sentence
    assert not {"idle", "dispatch"} & set(many)
    few = findings_of_run(tmp_path / "few", collective_bytes=(1000,), **options)
    assert few["dispatch"].evidence["held_ms"] == 36.0


def test_retracing_names_function_argument_and_duration(tmp_path: Path) -> None:
    row = {"kind": "tracing", "name": "train_step", "count": 1}
    why = "argument `scale` is a Python value, and a new one each time (1.0, 1.5)"
    again = {"function": "train_step", "num_traces": 1, "argument": why}
    options = _idle_for((row, 30.0), (CALL, 9.0))
    retraced = [{"step": step, **again} for step in range(1, 300)]
    by_key = findings_of_run(tmp_path / "run", retraced=retraced, **options)
    assert next(iter(by_key)) == "retracing"
    assert by_key["retracing"].sentence.startswith(
        f"train_step is traced again in 299 of the 299 steps after the first: {why}. Building"
    )
    assert not {"idle", "dispatch"} & set(by_key)


def test_a_small_batch_comes_after_what_can_be_mended_without_another_batch() -> None:
    def of(key: str, share: float) -> Finding:
        return Finding(key, 0, "", "", Cost(10.0 * share, share, share, "derived"), {})

    near = ranked([of("tiny-batch", 0.27), of("many-small-collectives", 0.24)])
    assert [item.key for item in near] == ["many-small-collectives", "tiny-batch"]
    far = ranked([of("tiny-batch", 0.5), of("many-small-collectives", 0.12)])
    assert far[0].key == "tiny-batch"
    single = replace(of("tiny-batch", 0.27), evidence={"examples_per_replica": 1.0})
    assert ranked([of("dispatch", 0.24), single])[0] is single


def test_what_runs_beside_a_pipeline_that_steps_wait_for_comes_after_it() -> None:
    """A `fit` was as slow with less Python around its calls, and faster with a cheaper `map`."""

    def of(key: str, share: float, **evidence: bool) -> Finding:
        return Finding(key, 0, "", "", Cost(10.0 * share, share, share, "derived"), evidence)

    python, between = of("dispatch", 0.42), of("between-steps", 0.3)
    ahead = of("input-bound", 0.25, is_beside=True)
    assert ranked([python, between, ahead]) == (between, ahead, python)
    inside = of("input-bound", 0.25, is_beside=False)
    assert ranked([python, between, inside]) == (python, between, inside)
    short = of("input-bound", 0.05, is_beside=True)
    assert ranked([python, short]) == (python, short)


def test_a_function_that_is_traced_once_more_is_no_finding(tmp_path: Path) -> None:
    again = [{"step": 7, "function": "train_step", "num_traces": 1}]
    assert "retracing" not in findings_of_run(
        tmp_path / "run", replicas=2, steps=300, retraced=again
    )


def test_the_stage_of_the_input_that_limits_is_named(tmp_path: Path) -> None:
    stage = "Iterator::Root::Prefetch::Rebatch::ParallelMapV2"
    row = {"kind": "input-stage", "name": stage, "count": 1, "total_ms": 12.0, "held_ms": 9.0}
    options = {"replicas": 2, "steps": 300, "input_ms": 10.0, "causes": [row]}
    finding = findings_of_run(tmp_path / "run", **options)["input-bound"]
    assert "The limiting stage is the function of map(), Prefetch > Rebatch" in finding.sentence
    assert "12.0 ms for each element in captured steps (mean)" in finding.sentence


@pytest.mark.parametrize(
    ("stages", "remedy"),
    [
        ("FiniteSkip::ParallelMapV2", "skip() throws away what this stage makes"),
        ("MemoryCacheImpl::ParallelMapV2", "make the dataset once, before the loop"),
    ],
    ids=["skip", "cache"],
)
def test_a_stage_behind_another_one_has_its_remedy(
    tmp_path: Path, stages: str, remedy: str
) -> None:
    stage = f"Iterator::Root::Prefetch::{stages}"
    row = {"kind": "input-stage", "name": stage, "count": 1, "total_ms": 12.0, "held_ms": 9.0}
    options = {"replicas": 2, "steps": 300, "input_ms": 10.0, "causes": [row]}
    finding = findings_of_run(tmp_path / "run", **options)["input-bound"]
    assert remedy in finding.advice


def test_first_batches_of_epochs_that_wait_for_the_same_stage_are_one_finding(
    tmp_path: Path,
) -> None:
    stage = "Iterator::Root::Prefetch::Shuffle::ParallelMapV2"
    row = {"kind": "input-stage", "name": stage, "count": 1, "total_ms": 12.0, "held_ms": 9.0}
    options = {"replicas": 2, "steps": 300, "input_ms": 10.0, "causes": [row]}
    profile = strategy_profiles.load(write_run(tmp_path / "run", **options))
    facts = gather_facts(profile, profile.segments[0])
    alone = next(item for item in findings(facts) if item.key == "input-bound")
    took_ms = 0.2 * (facts.account.loop_ms or 0.0)
    first = Row("loop/steps/first-batch", "first-batch", took_ms, "derived", None, 5)
    account = replace(facts.account, rows=(*facts.account.rows, first))
    by_key = {item.key: item for item in findings(replace(facts, account=account))}
    assert "epoch-start" not in by_key
    together = by_key["input-bound"]
    assert "for the first batches of epochs, too: they take 20 % of the loop" in together.sentence
    assert alone.cost is not None
    assert together.cost is not None
    assert together.cost.share == pytest.approx(alone.cost.share + 0.2, abs=0.01)


@pytest.mark.parametrize(("of_loop", "is_python"), [(0.19, True), (0.02, False)])
def test_python_that_works_before_the_first_batch_of_an_epoch_is_named(
    of_loop: float, is_python: bool, tmp_path: Path
) -> None:
    """A generator drew its epoch; the shuffle() of its list was taken for that of a dataset."""
    profile = strategy_profiles.load(write_run(tmp_path / "run", replicas=1, steps=300))
    facts = gather_facts(profile, profile.segments[0])
    took_ms = 0.2 * (facts.account.loop_ms or 0.0)
    first = Row("loop/steps/first-batch", "first-batch", took_ms, "derived", None, 5)
    draws = StackFrame("/home/me/train.py", 57, "draw", "self.rng.shuffle(order)")
    facts = replace(
        facts,
        account=replace(facts.account, rows=(*facts.account.rows, first)),
        lines=(SourceLine("/home/me/train.py", 57, draws.text),),
        read_python_in_ops=lambda *_: PythonInOps(of_loop, draws, 0.4, None, 0.9),
    )
    found = next(item for item in findings(facts) if item.key == "epoch-start")
    assert ("Its Python is in `draw`" in found.sentence) is is_python
    assert (found.evidence["place"] == "train.py:57") is is_python
    assert "shuffle() fills" not in found.sentence


def test_the_line_of_the_stage_that_limits_has_the_time_that_steps_wait(tmp_path: Path) -> None:
    """Not the line that waits; unless several lines may have made the stage."""
    stage = "Iterator::Root::Prefetch::ParallelMapV2"
    row = {"kind": "input-stage", "name": stage, "count": 1, "total_ms": 12.0, "held_ms": 9.0}
    options = {"replicas": 2, "steps": 300, "input_ms": 10.0, "causes": [row]}
    gaps = [(step, 9.0, stack_place("python", 30, "augment(batch)")) for step in range(19, 299, 20)]
    profile = strategy_profiles.load(write_run(tmp_path / "run", gaps=gaps, **options))
    facts = gather_facts(profile, profile.segments[0])
    lines = [SourceLine("/home/me/train.py", number, "ds = ds.map(f)") for number in (9, 10)]
    shares, sentences = [], []
    for known in (lines[:1], lines):
        own = replace(facts, lines=tuple(known))
        (code,) = [part for part in loop(profile, own).parts if isinstance(part, Code)]
        lit = {each.line: each.share for _, each_file in code.files for each in each_file}
        shares.append(lit.get(9))
        sentences += [item.sentence for item in findings(own) if item.key == "input-bound"]
    assert shares[0] == pytest.approx(facts.account.share(facts.account.row("loop/steps/input")))
    assert shares[1] is None
    assert ["It is at train.py:9 (`ds = ds.map(f)`)." in each for each in sentences] == [
        True,
        False,
    ]


def test_ops_on_another_device_come_before_the_replica_that_they_make_late(tmp_path: Path) -> None:
    device = "/job:localhost/replica:0/task:0/device:CPU:1"
    row = {"kind": "detour", "name": "MatMul", "detail": "The op MatMul (MatMul)", "replica": 0}
    row |= {"device": device, "count": 1, "total_ms": 28.0, "held_ms": 28.0, "bytes": 8_192}
    by_key = findings_of_run(tmp_path / "run", replicas=2, straggler=(1, 30.0), causes=[row])
    assert list(by_key)[:2] == ["detour", "straggler"]
    assert "8.19 kB are moved between" in by_key["detour"].sentence
    assert by_key["straggler"].advice.startswith("Its device runs MatMul for replica 0")
    assert by_key["straggler"].caused_by == "detour"


def with_copies(run: Path, copies: CopiedVariables, **options: Any) -> dict[str, Finding]:
    """The findings of a run with two late or punctual replicas, in order."""
    profile = strategy_profiles.load(write_run(run, replicas=2, steps=300, **options))
    facts = gather_facts(profile, profile.segments[0])
    all_findings = findings(replace(facts, placed=Placed(lent=copies)))
    return {item.key: item for item in all_findings}


@pytest.mark.parametrize("ms", [20.0, 28.0])
def test_copies_of_a_variable_come_before_the_replica_that_they_make_late(
    tmp_path: Path, ms: float
) -> None:
    """Whichever costs more: the copies may take less time than the others wait."""
    table = PlacedVariable("table/Read", "/job:localhost/replica:0/task:0/device:CPU:0", 16e6)
    copies = CopiedVariables((table,), {0: 0.0, 1: ms})
    by_key = with_copies(tmp_path / "run", copies, straggler=(1, 30.0))
    assert list(by_key)[:2] == ["variable-off-device", "straggler"]
    copied, late = by_key["variable-off-device"], by_key["straggler"]
    assert copied.sentence.endswith(
        f"This makes replica 1 late by {late.evidence['late_ms']:.1f} ms."
    )
    assert copied.cost is not None
    assert late.cost is not None
    assert copied.cost.share >= late.cost.share
    assert re.match(
        rf"It copies 16.0 MB of variables from CPU:0, which takes \d+ % of a captured step "
        rf"\(on average {ms:.1f} of [\d.]+ ms\): see that finding\.$",
        late.advice,
    )
    assert late.caused_by == "variable-off-device"
    assert isinstance(late.removal, str), "a replay of the replica's ops does not change its copies"


def test_copies_that_are_much_shorter_than_the_lateness_do_not_explain_it(tmp_path: Path) -> None:
    table = PlacedVariable("table/Read", "/job:localhost/replica:0/task:0/device:CPU:0", 16e6)
    for copies_ms in ({0: 0.0, 1: 9.0}, {0: 25.0, 1: 25.0}):
        copies = CopiedVariables((table,), copies_ms)
        by_key = with_copies(tmp_path / f"run-{copies_ms[0]}", copies, straggler=(1, 30.0))
        assert by_key["straggler"].caused_by is None
        assert "copies" not in by_key["straggler"].advice
        assert "makes replica" not in by_key["variable-off-device"].sentence


@pytest.mark.parametrize(
    ("key", "calls_ms", "options"),
    [("dispatch", 35.0, {}), ("short-steps", 0.8, {"step_ms": 3.0, "input_ms": 0.1})],
)
@pytest.mark.parametrize(("share", "is_named"), [(0.8, True), (0.3, False)])
def test_calls_that_python_in_the_input_delays_are_its_cost(
    tmp_path: Path, key: str, calls_ms: float, options: dict[str, Any], share: float, is_named: bool
) -> None:
    op = {"kind": "input-python-ahead", "name": "decode", "detail": "EagerPyFunc", "count": 1}
    causes = _idle_for((CALL, calls_ms), (op, share * calls_ms))
    options = {**causes, "idle_ms": calls_ms + 0.5, "transfer_ms": 0.1, **options}
    by_key = findings_of_run(tmp_path / "run", **options)
    assert ("python-in-input" in by_key) == is_named
    assert (key in by_key) != is_named
    if is_named:
        finding = by_key["python-in-input"]
        assert "the op decode (EagerPyFunc)" in finding.sentence
        assert "for 80 % of that time the input runs" in finding.sentence
        assert finding.evidence["input_op"] == "decode"


def test_python_in_the_input_has_its_line_if_the_program_has_one_such_line(tmp_path: Path) -> None:
    op = {"kind": "input-python-ahead", "name": "decode", "detail": "EagerPyFunc", "count": 1}
    write_run(tmp_path / "run", **_idle_for((CALL, 35.0), (op, 30.0)) | {"idle_ms": 35.5})
    profile = strategy_profiles.load(tmp_path / "run")
    facts = gather_facts(profile, profile.segments[0])
    lines = [SourceLine("/home/me/train.py", 9 + i, "ds = from_generator(g)") for i in range(2)]
    places = [
        next(item for item in findings(replace(facts, lines=tuple(known))) if "input" in item.key)
        for known in (lines[:1], lines)
    ]
    assert [item.evidence["place"] for item in places] == ["train.py:9", None]
    assert " at train.py:9 (`ds = from_generator(g)`)" in places[0].sentence


def test_the_labs_own_sleeping_op_is_not_blamed(tmp_path: Path) -> None:
    row = {"kind": "python-op", "name": "replica_1/injected_delay", "detail": "PyFunc", "count": 1}
    row |= {"total_ms": 30.0, "held_ms": 30.0}
    delay = [{"replica": 1, "ms": 30.0}]
    by_key = findings_of_run(tmp_path / "run", straggler=(1, 30.0), inject=delay, causes=[row])
    assert "python-op" not in by_key


def test_input_measured_in_every_step_does_not_come_from_captures(tmp_path: Path) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", replicas=2, steps=300, input_ms=10.0)
    )
    facts = gather_facts(profile, profile.segments[0])
    little = InputShare(
        segment=0,
        num_steps=299,
        mean_ms=0.1,
        share=0.01,
        reason=None,
        median_ms=0.1,
        median_wall_ms=20.0,
        num_waiting=0,
        waiting_ms=None,
    )
    keys = {item.key for item in findings(replace(facts, input=little))}
    assert "input-bound" not in keys


def test_the_call_that_takes_a_prefetched_batch_is_no_wait_for_input(tmp_path: Path) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", replicas=2, steps=300, input_ms=10.0)
    )
    facts = gather_facts(profile, profile.segments[0])
    # A third of the step, but no longer than the call itself takes.
    call = InputShare(
        segment=0,
        num_steps=299,
        mean_ms=0.6,
        share=0.3,
        reason=None,
        median_ms=0.6,
        median_wall_ms=2.0,
        num_waiting=299,
        waiting_ms=0.6,
    )
    assert "input-bound" not in {item.key for item in findings(replace(facts, input=call))}


@pytest.mark.parametrize(("input_ms", "is_reported"), [(12.0, False), (25.0, True)])
def test_handing_batches_to_the_devices_is_no_wait_for_input(
    tmp_path: Path, input_ms: float, is_reported: bool
) -> None:
    row = {"kind": "input-stage", "name": "Iterator::Root::Prefetch::Generator", "count": 2}
    row |= {"total_ms": input_ms, "held_ms": input_ms}
    options = {"replicas": 2, "steps": 300, "step_ms": 10.0, "input_ms": input_ms}
    assert "input-bound" in findings_of_run(tmp_path / "without", **options)
    assert (
        "input-bound" in findings_of_run(tmp_path / "run", causes=[row], **options)
    ) == is_reported


def test_input_that_only_captures_see_is_reported_as_read_inside_the_step(tmp_path: Path) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", replicas=2, steps=300, input_ms=10.0)
    )
    facts = gather_facts(profile, profile.segments[0])
    unknown = InputShare(
        segment=0, num_steps=0, mean_ms=None, share=None, reason="no step recorded it"
    )
    by_key = {item.key: item for item in findings(replace(facts, input=unknown))}
    assert "reads inside the step (as Keras fit does)" in by_key["input-bound"].sentence


def test_the_shapes_of_a_refused_collective_are_in_one_order(tmp_path: Path) -> None:
    """The order in which TensorFlow names them differs from run to run."""
    profile = strategy_profiles.load(write_run(tmp_path / "run"))
    facts = gather_facts(profile, profile.segments[0])
    sentences = set()
    for first, second in (("[960]", "[1024]"), ("[1024]", "[960]")):
        error = (
            "InvalidArgumentError: Collective ops is aborted by: Shape mismatch in the collective "
            f"instance 100. Op at device CPU:0 expected shape {first} but another member in the "
            f"group expected shape {second}."
        )
        by_key = {item.key: item for item in findings(replace(facts, failure=error))}
        sentences.add(by_key["shared-collective-key"].sentence)
    (sentence,) = sentences
    assert "of different shapes ([1024] and [960])" in sentence
