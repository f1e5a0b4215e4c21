"""The answer on the loop: its parts add up, and its lines are those of the program."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from msgspec.structs import replace

import strategy_profiles
from strategy_profiles.analysis.account.account import Account
from strategy_profiles.analysis.account.kinds import KINDS
from strategy_profiles.analysis.account.op_time import lines_of_ops
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.account.source_lines import loop_lines
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.findings import findings
from strategy_profiles.answers.answer import Answer, Code, CodeLine, Shares, Table
from strategy_profiles.examples import EXAMPLES, Example, unpack
from strategy_profiles.questions.loop import loop
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import OTHER_COLOURS, PHASE_COLOURS, part_colours
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import SourceFile, StackFrame, StackPlace
from strategy_profiles.run.events import StacksSampled
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import write_run
from tests.synthetic.stacks import FILE, stack_place


def loop_answer(run: Path) -> Answer:
    profile = strategy_profiles.load(run)
    return loop(profile, gather_facts(profile, profile.segments[0]))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    slow = stack_place("python", 40, "score(losses)")
    return write_run(tmp_path / "run", steps=40, gaps=[(step, 30.0, slow) for step in range(5, 40)])


def test_the_parts_of_the_loop_add_up_to_all_of_it(run: Path) -> None:
    (shares,) = (part for part in loop_answer(run).parts if isinstance(part, Shares))
    assert sum(part.share for part in shares.parts) == pytest.approx(1.0, abs=0.01)


def test_parts_of_one_bar_differ_in_colour() -> None:
    kinds = dict(zip(KINDS, range(len(KINDS)), strict=True))
    bar = ("before-first", "compute", "epoch-start", "own-lines", "recording")
    colours = part_colours({kind: kinds[kind] for kind in bar})
    assert len({*colours.values()}) == len(bar)
    alone = part_colours({"epoch-start": kinds["epoch-start"]})
    assert set(alone.values()) <= {*OTHER_COLOURS}
    assert len({*part_colours(kinds).values()}) == 1 + len(PHASE_COLOURS) + len(OTHER_COLOURS)


def test_a_line_that_the_cause_names_is_there_without_a_time_of_its_own(tmp_path: Path) -> None:
    lines = [(14, "train_step(batch)"), (71, "grads = context.all_reduce('SUM', grads)")]
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=40, gaps=(), lines=lines))
    usual, named = (loop_lines(profile, 0, sentence=said) for said in ("", "at train.py:71 (x)."))
    assert 71 not in {each.line for each in usual}
    (line,) = (each for each in named if each.line == 71)
    assert (line.share, line.text) == (None, lines[1][1])


def test_a_line_that_only_another_worker_came_to_is_there(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", workers=2, strategy="multi-worker-mirrored", gaps=())
    own = StackFrame("/home/user/shard.py", 2, "read", "time.sleep(1)")
    sources = [SourceFile(own.file, f"def read():\n    {own.text}\n")]
    log = EventLog(worker_folder(run, 1).stacks)
    places = [StackPlace("python", frames=[own])]
    log.write(StacksSampled(1, 1, [5], [0], places, sources=sources))
    log.close()
    lines = loop_lines(strategy_profiles.load(run), 0, sentence="Its own Python at shard.py:2")
    (line,) = (each for each in lines if each.file == own.file and each.line == own.line)
    assert (line.share, line.text.strip()) == (None, own.text)


def test_the_line_alone_is_that_of_the_cause_or_the_hottest() -> None:
    lines = (CodeLine(7, "a", 1.0, 0.1), CodeLine(71, "b", 9.0, 0.9))
    code = Code("code", "Lines", (("train.py", lines),))
    for sentence, line in (("at train.py:7 (`a`).", 7), ("at other.py:7.", 71), ("", 71)):
        assert [each.line for each in code.line_of(sentence).files[0][1]] == [line]


def test_a_line_between_steps_and_the_line_of_the_step_have_their_shares(run: Path) -> None:
    (code,) = (part for part in loop_answer(run).parts if isinstance(part, Code))
    ((file, lines),) = code.files
    lit = {each.line: each for each in lines if each.share is not None}
    assert file == "train.py"
    assert sorted(lit) == [14, 40]
    assert lit[40].text == "score(losses)"
    captured = strategy_profiles.load(run).table("steps").filter(pc.field("captured"))
    assert lit[14].step in captured["step"].to_pylist(), "its spans are on the timeline"
    assert lit[40].step is None, "no replica works at this line"
    assert lit[40].ms_per_step == pytest.approx(30.0 * 35 / 40, rel=0.15)
    assert sum(each.share or 0.0 for each in lit.values()) == pytest.approx(1.0, abs=0.05)


def test_the_time_of_ops_is_at_the_lines_that_made_them(run: Path) -> None:
    profile = strategy_profiles.load(run)
    names = profile.table("spans")["name"].cast(pa.string()).to_pylist()
    profile.once((lines_of_ops.__wrapped__, 0), lambda: dict.fromkeys(names, f"{FILE}:31"))
    facts = gather_facts(profile, profile.segments[0])
    (code,) = (part for part in loop(profile, facts).parts if isinstance(part, Code))
    ((_, lines),) = code.files
    ms = {each.line: each.ms_per_step for each in lines if each.share is not None}
    compute = facts.account.row("loop/steps/compute")
    assert ms[31] == pytest.approx(facts.account.ms_per_step(compute))
    assert sum(each.share or 0.0 for each in lines) == pytest.approx(1.0, abs=0.05)


def test_rows_are_indented_below_what_they_are_a_part_of(run: Path) -> None:
    (rows,) = (
        each for each in loop_answer(run).parts if isinstance(each, Table) and each.key == "account"
    )
    assert len(rows.depths) == len(rows.rows)
    assert rows.rows[0][0] == "Loop with its first step"
    assert rows.depths[0] == 0
    assert max(rows.depths) >= 2


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.name)
def test_bar_sentence_and_cost_have_one_share(example: Example, tmp_path: Path) -> None:
    profile = strategy_profiles.load(unpack(example, tmp_path))
    facts = gather_facts(profile, profile.segments[0])
    (shares,) = (part for part in loop(profile, facts).parts if isinstance(part, Shares))
    bar = {part.title: units.share(part.share) for part in shares.parts}
    assert len(bar) == len(shares.parts), "no two parts have one name"
    by_key = {item.key: item for item in findings(facts)}
    for key, part in (("tracing", "First step"), ("computation", "Compute")):
        if key in by_key:
            assert f"{bar[part]}" in by_key[key].sentence
            assert f" {by_key[key].cost.share_text}" in by_key[key].sentence


def test_a_first_step_has_one_share_without_what_the_recorder_does_in_it(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=40))
    lengths = {"loop": ("loop", 100.0), "loop/first": ("first", 60.0)}
    lengths |= {f"loop/{region}": (region, 20.0) for region in ("steps", "between")}
    for region in ("first", "between"):
        lengths[f"loop/{region}/recording"] = "recording", 10.0
    lengths["loop/first/rest"] = "rest", 50.0
    rows = tuple(Row(row, kind, ms, "measured") for row, (kind, ms) in lengths.items())
    facts = replace(
        gather_facts(profile, profile.segments[0]), account=Account(0, 40, rows, 1, first_ms=40.0)
    )
    (shares,) = (part for part in loop(profile, facts).parts if isinstance(part, Shares))
    parts = {part.title: round(part.share, 9) for part in shares.parts}
    names = ("Before the first step", "First step", "Recorder")
    assert [parts[name] for name in names] == [0.1, 0.4, 0.2]
    (tracing,) = [item for item in findings(facts) if item.key == "tracing"]
    assert tracing.cost.share_text == "40 % of the loop"
    assert " 40 % of the loop, because" in tracing.sentence


def test_a_row_stands_below_what_it_is_a_part_of(tmp_path: Path) -> None:
    """Ops are a part of the computation, whatever comes after it."""
    parts = loop_answer(unpack(EXAMPLES[0], tmp_path)).parts
    (rows,) = (each for each in parts if isinstance(each, Table) and each.key == "account")
    above: list[str] = []
    parents = {}
    for (title, *_), depth in zip(rows.rows, rows.depths, strict=True):
        parents[title] = above[depth - 1] if depth else ""
        above[depth:] = [str(title)]
    assert parents["Compute"] == "Steps"
    assert {parent for title, parent in parents.items() if "Conv2D" in str(title)} == {"Compute"}


def test_the_account_of_the_program_has_what_comes_before_and_after_the_loop(run: Path) -> None:
    (rows,) = (
        each for each in loop_answer(run).parts if isinstance(each, Table) and each.key == "program"
    )
    parts = {row[0]: (row[1], row[2]) for row in rows.rows}
    assert parts["Program"][1] == pytest.approx(1.0)
    assert parts["Before training"][0] == pytest.approx(2.0, rel=0.01)
    assert sum(
        parts[name][1] for name in ("Before training", "Loop with its first step")
    ) == pytest.approx(1.0, abs=0.02)


def test_a_run_without_a_step_says_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=0)
    profile = strategy_profiles.load(run)
    assert all(not loop(profile, gather_facts(profile, each)).parts for each in profile.segments)
