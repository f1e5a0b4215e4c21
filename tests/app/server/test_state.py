"""What the server remembers of runs belongs to one run each, and has a limit."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from strategy_app.server import state, timelines
from strategy_app.server.timelines import Timelines
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import Timeline, lay_out
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S


def test_commands_to_a_run_are_not_taken_for_those_of_the_next_of_its_name(tmp_path: Path) -> None:
    lab = state.configure(tmp_path)
    write_run(tmp_path / "one", steps=3, windows=0)
    lab.sent_to(lab.hub.run("one"))[1] = "stop"
    assert lab.sent_to(lab.hub.run("one")) == {1: "stop"}
    shutil.rmtree(tmp_path / "one")
    write_run(tmp_path / "one", steps=3, windows=0)
    assert lab.sent_to(lab.hub.run("one")) == {}


def test_commands_of_the_newest_runs_alone_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MAX_REMEMBERED", 2)
    lab = state.configure(tmp_path)
    for name in ("a", "b", "c"):
        write_run(tmp_path / name, steps=3, windows=0)
        lab.sent_to(lab.hub.run(name))[1] = name
    assert lab.sent_to(lab.hub.run("b")) == {1: "b"}
    assert lab.sent_to(lab.hub.run("a")) == {}


def test_what_a_package_keeps_beside_the_lab_is_closed_with_it(tmp_path: Path) -> None:
    class Work:
        is_over = False

        def close(self) -> None:
            self.is_over = True

    lab = state.configure(tmp_path)
    work = lab.part(Work)
    assert lab.part(Work) is work
    lab.close()
    assert work.is_over


def test_the_timeline_of_a_run_whose_spans_are_a_dangling_link_is_empty(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", steps=30, windows=1)
    (spans,) = run.rglob("spans.parquet")
    spans.unlink()
    spans.symlink_to("nowhere")
    assert Timelines(tmp_path).get("a").num_spans == 0


def test_timelines_are_kept_up_to_a_number_of_spans(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, steps=30, windows=1)
    num_spans = Timelines(tmp_path).get("a").num_spans
    kept = Timelines(tmp_path, max_spans=num_spans + 1)
    first, second = kept.get("a"), kept.get("b")  # together they are too many
    assert kept.get("b") is second
    assert kept.get("a") is not first


def test_runs_are_laid_out_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A viewer of a small run does not wait for the layout of a large one."""
    for name in ("large", "small"):
        write_run(tmp_path / name, steps=30, windows=1)
    is_at_work, may_end = threading.Event(), threading.Event()

    def slow(profile: Profile) -> Timeline:
        if profile.path.name == "large":
            is_at_work.set()
            assert may_end.wait(MAX_WAIT_S)
        return lay_out(profile)

    monkeypatch.setattr(timelines, "lay_out", slow)
    kept = Timelines(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        large = pool.submit(kept.get, "large")
        assert is_at_work.wait(MAX_WAIT_S)
        try:
            assert pool.submit(kept.get, "small").result(MAX_WAIT_S).num_spans
            assert not large.done()
        finally:
            may_end.set()
        assert large.result(MAX_WAIT_S).num_spans
