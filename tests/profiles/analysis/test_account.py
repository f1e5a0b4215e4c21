"""The account of the loop's time: what is divided, what adds up, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

import strategy_profiles
from strategy_profiles.analysis.account.account import Account, account
from strategy_profiles.analysis.account.regions import regions_of
from strategy_profiles.analysis.findings import Finding, findings, gather_facts
from strategy_profiles.analysis.headline import headline
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_log import EventLog, read_events
from strategy_profiles.run.events import StacksSampled
from tests.event_records import read_records, write_records
from tests.synthetic import write_run
from tests.synthetic.stacks import stack_place

STEPS = 120
EPOCHS = [19 + 20 * number for number in range(5)]
ITERATOR = stack_place("epoch-start", 12, "for batch in data:", call="DistributedDataset.__iter__")
FREED = stack_place("python", 12, "for batch in data:")
VALIDATION = stack_place("function", 40, "model.fit(data)", within="validation")
SAVING = stack_place("call", 40, "model.fit(data)", within="callback", call="ModelCheckpoint")
LIST = stack_place("call", 40, "model.fit(data)", within="callback")
OWN = stack_place("python", 30, "augment(batch)", function="main")
EAGER = stack_place("op", 31, "norms.append(tf.norm(v))", call="norm_v2")


def _run(folder: Path, **options: Any) -> strategy_profiles.Profile:
    made = {"replicas": 2, "steps": STEPS, "windows": 1, **options}
    return strategy_profiles.load(write_run(folder / "run", **made))


def _account(profile: strategy_profiles.Profile) -> Account:
    return account(profile, profile.segments[0])


def _first(profile: strategy_profiles.Profile) -> Finding:
    return findings(gather_facts(profile, profile.segments[0]))[0]


def _after_epochs(ms: float, where: Any) -> list[tuple[int, float, Any]]:
    return [(step, ms, where) for step in EPOCHS]


def test_children_add_up_to_their_parent(tmp_path: Path) -> None:
    gaps = [*_after_epochs(400.0, ITERATOR), *_after_epochs(100.0, VALIDATION), (50, 90.0, OWN)]
    time_account = _account(_run(tmp_path, gaps=gaps))
    for row in time_account.rows:
        children = time_account.children(row.row)
        if children and row.kind != "program":
            assert sum(child.total_ms for child in children) == pytest.approx(
                row.total_ms, rel=0.01
            ), row.row


def test_the_gaps_between_steps_are_divided_by_what_the_samples_say(tmp_path: Path) -> None:
    gaps = [*_after_epochs(300.0, ITERATOR), *_after_epochs(100.0, VALIDATION)]
    time_account = _account(_run(tmp_path, gaps=gaps))
    assert time_account.row("loop/between").total_ms == pytest.approx(2000.0, rel=0.01)
    assert time_account.row("loop/between/epoch-start").total_ms == pytest.approx(1500.0, rel=0.03)
    assert time_account.row("loop/between/validation").total_ms == pytest.approx(500.0, rel=0.05)
    assert time_account.row("loop/between/epoch-start").num_times == len(EPOCHS)


def test_the_iterator_that_is_freed_at_the_line_of_the_loop_belongs_to_the_start_of_an_epoch(
    tmp_path: Path,
) -> None:
    gaps = [*_after_epochs(300.0, FREED), *_after_epochs(100.0, ITERATOR)]
    time_account = _account(_run(tmp_path, gaps=gaps))
    assert time_account.row("loop/between/epoch-start").total_ms == pytest.approx(2000.0, rel=0.02)


def test_of_two_segments_in_one_loop_each_has_its_own_time(tmp_path: Path) -> None:
    profile = _run(tmp_path, segments=[{}, {}], gaps=[(10, 300.0, VALIDATION)])
    steps = [step_times(profile, segment.segment) for segment in profile.segments]
    begins = [int(each.start_ns[0]) for each in steps]
    regions = [regions_of(profile, segment.segment) for segment in profile.segments]
    assert regions[0].over_ns == pytest.approx(begins[1], abs=10e6)
    assert regions[0].loop_ms == pytest.approx((begins[1] - begins[0]) / 1e6, rel=0.01)
    assert regions[1].loop_ms == pytest.approx((regions[1].over_ns - begins[1]) / 1e6, rel=0.01)


def test_tracing_that_comes_back_with_each_validation_is_a_finding_of_its_own(
    tmp_path: Path,
) -> None:
    again = stack_place("tracing", 40, "model.fit(data)", within="validation")
    gaps = [*_after_epochs(400.0, again), *_after_epochs(100.0, VALIDATION)]
    profile = _run(tmp_path, gaps=gaps)
    assert _account(profile).row("loop/between/tracing").total_ms == pytest.approx(2000.0, rel=0.03)
    first = _first(profile)
    assert first.key == "retracing"
    assert first.sentence.startswith("Functions are traced again between steps: it takes ")
    assert "5 times 400 ms) at train.py:40" in first.sentence


def test_a_test_function_that_is_traced_once_is_no_fault(tmp_path: Path) -> None:
    once = stack_place("tracing", 40, "model.fit(data)", within="validation")
    all_findings = findings(
        gather_facts(profile := _run(tmp_path, gaps=[(19, 900.0, once)]), profile.segments[0])
    )
    assert "retracing" not in [each.key for each in all_findings]


def test_a_run_without_samples_has_a_rest_between_its_steps(tmp_path: Path) -> None:
    time_account = _account(_run(tmp_path, gaps=None))
    assert time_account.row("program") is None
    between = time_account.row("loop/between")
    assert between.total_ms == pytest.approx(0.0, abs=1.0)
    assert time_account.row("loop/steps/compute").total_ms > 0


def test_what_happens_before_the_first_step_is_outside_of_the_loop(tmp_path: Path) -> None:
    time_account = _account(_run(tmp_path, gaps=[]))
    assert time_account.row("program/before").total_ms == pytest.approx(2000.0, rel=0.01)


def test_what_comes_before_the_first_sample_is_the_start_of_the_process(tmp_path: Path) -> None:
    run = _starting_earlier(tmp_path / "run", import_ms=5000.0, call="Model.build", times=1)
    time_account = _account(strategy_profiles.load(run))
    assert time_account.row("program/before/start").total_ms == pytest.approx(5000.0, rel=0.01)
    assert time_account.row("program/before").total_ms == pytest.approx(7000.0, rel=0.01)


@pytest.mark.parametrize(
    ("call", "said"), [("StringLookup.adapt", ".batch(1024)"), ("decode_jpeg", "Keep its result")]
)
def test_a_line_that_takes_most_of_the_program_before_training_is_the_headline(
    tmp_path: Path, call: str, said: str
) -> None:
    run = _starting_earlier(tmp_path / "run", import_ms=5000.0, call=call, times=20)
    finding = _first(strategy_profiles.load(run))
    assert finding.key == "before-training"
    assert "Before training begins, train.py:5 (`build()`) takes 39.9 s" in finding.sentence
    assert said in finding.advice
    assert finding.cost is not None
    assert finding.cost.share_text.endswith("of the program")


@pytest.mark.parametrize("call", ["ParameterServerStrategyV2.__init__", "Model.build"])
def test_what_cannot_be_helped_or_is_short_before_training_is_no_finding(
    tmp_path: Path, call: str
) -> None:
    times = 1 if call == "Model.build" else 20
    run = _starting_earlier(tmp_path / "run", import_ms=9000.0, call=call, times=times)
    profile = strategy_profiles.load(run)
    all_findings = findings(gather_facts(profile, profile.segments[0]))
    assert "before-training" not in [each.key for each in all_findings]


def _starting_earlier(
    folder: Path, *, import_ms: float, call: str, times: int, gaps: Sequence[Any] = ()
) -> Path:
    """A run whose process began before the first sample; the 2 s of `build()` are so many."""
    run = write_run(folder, replicas=2, steps=STEPS, windows=1, gaps=list(gaps))
    (sampled,) = read_records(stacks := run / "worker-0-0/stacks.jsonl")
    is_building = [which == 1 for which in sampled["place"]]
    longer_us = [
        after * times if building else after
        for after, building in zip(sampled["after_us"], is_building, strict=True)
    ]
    earlier_ns = 1000 * (sum(longer_us) - sum(sampled["after_us"]))
    sampled["places"][1]["call"] = call
    begun_ns = sampled["since_ns"] - earlier_ns
    sampled |= {"after_us": longer_us, "since_ns": begun_ns}
    write_records(stacks, [sampled | {"program_ns": begun_ns - int(import_ms * 1e6)}])
    return run


def test_the_ops_of_the_computation_add_up_to_it(tmp_path: Path) -> None:
    time_account = _account(_run(tmp_path, gaps=[]))
    compute = time_account.row("loop/steps/compute")
    ops = time_account.children("loop/steps/compute")
    assert sum(op.total_ms for op in ops) == pytest.approx(compute.total_ms)


@pytest.mark.parametrize(
    ("where", "key", "said"),
    [
        (ITERATOR, "epoch-start", "train.py:12 (`for batch in data:`)"),
        (VALIDATION, "validation", "Validation takes"),
        (SAVING, "callback", "The callback ModelCheckpoint takes"),
        (
            LIST,
            "callback",
            "Keras's list of callbacks, or the freeing of what they made, takes",
        ),
        (OWN, "between-steps", "the program's own code takes"),
        (EAGER, "between-steps", "train.py:31"),
    ],
)
def test_the_largest_row_is_the_first_finding_and_the_headline(
    tmp_path: Path, where: Any, key: str, said: str
) -> None:
    profile = _run(tmp_path, gaps=_after_epochs(900.0, where))
    first = _first(profile)
    assert first.key == key
    assert said in first.sentence
    facts = gather_facts(profile, profile.segments[0])
    assert "".join(headline(profile, facts)).endswith(first.sentence)


def test_loops_of_the_programs_own_that_validate_are_validation(tmp_path: Path) -> None:
    where = stack_place("function", 50, "loss = loss_of(batch)", function="evaluate")
    assert _first(_run(tmp_path, gaps=_after_epochs(900.0, where))).key == "validation"


def test_findings_never_have_more_time_than_their_rows(tmp_path: Path) -> None:
    """A straggler and an exposed collective are of the same wait."""
    profile = _run(tmp_path, gaps=_after_epochs(100.0, OWN), straggler=(1, 15.0), windows=3)
    facts = gather_facts(profile, profile.segments[0])
    shares = [item.cost.share for item in findings(facts) if item.cost is not None]
    assert sum(shares) <= 1.0 + 1e-9


def test_many_small_collectives_take_no_more_than_the_communication(tmp_path: Path) -> None:
    """Other ops of a replica run while it waits in a call: that time is computation."""
    profile = _run(tmp_path, collective_bytes=(1000,) * 20, replicas=4)
    facts = gather_facts(profile, profile.segments[0])
    longer_ms = 3 * facts.breakdown.mean_ms("transfer")
    uses = [replace(use, wait_ms=longer_ms) for use in facts.communication.collectives]
    facts = replace(facts, communication=replace(facts.communication, collectives=tuple(uses)))
    (small,) = [item for item in findings(facts) if item.key == "many-small-collectives"]
    rows = [facts.account.row(f"loop/steps/{kind}") for kind in ("wait", "transfer")]
    assert small.cost.share == pytest.approx(sum(facts.account.share(row) for row in rows if row))


def test_the_loops_time_per_step_has_the_gaps_in_it(tmp_path: Path) -> None:
    profile = _run(tmp_path, gaps=_after_epochs(1190.0, OWN))
    facts = gather_facts(profile, profile.segments[0])
    step_ms = float(np.mean(facts.steps.wall_ms[1:]))
    expected_ms = step_ms + 5 * 1190.0 / (STEPS - 1)
    assert facts.pace.ms_per_step == pytest.approx(expected_ms, rel=0.01)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("score = look(batch)", "Make it a part of the step"),
        ("scores = [look(batch) for batch in held]", "It is called in a loop"),
    ],
)
def test_a_function_between_steps_is_called_less_often_or_loops_itself(
    text: str, says: str, tmp_path: Path
) -> None:
    gaps = _after_epochs(900.0, stack_place("function", 50, text, function="report"))
    assert says in _first(_run(tmp_path, gaps=gaps)).advice


@pytest.mark.parametrize(
    "where", [OWN, stack_place("python", 30, "self.look()", within="callback", call="Log")]
)
def test_gaps_that_grow_are_said_to_grow(where: Any, tmp_path: Path) -> None:
    gaps = [(step, 0.4 * step, where) for step in range(1, STEPS)]
    first = _first(_run(tmp_path, gaps=gaps, windows=0))
    assert "It grows" in first.sentence
    assert "running sum" in first.advice


def test_the_table_has_a_row_for_each_row_of_the_account(tmp_path: Path) -> None:
    profile = _run(tmp_path, gaps=_after_epochs(300.0, ITERATOR))
    table = profile.table("account")
    assert table["row"].to_pylist() == [row.row for row in _account(profile).rows]
    shares = dict(zip(table["row"].to_pylist(), table["share"].to_pylist(), strict=True))
    assert shares["loop"] == 1.0


def test_code_that_keeps_pythons_lock_is_the_programs_own_where_no_sample_was_taken(
    tmp_path: Path,
) -> None:
    """The sampler waits for the lock, and runs once the step has begun."""
    run = _run_that_keeps_the_lock(tmp_path / "run")
    profile = strategy_profiles.load(run)
    held = _account(profile).row("loop/between/lock-held")
    assert held.total_ms == pytest.approx(4500.0, rel=0.05)
    assert _first(profile).key == "between-steps"


def test_the_recorders_own_windows_are_not_code_that_keeps_pythons_lock(tmp_path: Path) -> None:
    run = _run_that_keeps_the_lock(tmp_path / "run")
    events = run / "worker-0-0/events.jsonl"
    records = read_records(events)
    (window,) = [record for record in records if record["kind"] == "window"]
    window["start_ms"], window["stop_ms"] = 500.0, 3000.0
    write_records(events, records)
    time_account = _account(strategy_profiles.load(run))
    assert time_account.row("loop/between/windows").total_ms == pytest.approx(3500.0)
    assert time_account.row("loop/between/lock-held").total_ms == pytest.approx(1000.0, rel=0.2)


def _run_that_keeps_the_lock(folder: Path) -> Path:
    """For 900 ms after some of its steps, without a sample meanwhile."""
    gaps = _after_epochs(900.0, OWN)
    run = write_run(folder, replicas=2, steps=STEPS, windows=1, gaps=gaps)
    stacks = run / "worker-0-0/stacks.jsonl"
    (event,) = [event for event in read_events(stacks)[0] if isinstance(event, StacksSampled)]
    is_own = [event.places[place].doing == "python" for place in event.place]
    kept = [number for number, own in enumerate(is_own) if not own]
    at_us = np.cumsum(event.after_us)[kept]
    thinned = msgspec.structs.replace(
        event,
        after_us=np.diff(at_us, prepend=0).tolist(),
        place=[event.place[number] for number in kept],
    )
    stacks.unlink()
    log = EventLog(stacks)
    log.write(thinned)
    log.close()
    return run


def test_a_wait_for_the_first_batch_of_epochs_has_the_line_that_shuffles(
    tmp_path: Path,
) -> None:
    """Keras's `fit` waits inside its step; a step in the middle of an epoch is long by chance."""
    long = {end + 1: 300.0 for end in EPOCHS[:-1]} | {50: 300.0}
    ends = [{"step": step, "wall_ms": 2.0} for step in EPOCHS]
    gaps = [*_after_epochs(20.0, FREED), (50, 20.0, OWN)]
    run = write_run(
        tmp_path / "run", replicas=1, steps=STEPS, windows=1, epoch_ends=ends, gaps=gaps
    )
    events = run / "worker-0-0/events.jsonl"
    records, late_ms = read_records(events), 0.0
    for record in records:
        if record["kind"] == "step":
            record |= {"input_ms": None, "start_ns": record["start_ns"] + int(late_ms * 1e6)}
            record["wall_ms"] += long.get(record["step"], 0.0)
            late_ms += long.get(record["step"], 0.0)
    write_records(events, records)
    (sampled,) = read_records(stacks := run / "worker-0-0/stacks.jsonl")
    shuffle = {"file": "/home/me/train.py", "line": 7, "text": "data = data.shuffle(900)"}
    write_records(stacks, [sampled | {"around": [shuffle]}])
    profile = strategy_profiles.load(run)
    row = _account(profile).row("loop/steps/first-batch")
    assert row is not None
    assert row.num_times == len(EPOCHS) - 1
    assert row.total_ms == pytest.approx(300.0 * (len(EPOCHS) - 1), rel=0.05)
    finding = _first(profile)
    assert finding.evidence["place"] == "train.py:7"
    assert "shuffle() fills its buffer again at train.py:7 (`data = data.shuffle(900)`)" in (
        finding.sentence
    )


@pytest.mark.parametrize(
    ("text", "kind"), [("batches = iter(data)", "epoch-start"), ("parts.iter(data)", "own-lines")]
)
def test_a_line_that_calls_iter_frees_the_last_iterator_though_none_was_seen_to_be_made(
    text: str, kind: str, tmp_path: Path
) -> None:
    gaps = _after_epochs(300.0, stack_place("python", 12, text))
    run = write_run(tmp_path / "run", replicas=1, steps=STEPS, windows=1, gaps=gaps)
    row = _account(strategy_profiles.load(run)).row(f"loop/between/{kind}")
    assert row is not None
    assert row.total_ms == pytest.approx(300.0 * len(EPOCHS), rel=0.1)


@pytest.mark.parametrize(
    ("text", "kind"), [("for x in data:", "epoch-start"), ("x = next(batches)", "own-lines")]
)
def test_the_head_of_a_loop_over_batches_frees_the_last_iterator(
    text: str, kind: str, tmp_path: Path
) -> None:
    taken = stack_place("input", 12, text, call="OwnedIterator.__next__")
    gaps = [*_after_epochs(300.0, stack_place("python", 12, text)), (3, 300.0, taken)]
    run = write_run(tmp_path / "run", replicas=1, steps=STEPS, windows=1, gaps=sorted(gaps))
    row = _account(strategy_profiles.load(run)).row(f"loop/between/{kind}")
    assert row is not None
    assert row.total_ms == pytest.approx(300.0 * len(EPOCHS), rel=0.15)


@pytest.mark.parametrize(("input_ms", "kind"), [(0.1, "epoch-start"), (None, "own-lines")])
def test_the_head_of_the_loop_over_steps_frees_the_iterator_if_steps_take_batches(
    input_ms: float | None, kind: str, tmp_path: Path
) -> None:
    """No sample need be taken while a batch is, if it is there at once."""
    gaps = _after_epochs(300.0, stack_place("python", 12, "for batch in data:"))
    lines = [(12, "for batch in data:"), (14, "    train_step(batch)")]
    run = write_run(
        tmp_path / "run", replicas=1, steps=STEPS, windows=1, gaps=gaps, lines=lines, input_ms=0.1
    )
    events = run / "worker-0-0/events.jsonl"
    records = read_records(events)
    for record in records:
        if record["kind"] == "step":
            record["input_ms"] = input_ms
    write_records(events, records)
    assert _account(strategy_profiles.load(run)).row(f"loop/between/{kind}") is not None


@pytest.mark.parametrize(
    ("text", "is_made"), [("x = next(iter(data))", True), ("x = next(batches)", False)]
)
def test_an_iterator_that_is_made_within_each_step_is_a_part_of_the_steps(
    tmp_path: Path, text: str, is_made: bool
) -> None:
    """The step begins when it asks for its batch, so the last iterator is freed within it."""
    gaps = [(step, 20.0, stack_place("python", 14, text)) for step in range(STEPS - 1)]
    run = write_run(tmp_path / "run", replicas=1, steps=STEPS, windows=1, gaps=gaps)
    events = run / "worker-0-0/events.jsonl"
    records = read_records(events)
    for record in records:
        if record["kind"] == "step" and record["step"]:
            record["start_ns"] -= 20_000_000
            record["wall_ms"] += 20.0
    write_records(events, records)
    profile = strategy_profiles.load(run)
    row = _account(profile).row("loop/steps/epoch-start")
    assert (row is not None) is is_made
    if row is not None:
        assert row.total_ms == pytest.approx(20.0 * (STEPS - 1), rel=0.1)
        assert "For each step the program makes an iterator" in _first(profile).sentence


@pytest.mark.parametrize(
    ("waits_after", "is_start"), [(EPOCHS[:-1], True), ([7, 29, 50, 71], False)]
)
def test_a_wait_after_a_new_iterator_is_the_start_of_an_epoch_and_another_is_not(
    tmp_path: Path, waits_after: list[int], is_start: bool
) -> None:
    """In a loop of the program's own, in which no epoch is recorded."""
    other = [(step, 1000.0, OWN) for step in waits_after if step not in EPOCHS]
    gaps = sorted([*_after_epochs(1000.0, ITERATOR), *other], key=lambda gap: gap[0])
    run = write_run(tmp_path / "run", replicas=1, steps=STEPS, windows=1, gaps=gaps)
    events = run / "worker-0-0/events.jsonl"
    records = read_records(events)
    for record in records:
        if record["kind"] == "step":
            waited_ms = 900.0 if record["step"] - 1 in waits_after else 0.0
            record["start_ns"] -= int(waited_ms * 1e6)
            record["wall_ms"] += waited_ms
            record["input_ms"] = 0.2 + waited_ms
    write_records(events, records)
    profile = strategy_profiles.load(run)
    time_account = _account(profile)
    row = time_account.row("loop/steps/first-batch")
    assert (row is not None) == is_start
    keys = [item.key for item in findings(gather_facts(profile, profile.segments[0]))]
    assert keys[0] == ("epoch-start" if is_start else "input-bound")
    assert ("input-bound" in keys) != is_start
    steps_ms = sum(each.total_ms for each in time_account.children("loop/steps"))
    assert steps_ms == pytest.approx(time_account.row("loop/steps").total_ms)


def test_what_comes_before_training_is_compared_with_the_loop_by_its_time(tmp_path: Path) -> None:
    """Half of a short loop is less than a part of a long program before it."""
    gaps = _after_epochs(900.0, OWN)
    run = _starting_earlier(
        tmp_path / "run", import_ms=20_000.0, call="decode_jpeg", times=20, gaps=gaps
    )
    profile = strategy_profiles.load(run)
    first, second, *_ = findings(gather_facts(profile, profile.segments[0]))
    assert [first.key, second.key] == ["before-training", "between-steps"]
    assert second.cost.share > first.cost.share / 2


def test_a_line_of_fit_that_names_its_validation_data_is_no_validation(tmp_path: Path) -> None:
    text = "model.fit(train, validation_data=val)"
    freed = stack_place("epoch-start", 40, text, call="TensorFlowTrainer.fit")
    time_account = _account(_run(tmp_path, gaps=_after_epochs(400.0, freed)))
    assert time_account.row("loop/between/validation") is None
    assert time_account.row("loop/between/epoch-start") is not None


def test_a_line_that_keeps_pythons_lock_has_the_time_without_samples_if_it_was_seen_often(
    tmp_path: Path,
) -> None:
    """A sample is taken when the line lets the lock go: it counts for the time before it."""
    svd = stack_place("call", 21, "np.linalg.svd(w)", within="callback", call="Spectrum")
    gaps = [(step, 900.0, svd) for step in range(19, 119, 4)]
    run = write_run(tmp_path / "run", replicas=2, steps=STEPS, windows=1, gaps=gaps)
    (sampled,) = read_records(stacks := run / "worker-0-0/stacks.jsonl")
    after_us, places, waited_us = [], [], 0
    for number, which in enumerate(sampled["place"]):
        waited_us += sampled["after_us"][number]
        is_last_of_gap = which >= 2 and sampled["place"][number + 1 : number + 2] != [which]
        if which < 2 or is_last_of_gap:
            after_us.append(waited_us)
            places.append(which)
            waited_us = 0
    write_records(stacks, [sampled | {"after_us": after_us, "place": places}])
    finding = _first(strategy_profiles.load(run))
    assert (finding.key, finding.evidence["place"]) == ("callback", "train.py:21")


def test_what_keras_does_within_a_step_is_beside_the_phases_of_the_replicas(
    tmp_path: Path,
) -> None:
    """A step lasts from its batch to its last call: `predict` may be called in between."""
    run = write_run(tmp_path / "run", replicas=2, steps=STEPS, windows=1, gaps=[])
    (sampled,) = read_records(stacks := run / "worker-0-0/stacks.jsonl")
    predicting = [1 if number % 4 else 0 for number in range(len(sampled["place"]))]
    within = sampled["places"][0] | {"within": "predict", "call": "TensorFlowTrainer.predict"}
    places = [*sampled["places"], within]
    which = [
        len(places) - 1 if is_predicting and place == 0 else place
        for place, is_predicting in zip(sampled["place"], predicting, strict=True)
    ]
    write_records(stacks, [sampled | {"place": which, "places": places}])
    profile = strategy_profiles.load(run)
    time_account = _account(profile)
    steps = time_account.row("loop/steps")
    assert time_account.row("loop/steps/predict").total_ms == pytest.approx(
        0.75 * steps.total_ms, rel=0.1
    )
    parts_ms = sum(each.total_ms for each in time_account.children("loop/steps"))
    assert parts_ms == pytest.approx(steps.total_ms, rel=0.01)
    assert _first(profile).key == "prediction"
