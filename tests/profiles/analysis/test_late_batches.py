"""Workers of a program without timestamps: whose batch is late, and who waits for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import strategy_profiles
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.late_because import late_batch
from strategy_profiles.analysis.efficiency import efficiency
from strategy_profiles.analysis.findings import Facts, findings, gather_facts
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import SourceLine, StackFrame, StackPlace
from strategy_profiles.run.events import StacksSampled
from tests.event_records import read_records, write_records
from tests.replaced import replace as replaced
from tests.synthetic import TWO_HOSTS, write_run
from tests.synthetic.recipe import EPOCH_NS

LATE_MS = 30.0
LINE = StackFrame("/home/me/train.py", 7, "main", "batch = next(batches)")


def facts_of(
    folder: Path,
    *,
    agreeing: bool = False,
    late: bool = True,
    has_dataset: bool = True,
    begins_late: int | None = None,
    cores: tuple[float, float] | None = None,
) -> Facts:
    """Replicas 2 and 3 are of worker 1, whose batch is late in each step.

    Workers that are `agreeing` wait for each other before they have the batch. Without a dataset,
    the program's own Python makes the batch before it calls the step. A worker that `begins_late`
    does something else between its steps. With `cores`, which each
    worker uses within its steps, no batch is late.
    """
    options = {"steps": 120, "marks": False, "clock_ahead_ms": (0.0, -50.0)}
    options |= {"collective_bytes": (2_097_152,)}
    if late and not agreeing:
        options |= {"straggler": (3, LATE_MS), "also_late": (2, LATE_MS)}
    run = write_run(folder / "run", **(TWO_HOSTS | options))
    for worker in (0, 1):
        events = run / f"worker-{worker}-0" / "events.jsonl"
        records = read_records(events)
        for record in records:
            slow = late and (agreeing or worker == 1) and cores is None and begins_late is None
            if record["kind"] == "step" and worker == begins_late:
                record["start_ns"] += int(LATE_MS * 1e6)
                record["wall_ms"] -= LATE_MS
            if record["kind"] == "step" and slow:
                record["input_ms"] += LATE_MS
            if record["kind"] == "step" and agreeing:
                record["wall_ms"] += LATE_MS
            if record["kind"] == "step" and not has_dataset:
                record["input_ms"] = None
                if late and worker == 1 and cores is None:
                    record["start_ns"] += int(LATE_MS * 1e6)
                    record["wall_ms"] -= LATE_MS
        write_records(events, records)
        doing = "agreement" if agreeing and worker == 0 else "input"
        if cores is None:
            write_stacks(run, worker, doing if has_dataset else "python")
        else:
            write_stacks(run, worker, "function", int(cores[worker] * 200_000))
    profile = strategy_profiles.load(run)
    return gather_facts(profile, profile.segments[0])


def write_stacks(run: Path, worker: int, doing: str, cpu_us: int = 0) -> None:
    place = StackPlace(doing, "", "DistributedIterator.__next__", [LINE])
    log = EventLog(run / f"worker-{worker}-0" / "stacks.jsonl")
    samples = ([200_000] * 20, [0] * 20, [place], [], [], [cpu_us] * 20)
    log.write(StacksSampled(EPOCH_NS, EPOCH_NS, *samples))
    log.close()


def test_the_time_until_the_last_worker_has_its_batch_is_no_transfer(tmp_path: Path) -> None:
    leader = [item for item in facts_of(tmp_path).breakdown.replicas if item.worker == 0]
    assert [item.wait_ms for item in leader] == pytest.approx([LATE_MS] * 2, abs=1.0)
    assert [item.transfer_ms for item in leader] == pytest.approx([2.0] * 2, abs=0.2)


def test_without_a_late_batch_nothing_is_moved(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, late=False)
    assert facts.breakdown.mean_ms("wait") == pytest.approx(0.0, abs=1.0)
    assert facts.stragglers.straggler is None


def test_the_first_finding_names_the_worker_and_its_line(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    assert facts.stragglers.source == "derived"
    first = findings(facts)[0]
    assert (first.key, first.evidence["worker"]) == ("straggler", 1)
    assert first.evidence["late_ms"] == pytest.approx(LATE_MS, abs=1.0)
    assert "train.py:7" in first.advice


def test_what_was_not_captured_is_unknown(tmp_path: Path) -> None:
    breakdown = facts_of(tmp_path).breakdown
    assert breakdown.undivided == (2, 3)
    other = breakdown.replicas[2]
    assert (other.compute_ms, other.wait_ms, other.source) == (None, None, "steps")
    assert other.input_ms == pytest.approx(1.0 + LATE_MS, abs=0.5)
    assert "not known" in (efficiency(breakdown).reason or "")


def test_among_workers_that_agree_on_a_batch_the_one_without_its_own_is_late(
    tmp_path: Path,
) -> None:
    facts = facts_of(tmp_path, agreeing=True)
    late = facts.stragglers.straggler
    assert late is not None
    assert late.worker == 1
    assert late.late_ms == pytest.approx(LATE_MS, abs=2.0)


def test_a_worker_that_makes_its_batches_in_python_is_late_where_it_calls_the_step(
    tmp_path: Path,
) -> None:
    first = findings(facts_of(tmp_path, has_dataset=False))[0]
    assert (first.key, first.evidence["worker"]) == ("straggler", 1)
    assert first.evidence["late_ms"] == pytest.approx(LATE_MS, abs=1.0)
    assert "train.py:7" in first.advice


def test_steps_that_begin_together_do_not_say_that_each_worker_had_its_batch_then(
    tmp_path: Path,
) -> None:
    facts = facts_of(tmp_path, late=False, has_dataset=False)
    assert facts.stragglers.source != "derived"
    assert facts.stragglers.straggler is None


def test_a_worker_that_uses_more_processor_time_within_its_steps_is_late(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, cores=(0.4, 1.0))
    first = findings(facts)[0]
    assert (first.key, first.evidence["worker"]) == ("straggler", 1)
    assert "1.0 cores, another worker 0.4" in first.advice
    leader = [item for item in facts.breakdown.replicas if item.worker == 0]
    assert [item.wait_ms for item in leader] == pytest.approx([LATE_MS] * 2, rel=0.1)


def test_more_work_of_a_worker_whose_step_takes_the_batch_itself_may_be_its_input(
    tmp_path: Path,
) -> None:
    facts = facts_of(tmp_path, cores=(0.4, 1.0), has_dataset=False)
    assert "Compare what they read and how they prepare it" in findings(facts)[0].advice
    other = facts.breakdown.replicas[2]
    assert (other.source, other.input_ms) == ("steps", None)


@pytest.mark.parametrize(
    "parts", [{"function": 2.0}, {"function": 0.6, "own-lines": 0.4, "host-read": 0.4}]
)
def test_what_a_worker_does_between_steps_explains_that_its_cores_work_more(
    parts: dict[str, float], tmp_path: Path
) -> None:
    """In one row, or in several that take as long together."""
    facts = facts_of(tmp_path, cores=(0.4, 1.0))
    late = [replace(item, worker=1 - item.worker) for item in facts.stragglers.late]
    took_ms = LATE_MS * facts.account.num_steps
    rows = [
        Row(f"loop/between/{kind}", kind, part * took_ms, "sampled", 50, 50, "train.py", 90)
        for kind, part in parts.items()
    ]
    account = replaced(facts.account, rows=(*facts.account.rows, *rows))
    stragglers = replace(facts.stragglers, late=tuple(late))
    facts = replaced(facts, account=account, stragglers=stragglers)
    (found,) = [item for item in findings(facts) if item.key == "straggler"]
    assert "It begins each step later" in found.advice
    assert (found.cost, found.caused_by) == (None, "between-steps")


def test_a_replica_of_a_single_worker_is_not_late_by_what_its_program_does_between_steps(
    tmp_path: Path,
) -> None:
    """All its replicas begin after the same lines."""
    facts = facts_of(tmp_path, cores=(0.4, 1.0))
    late = [replace(item, worker=0) for item in facts.stragglers.late]
    took_ms = 2 * LATE_MS * facts.account.num_steps
    row = Row("loop/between/function", "function", took_ms, "sampled", 50, 50, "train.py", 90)
    account = replaced(facts.account, rows=(*facts.account.rows, row))
    facts = replaced(facts, account=account, stragglers=replace(facts.stragglers, late=tuple(late)))
    alone = replaced(facts, segment=replaced(facts.segment, num_workers=1))
    for each, is_of_lines in ((facts, True), (alone, False)):
        advice = "".join(item.advice for item in findings(each) if item.key == "straggler")
        assert ("It begins each step later" in advice) is is_of_lines


def test_workers_that_use_about_the_same_processor_time_are_not_late(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, cores=(0.8, 1.0), late=False)
    assert facts.stragglers.straggler is None


@pytest.mark.parametrize("worker", [0, 1])
def test_a_worker_that_begins_its_steps_late_is_not_late_by_its_batch(
    worker: int, tmp_path: Path
) -> None:
    facts = facts_of(tmp_path, begins_late=worker)
    (late,) = [item for item in findings(facts) if item.key == "straggler"]
    assert late.evidence["worker"] == worker
    assert "It begins each step later" in late.advice
    assert "batch" not in late.advice
    assert (late.cost is None) == (worker == 0), "the account of worker 0 has its time"


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["ds = ds.map(load)", "ds = ds.skip(half)"], "choose the worker's elements before map()"),
        (["ds = ds.skip(half)", "ds = ds.map(load)"], ""),
    ],
    ids=["behind map", "before map"],
)
def test_the_advice_to_a_worker_names_a_skip_behind_map(
    texts: list[str], says: str, tmp_path: Path
) -> None:
    file = "/home/me/train.py"
    profile = strategy_profiles.load(write_run(tmp_path / "run"))
    facts = replaced(
        gather_facts(profile, profile.segments[0]),
        lines=tuple(SourceLine(file, n, text) for n, text in enumerate(texts, 1)),
        sources={file: "\n".join(texts)},
    )
    assert says in late_batch(facts, 1, 50.0)
    assert ("throws away" in late_batch(facts, 1, 50.0)) is bool(says)
