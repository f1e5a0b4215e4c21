"""Every page about runs, on every sort of run: it answers or says why not, and never raises."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

from strategy_profiles.reporting.units import MISSING
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Exited, Failed
from strategy_profiles.run.layout import worker_folder
from tests.app.looking import open_page, text_of
from tests.growing_run import write_by_launcher
from tests.plugins.leaves import from_doors
from tests.synthetic import HOSTILE, write_run
from tests.synthetic.recorded_again import write_run_of_program

pytestmark = pytest.mark.slow

PAGES = ("overview", "communication", "placement", "runs", *chain(*from_doors("RUN_PAGES")))
RECIPES = {
    "plain": {},
    "straggler": {"straggler": (2, 30.0)},
    "one-replica": {"replicas": 1, "strategy": "one-device"},
    "sixteen": {"replicas": 16, "workers": 4, "strategy": "multi-worker-mirrored"},
    "reconfigured": {"segments": [{}, {"replicas": 2}, {"moved": "fresh-worker"}]},
    "failed": {"ending": "failed"},
    "crashed": {"ending": "crashed"},
    "no-run-file": {"ending": None, "missing": ("run.json",)},
    "no-placement": {"placement": False},
    "marks-only": {"windows": 0},
    "nothing-per-replica": {"windows": 0, "marks": False, "memory": False},
    "one-step": {"steps": 1, "windows": 0},
    "no-step": {"steps": 0, "windows": 0, "ending": "failed"},
    "not-a-number": {"nan_loss_from": 3},
    "hostile": {"prefix": HOSTILE},
    "cut": {"ending": None, "cut": [("worker-0-0/events.jsonl", 3000)]},
    "cut-window": {"cut": [("worker-0-0/window-000000/collectives.parquet", 100)]},
    "retraced": {"retraced": [{"step": 9, "function": "train_step", "num_traces": 1}]},
    "no-environment": {"missing": ("environment",)},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name, recipe in RECIPES.items():
        write_run(folder / name, **{"steps": 40, "windows": 1, "window_steps": 4, **recipe})
    (folder / "damaged").mkdir()
    (folder / "damaged" / "run.json").write_text('{"na')
    return folder


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", [*RECIPES, "damaged"])
def test_a_page_shows_any_run(page: str, name: str, runs: Path) -> None:
    at = open_page(page, runs, run=name)
    assert len(text_of(at)) > 100
    assert at.query_params["run"] in (name, [name])


@pytest.mark.parametrize("page", [*PAGES, "compare"])
def test_an_empty_runs_folder_says_what_to_do(page: str, tmp_path: Path) -> None:
    at = open_page(page, tmp_path)
    assert "No run yet" in text_of(at)
    assert ("This page shows" in text_of(at)) is (page != "runs")  # it says where runs are stored
    links = [link.label for link in at.get("page_link")]
    assert "New run →" in links
    has_others = "Record a program, import a profile, or open an example →" in links
    assert has_others is (page != "runs")  # All runs has them on its page


@pytest.mark.parametrize("page", PAGES)
def test_an_unknown_run_is_named_and_another_can_be_chosen(page: str, runs: Path) -> None:
    at = open_page(page, runs, run="../secret")
    text = text_of(at).replace("\\", "")  # Markdown, whose signs are escaped in a name
    assert "There is no run named ../secret" in text
    assert set(RECIPES) <= set(_names(at.selectbox("pick_run").options))


def test_the_overview_begins_with_the_answer(runs: Path) -> None:
    headline = text_of(open_page("overview", runs, run="straggler"))
    assert "mirrored on 4 replicas trains digits-cnn" in headline
    late = re.search(r"<b>Replica 2 is late by ([\d.]+) ms", headline)
    assert late
    assert float(late[1]) == pytest.approx(30, rel=0.05)


def test_a_missing_number_says_why(runs: Path) -> None:
    text = text_of(open_page("overview", runs, run="nothing-per-replica"))
    assert "needs a capture window" in text
    assert "neither a capture window nor per-replica timestamps" in text


def test_the_failure_stands_on_top_with_what_was_recorded(runs: Path) -> None:
    at = open_page("overview", runs, run="failed")
    assert not at.error, "the headline has said it"
    assert "The run failed" in text_of(at)
    assert "**Failure**" in text_of(at)
    assert "Step time" in text_of(at)
    assert "This run failed" in open_page("placement", runs, run="failed").error[0].value


def test_a_lost_worker_stands_above_what_limits_the_steps(tmp_path: Path) -> None:
    """No process recorded an error: the headline is that of the steps."""
    run = write_run(tmp_path / "lost", steps=60, windows=1, straggler=(2, 30.0), ending=None)
    write_by_launcher(run, Exited(0, 0, -9, "hung", "Worker 0: It did not take part."))
    at = open_page("overview", tmp_path, run="lost")
    assert "It did not take part" in at.error[0].value
    assert "Replica 2 is late" in text_of(at)


def test_a_program_that_failed_before_its_first_step_is_to_be_recorded_again(
    tmp_path: Path,
) -> None:
    run = write_run_of_program(tmp_path / "early", 1, steps=1)
    events = worker_folder(run, 0).events
    events.unlink()
    log = EventLog(events)
    log.write(Failed("ValueError: loss is NaN", "Traceback ..."))
    log.close()
    write_by_launcher(run, Exited(0, 0, 1, "failed"))
    at = open_page("overview", tmp_path, run="early")
    assert "The run failed before its first step" in text_of(at)
    assert not at.error, "said once"
    assert not [link for link in at.get("page_link") if link.proto.label.startswith("New run")]
    assert "strategy-lab trace train.py" in [item.value for item in at.code]


def test_communication_prints_its_formulas(runs: Path) -> None:
    text = text_of(open_page("communication", runs, run="plain"))
    assert "algbw \\= S \\/ t" in text
    assert "nccl" in text
    assert "in 2 collectives (all-reduce)" in text


@pytest.mark.parametrize("page", ["placement", "communication"])
def test_the_graph_of_a_retraced_function_is_said_to_be_of_its_first_trace(
    page: str, runs: Path
) -> None:
    said = "are of the first trace. train_step was traced again in step 9."
    assert said in text_of(open_page(page, runs, run="retraced")).replace("\\", "")
    assert "first trace" not in text_of(open_page(page, runs, run="plain"))


def test_placement_tells_what_a_live_change_moved(runs: Path) -> None:
    text = text_of(open_page("placement", runs, run="reconfigured", segment="1"))
    assert "What the reconfiguration moved" in text
    assert "3 variables have fewer copies; 0 stayed" in text


def test_placement_of_a_change_that_moved_no_op_has_no_table_of_equal_numbers(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "batch", steps=40, segments=[{}, {"global_batch_size": 512}])
    at = open_page("placement", run.parent, run=run.name, segment="1")
    assert "No op changed device; 96 stayed" in text_of(at)
    assert not [table for table in at.dataframe if "before" in table.value.columns]


def test_communication_of_one_replica_is_one_answer_and_what_to_do_next(runs: Path) -> None:
    at = open_page("communication", runs, run="one-replica")
    assert "nothing to communicate" in text_of(at)
    assert not at.header


@pytest.mark.parametrize(
    ("run", "copies"), [("plain", "each with a copy on 4 devices"), ("one-replica", "one copy")]
)
def test_placement_says_how_many_copies_a_variable_has(run: str, copies: str, runs: Path) -> None:
    assert copies in text_of(open_page("placement", runs, run=run))


def test_transfers_are_listed_as_people_count(runs: Path) -> None:
    at = open_page("communication", runs, run="sixteen")
    (senders,) = (
        table.value["send_device"] for table in at.dataframe if "tensor" in table.value.columns
    )
    numbers = [[int(part) for part in re.findall(r"\d+", name)] for name in senders]
    assert len(numbers) > 10
    assert numbers == sorted(numbers)


def test_clocks_that_agree_are_apart_by_zero_without_a_sign(runs: Path) -> None:
    (clocks,) = (table.value for table in open_page("timeline", runs, run="sixteen").dataframe)
    said = " ".join(clocks["collectives"])
    assert "ends 0.000 ms apart" in said
    assert not re.search(r"[+-]0\.000 ms", said)


@pytest.mark.parametrize("page", [*PAGES, "compare"])
def test_names_from_a_run_never_become_markup(page: str, runs: Path) -> None:
    at = open_page(page, runs, run="hostile", a="hostile", b="plain")
    for body in (item.proto.body for item in at.get("html")):
        assert "<script" not in body
    for item in at.markdown:  # between backticks nothing is markup
        outside_of_code = re.sub(r"`[^`]*`", "", item.value)
        assert not re.search(r"(?<!\\)<script", outside_of_code), "not escaped for Markdown"


def _names(options: list[str]) -> list[str]:
    return [option.split(" · ")[0] for option in options]


def test_communication_without_a_capture_begins_with_what_timestamps_say(runs: Path) -> None:
    text = text_of(open_page("communication", runs, run="marks-only"))
    assert "is waiting for the last replica" in text
    assert "How many bytes move is known of captured steps only." in text


def test_why_has_no_tile_without_a_value_and_says_what_is_missing(tmp_path: Path) -> None:
    write_run(tmp_path / "short", steps=30, windows=0)
    text = text_of(open_page("overview", tmp_path, run="short")).replace("\\", "")
    assert re.search(r"Not known\. .*Bus bandwidth.*: .*capture", text)
    tiles = [tile.split("definition")[0] for tile in text.split("lab-tile")[1:]]
    assert tiles
    assert not [tile for tile in tiles if f">{MISSING}<" in tile]
