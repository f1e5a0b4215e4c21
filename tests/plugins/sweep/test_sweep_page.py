"""The page Sweep: the form, a sweep with a pretended worker, and every state of a sweep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from strategy_app.server import state
from strategy_app.widgets.text import as_html
from strategy_core.launcher.launcher import Launcher
from strategy_sweep.record import Configuration, Pruned, load, save
from strategy_sweep.running import Sweeps
from tests.app.looking import charts_of, open_page, rerun, text_of
from tests.plugins.sweep.made_sweep import made_sweep, played
from tests.strategy_core.launcher.test_launcher import PRETENDED
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run
NEW = {"sweep": "New sweep"}


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """A launcher of workers that pretend."""
    with Launcher(stop_grace_s=MAX_WAIT_S, worker_command=PRETENDED) as pretending:
        yield pretending


def test_a_folder_without_sweeps_shows_the_form_and_how_long_it_would_take(lab: Path) -> None:
    page = open_page("sweep", lab)
    assert "14 configurations" in text_of(page)
    assert "assumed" in text_of(page)
    assert "one\\-device uses a single device" in text_of(page)
    assert not page.button(key="sweep_start").disabled


def test_axes_that_leave_nothing_to_compare_disable_start(lab: Path) -> None:
    page = open_page("sweep", lab)
    for key in ("sweep_strategy", "sweep_devices", "sweep_batch"):
        page.multiselect(key=key).set_value([])
    assert "A sweep needs an axis" in text_of(rerun(page))
    assert page.button(key="sweep_start").disabled


def test_a_batch_that_was_typed_is_a_number_or_refused(lab: Path) -> None:
    page = open_page("sweep", lab)
    page.multiselect(key="sweep_batch").set_value([64, "96"])
    assert "batch 96" in text_of(rerun(page))
    page.multiselect(key="sweep_batch").set_value(["many"])
    assert "global\\_batch\\_size" in text_of(rerun(page))


@pytest.mark.usefixtures("no_warning_of_defaults")
def test_the_recipe_fills_the_form_in(lab: Path) -> None:
    page = open_page("sweep", lab)
    next(button for button in page.button if "Keras fit" in button.label).click()
    for _ in range(2):
        page_after = rerun(page)
        assert page_after.multiselect(key="sweep_loop").value == ["custom", "fit"]
        assert "loop fit" in text_of(page_after)


@pytest.mark.parametrize(("num_cores", "num_replicas"), [(1, 2), (2, 2), (6, 4)])
def test_the_recipe_has_no_replicas_that_share_a_core(
    lab: Path, monkeypatch: pytest.MonkeyPatch, num_cores: int, num_replicas: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: num_cores)
    page = open_page("sweep", lab)
    next(button for button in page.button if "Keras fit" in button.label).click()
    page_after = rerun(page)
    assert page_after.multiselect(key="sweep_devices").value == [num_replicas]
    assert "**2 configurations**" in text_of(page_after), "the default has as many replicas"


def test_a_sweep_is_started_cancelled_and_goes_on_to_its_end(lab: Path) -> None:
    page = open_page("sweep", lab)
    page.multiselect(key="sweep_strategy").set_value(["mirrored"])
    page.multiselect(key="sweep_devices").set_value([2, 4])
    page.multiselect(key="sweep_batch").set_value([256])
    page.number_input(key="sweep_seconds").set_value(0.5)
    page.number_input(key="sweep_rounds").set_value(1)
    page.button(key="sweep_start").click()
    page_after = rerun(rerun(page))
    running = state.lab().part(Sweeps).active
    assert running is not None
    assert page_after.button(key="sweep_cancel").label == "Cancel"
    wait_until(lambda: len(running.sweeping.sweep.runs) >= 1)
    page_after.button(key="sweep_cancel").click()
    rerun(page_after)
    assert running.wait(MAX_WAIT_S)
    again = open_page("sweep", lab, sweep=running.name)
    assert "Interrupted after" in text_of(again)
    assert "Fastest so far" in text_of(again), load(lab, running.name).runs
    again.button(key="sweep_resume").click()
    rerun(again)
    resumed = state.lab().part(Sweeps).last
    assert resumed is not None
    assert resumed.wait(MAX_WAIT_S)
    assert resumed.error is None
    done = load(lab, running.name)
    assert len(done.runs) == 2
    last = rerun(again)
    assert "Fastest of 2 configurations in 1 round, too few to compare" in text_of(last)
    assert len(last.dataframe[0].value) == 2
    assert not state.lab().launcher.active


def test_a_complete_sweep_has_its_answer_chart_table_and_links(lab: Path) -> None:
    save(played(made_sweep(4), lambda turn: 100.0 + 30 * turn.configuration + turn.round), lab)
    page = open_page("sweep", lab, sweep="sweep-1")
    assert "Best of 4 configurations: <b>batch 256</b>" in text_of(page)
    assert charts_of(page)
    assert page.dataframe[0].value["configuration"].tolist()[0] == "batch 256"
    labels = [link.proto.label for link in page.get("page_link")]
    assert {"Why", "Timeline", "Compare with the default"} <= set(labels)


def test_the_whole_reason_why_a_prediction_left_one_out_is_shown(lab: Path) -> None:
    why = "predicted 15.3 to 30.5 ms per step, at best 8,366 examples/s; best measured 2.6 ms"
    sweep = played(made_sweep(4), lambda turn: 100.0 + 30 * turn.configuration)
    runs = [run for run in sweep.runs if run.configuration != 1]
    pruned = [Pruned(1, f"left out: {why}")]
    save(msgspec.structs.replace(sweep, runs=runs, pruned=pruned), lab)
    page = open_page("sweep", lab, sweep="sweep-1")
    written = text_of(page)
    assert ">batch 128</th>" in written
    assert f">{as_html(why)}</td>" in written


def test_the_chart_of_configurations_alike_in_batch_and_replicas_is_over_the_step_time(
    lab: Path,
) -> None:
    batch = {"global_batch_size": 64}
    packs = [Configuration(f"{n} packs", batch | {"num_packs": n}) for n in (1, 2, 4)]
    alike = msgspec.structs.replace(made_sweep(3), configurations=packs)
    save(played(alike, lambda turn: 100.0 + 30 * turn.configuration), lab)
    assert open_page("sweep", lab, sweep="sweep-1").session_state["sweep_cost"] == "step_ms"


def test_a_sweep_whose_runs_all_failed_says_why(lab: Path) -> None:
    save(played(made_sweep(2), lambda _turn: "out of memory"), lab)
    page = open_page("sweep", lab, sweep="sweep-1")
    assert "all 2 failed" in text_of(page)
    assert set(page.dataframe[0].value["state"]) == {"failed"}
    assert "failed: out of memory</td>" in text_of(page)
    assert not charts_of(page)


def test_a_file_of_code_in_a_sweep_has_to_be_confirmed(lab: Path) -> None:
    program = lab / "theirs.py"
    program.write_text("raise SystemExit")
    sweep = made_sweep(2)
    changes = {"workload": str(program), "global_batch_size": 128}
    configurations = [sweep.configurations[0], Configuration("batch 128", changes)]
    save(msgspec.structs.replace(sweep, configurations=configurations), lab)
    page = open_page("sweep", lab, sweep="sweep-1")
    assert "came with the file of this sweep" in text_of(page)
    page.button(key="sweep_resume").click()
    assert "is not confirmed" in text_of(rerun(page))
    assert state.lab().part(Sweeps).last is None


def test_a_damaged_file_is_named(lab: Path) -> None:
    (lab / "x.sweep.json").write_text("{}")
    assert "is not a sweep" in text_of(open_page("sweep", lab, sweep="x")).replace("\\", "")
