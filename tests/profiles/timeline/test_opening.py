"""A long run opens on some of its spans: the same ones, on the same lanes, as in the whole run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.tables.store import Profile, load
from strategy_profiles.timeline import Place, Timeline, lay_out, lay_out_opening, opening
from tests.synthetic import write_run
from tests.synthetic.run import TWO_HOSTS

RUN: dict[str, Any] = {
    "steps": 700,
    "windows": 10,
    "segments": 2,
    "straggler": (1, 20.0),
    "checksums": True,
}
Drawn = set[tuple[Any, ...]]


@pytest.fixture(scope="module", autouse=True)
def long_from_one_span() -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(opening, "FEWEST_SPANS", 1)
        yield


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return load(write_run(tmp_path_factory.mktemp("runs") / "long", **RUN))


@pytest.fixture(scope="module")
def whole(profile: Profile) -> Timeline:
    return lay_out(load(profile.path))


def drawn(timeline: Timeline, steps: set[int] | None = None) -> Drawn:
    """What a view may show of the spans of some steps, without numbers of rows and names."""
    drawn_spans = set()
    for track in timeline.tracks:
        for row in track.rows:
            spans = np.arange(timeline.row_starts[row], timeline.row_starts[row + 1])
            waited, threads = timeline.waited(spans).tolist(), timeline.threads(spans).tolist()
            for span, wait, thread in zip(spans.tolist(), waited, threads, strict=True):
                step = int(timeline.step[span])
                if steps is None or step in steps:
                    times = int(timeline.start[span]), int(timeline.end[span]), wait
                    name, op = timeline.names[timeline.name[span]], timeline.ops[timeline.op[span]]
                    category = timeline.categories[timeline.category[span]]
                    where = track.worker, track.replica, track.device, row - track.first_row
                    drawn_spans.add((*where, *times, step, thread, name, op, category))
    return drawn_spans


def check_against_whole(
    profile: Profile, whole: Timeline, place: Place, *, is_estimated: bool = False
) -> list[int] | None:
    """Compare what is laid out first with the whole run; return the numbers of its steps."""
    opening = lay_out_opening(profile, place)
    if opening is None:
        return None
    first = opening.timeline
    assert (first.origin_ns, first.length_ns) == (whole.origin_ns, whole.length_ns)
    assert first.steps == whole.steps
    close = whole.num_spans * (0.1 if is_estimated else 0)
    assert opening.num_recorded == pytest.approx(whole.num_spans, abs=close)
    assert opening.num_recorded > first.num_spans
    read = [number for low, high in opening.read for number in range(low, high + 1)]
    assert read == sorted(set(read))
    assert drawn(first) == drawn(whole, {whole.steps["step"][number] for number in read})
    return read


def test_a_timeline_opens_on_the_newest_steps(profile: Profile, whole: Timeline) -> None:
    read = check_against_whole(profile, whole, Place())
    assert read is not None
    last = len(whole.steps["step"]) - 1
    assert {last - 20, last} <= set(read)


@pytest.mark.slow
def test_a_timeline_opens_on_a_chosen_step(profile: Profile, whole: Timeline) -> None:
    for number in range(0, len(whole.steps["step"]), 37):
        read = check_against_whole(profile, whole, Place(step=whole.steps["step"][number]))
        assert read is not None
        assert number in read


@given(st.floats(-0.1, 1.1), st.floats(0, 0.3))
@pytest.mark.slow
def test_every_step_in_view_is_read(
    profile: Profile, whole: Timeline, begin: float, length: float
) -> None:
    view = round(begin * whole.length_ns), round((begin + length) * whole.length_ns)
    read = check_against_whole(profile, whole, Place(view=view))
    if read is None:
        return
    start, end = np.array(whole.steps["start"]), np.array(whole.steps["end"])
    assert set(np.flatnonzero((end > view[0]) & (start < view[1])).tolist()) <= set(read)


def test_a_view_of_the_whole_run_has_no_part_that_comes_first(
    profile: Profile, whole: Timeline
) -> None:
    assert lay_out_opening(profile, Place(view=(0, whole.length_ns))) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe",
    [
        {"segments": 2, **TWO_HOSTS},
        {"segments": 2, **TWO_HOSTS, "leader_only": False},
        {"workers": 2, "segments": [{}, {"moved": "fresh-worker"}]},
    ],
    ids=["one worker is captured", "both are captured", "both are started again"],
)
def test_a_run_of_several_workers_opens_on_its_newest_steps_and_on_a_step(
    recipe: dict[str, Any], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", steps=400, windows=10, checksums=True, **recipe)
    profile, whole = load(run), lay_out(load(run))
    numbers = whole.steps["step"]
    for number in (len(numbers) - 1, len(numbers) // 3):
        place = Place() if number == len(numbers) - 1 else Place(step=numbers[number])
        read = check_against_whole(profile, whole, place, is_estimated=True)
        assert read is not None
        assert number in read


def test_the_windows_of_all_workers_are_read_of_a_step(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=300, windows=10, checksums=True, workers=2, replicas=4)
    opening = lay_out_opening(load(run), Place())
    assert opening is not None
    steps = {
        opening.timeline.steps["step"][n]
        for low, high in opening.read
        for n in range(low, high + 1)
    }
    seen = {(where[0], where[7]) for where in drawn(opening.timeline)}
    assert {(worker, step) for worker in (0, 1) for step in steps} <= seen


def test_a_run_without_captures_has_no_part_that_comes_first(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=30, windows=0)
    assert lay_out_opening(load(run), Place()) is None


def test_a_short_run_is_laid_out_at_once(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "FEWEST_SPANS", 1_000_000)
    assert lay_out_opening(profile, Place()) is None


@pytest.mark.slow
def test_a_damaged_window_is_left_out_as_of_the_whole_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", **RUN)
    damaged = sorted(run.glob("worker-0-0/window-*/spans.parquet"))[-1]
    damaged.write_bytes(damaged.read_bytes()[:-20])
    for copies in run.glob("worker-0-0/merged-*/spans.parquet"):
        copies.unlink()
    profile = load(run)
    opening = lay_out_opening(profile, Place())
    assert opening is not None
    steps = {
        opening.timeline.steps["step"][n]
        for low, high in opening.read
        for n in range(low, high + 1)
    }
    assert drawn(opening.timeline) == drawn(lay_out(profile), steps)
    assert any("spans.parquet" in note for note in profile.notes)
