"""What a sweep says: intervals, Pareto fronts, sentences, formats, its file."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import msgspec
import pytest

from strategy_profiles.errors import LabError
from strategy_sweep import record
from strategy_sweep.answer import sweep_answer
from strategy_sweep.contest import Ratio
from strategy_sweep.formats import as_csv, as_json
from strategy_sweep.markdown import as_markdown
from strategy_sweep.record import Budget, Configuration, LeftOut, Sweep
from strategy_sweep.results import results
from strategy_sweep.text import (
    headline,
    ratio_text,
    time_left,
    what_was_done,
    why_text,
)
from tests.plugins.sweep.made_sweep import made_sweep, played

RATES = {0: 100.0, 1: 150.0, 2: 149.0, 3: 40.0}


@pytest.fixture(scope="module")
def finished_sweep() -> Sweep:
    sweep = msgspec.structs.replace(
        made_sweep(4), left_out=[LeftOut("batch | 63", "cannot be shared equally")]
    )
    return played(
        sweep, lambda planned: RATES[planned.configuration] * (1 + 0.02 * (planned.round % 3))
    )


def test_an_interval_needs_three_runs(finished_sweep: Sweep) -> None:
    """The sweep runs the fastest configuration, 1, often enough, and the slowest, 3, less."""
    table = {item.index: item for item in results(finished_sweep).table}
    winner, slow = table[1].examples_per_second_at_median, table[3].examples_per_second_at_median
    assert winner is not None
    assert slow is not None
    assert winner.low is not None
    assert winner.high is not None
    assert winner.low < winner.middle < winner.high
    assert (slow.low, slow.high, table[3].of_reference) == (None, None, None)


def test_a_pareto_front_leaves_out_what_is_slower_and_later(finished_sweep: Sweep) -> None:
    sweep_results = results(finished_sweep)
    # Steps: 640, 853, 1289 and 6400 ms; the first is the soonest, the second the fastest.
    assert set(sweep_results.pareto("step_ms")) == {0, 1}
    assert sweep_results.pareto("num_replicas") == [1]


def test_the_headline_counts_the_configurations_that_have_run() -> None:
    begun = played(made_sweep(4), lambda _turn: 100.0, most=2)
    assert headline(results(begun)).startswith("Fastest so far of 2 of 4 configurations: ")


def test_the_headline_names_the_winner_its_interval_and_its_rivals() -> None:
    equal = {0: 100.0, 1: 150.0, 2: 150.0}
    sweep = played(
        made_sweep(3),
        lambda planned: (
            equal[planned.configuration]
            * (1 + 0.02 * ((planned.round + planned.configuration) % 3))
        ),
    )
    said = headline(results(sweep))
    assert re.match(
        r"Fastest of 3 configurations: batch (128|192), 15\d \(1\d\d to 1\d\d\) examples/s, 1\.",
        said,
    )
    assert "times (1." in said
    assert "the default (batch 64); not distinguishable from batch " in said
    assert "because" in what_was_done(results(sweep))
    assert time_left(results(sweep)) == ""


def test_the_time_left_is_in_whole_seconds() -> None:
    """Two runs of 5 s of one round are to come; a fraction of them would be made up."""
    three = msgspec.structs.replace(made_sweep(3), budget=Budget(rounds=1))
    begun = played(three, lambda turn: 100.0 + turn.configuration, most=1)
    assert time_left(results(begun)) == "about 10 s left"


def test_a_sweep_that_compared_nothing_calls_nothing_the_best() -> None:
    few = msgspec.structs.replace(made_sweep(2), budget=Budget(rounds=2))
    said = headline(results(played(few, lambda turn: 100.0 + turn.configuration)))
    assert said.startswith(
        "Fastest of 2 configurations in 2 rounds, too few to compare them: batch 128"
    )


def test_if_the_default_wins_the_next_one_is_named() -> None:
    means = {0: 150.0, 1: 100.0}
    sweep = played(
        made_sweep(2),
        lambda planned: means[planned.configuration] * (1 + 0.01 * (planned.round % 2)),
    )
    said = headline(results(sweep))
    assert "which is the default; batch 128 has 0.67 times (0.67 to 0.67) its throughput." in said


def test_a_sweep_without_a_run_and_one_that_failed_say_so() -> None:
    assert headline(results(made_sweep(2))) == "Nothing is measured yet."
    failed = played(made_sweep(2), lambda _turn: "broken")
    assert headline(results(failed)) == "No configuration could be measured: all 2 failed."


def test_the_winners_spec_has_its_changes(finished_sweep: Sweep) -> None:
    sweep_results = results(finished_sweep)
    assert sweep_results.winner is not None
    assert sweep_results.spec(sweep_results.winner.index).global_batch_size == 128


def test_json_markdown_and_csv_have_every_configuration(finished_sweep: Sweep) -> None:
    sweep_results = results(finished_sweep)
    document = json.loads(json.dumps(as_json(sweep_results), allow_nan=False))
    assert document["winner"]["spec"]["global_batch_size"] == 128
    assert len(document["configurations"]) == 4
    assert document["left_out"] == [{"label": "batch | 63", "reason": "cannot be shared equally"}]
    rows = list(csv.DictReader(io.StringIO(as_csv(sweep_results))))
    assert rows[0]["configuration"] == "batch 128"
    assert rows[-1]["step_ms_low"] == ""
    assert rows[0]["examples_per_second_at_median"]
    text = as_markdown(sweep_answer(sweep_results), "Sweep")
    assert "| batch 128 | 153 | " in text
    assert "| batch \\| 63 | cannot be shared equally |" in text


def test_labels_are_text_in_markdown_and_in_a_spreadsheet(finished_sweep: Sweep) -> None:
    label = "=cmd() ![x](https://evil.example) @someone <img> `code`"
    configurations = [
        msgspec.structs.replace(item, label=label) if item.label == "batch 128" else item
        for item in finished_sweep.configurations
    ]
    sweep_results = results(msgspec.structs.replace(finished_sweep, configurations=configurations))
    text = as_markdown(sweep_answer(sweep_results), "Sweep")
    for markup in ("![", "@someone", "<img>", " `code`"):
        assert markup not in text
    (row,) = [row for row in csv.reader(io.StringIO(as_csv(sweep_results))) if label in row[0]]
    assert row[0] == f"'{label}"


def test_a_sweep_is_read_as_it_was_written(finished_sweep: Sweep, tmp_path: Path) -> None:
    record.save(finished_sweep, tmp_path)
    assert record.load(tmp_path, "sweep-1") == finished_sweep
    assert list(record.names(tmp_path)) == ["sweep-1"]
    assert [path.name for path in tmp_path.iterdir()] == ["sweep-1.sweep.json"]
    first = json.loads((tmp_path / "sweep-1.sweep.json").read_text())["runs"][0]
    assert first["examples_per_second"] == finished_sweep.runs[0].examples_per_second_at_median


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"name": 3}', "\x00"],
)
def test_a_file_that_is_no_sweep_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.sweep.json").write_text(text)
    with pytest.raises(LabError, match="is not a sweep"):
        record.load(tmp_path, "x")


def test_a_sweep_that_is_not_there_and_a_wrong_index_are_refused(
    finished_sweep: Sweep, tmp_path: Path
) -> None:
    with pytest.raises(LabError, match="has no sweep 'y'"):
        record.load(tmp_path, "y")
    record.save(finished_sweep, tmp_path)
    (tmp_path / "sweep-1.sweep.json").rename(tmp_path / "z.sweep.json")
    with pytest.raises(LabError, match="is the file of 'sweep-1'"):
        record.load(tmp_path, "z")
    wrong = [Configuration("x", {"nonsense": 1})] * 4
    record.save(msgspec.structs.replace(finished_sweep, configurations=wrong), tmp_path)
    with pytest.raises(LabError, match="has a configuration that is not valid"):
        record.load(tmp_path, "sweep-1")
    record.save(msgspec.structs.replace(finished_sweep, reference=9), tmp_path)
    with pytest.raises(LabError, match="configurations that it does not have"):
        record.load(tmp_path, "sweep-1")


def test_the_reason_of_a_failure_has_no_full_stop_to_which_another_is_added() -> None:
    sweep_results = results(
        played(made_sweep(3), lambda turn: 9.0 if turn.configuration else "Too large.")
    )
    assert (
        why_text(next(item for item in sweep_results.table if item.index == 0))
        == "failed: Too large"
    )


def test_a_wide_ratio_has_no_more_digits_than_a_person_reads() -> None:
    assert ratio_text(Ratio(1.52, 0.0004, 96212.81, 3)) == "1.52 times (0.00 to 96,213)"
    assert ratio_text(Ratio(2.7089, 0.3, 24.5459, 3)) == "2.71 times (0.30 to 24.55)"
