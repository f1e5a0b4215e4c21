"""One worker of a coordinator that does a step while the others have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import strategy_profiles
from strategy_profiles.analysis.facts import Finding
from strategy_profiles.analysis.findings import findings, gather_facts
from strategy_profiles.run.event_parts import StackPlace
from strategy_profiles.run.events import StacksSampled
from tests.synthetic import stacks as synthetic
from tests.synthetic import write_run
from tests.synthetic.stacks import stack_place

JOIN = stack_place("workers", 14, "coordinator.join()")


def findings_of_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *busy: list[int]
) -> dict[str, Finding]:
    """The findings of a run in whose steps these workers are busy, each for an equal part."""
    written = synthetic.StacksSampled

    def with_busy(*, place: list[int], places: list[StackPlace], **more: Any) -> StacksSampled:
        first = len(places)  # the steps of the synthetic run are at place 0
        place = [first + n % len(busy) if each == 0 else each for n, each in enumerate(place)]
        places = [*places, *(msgspec.structs.replace(JOIN, busy=each) for each in busy)]
        return written(place=place, places=places, **more)

    monkeypatch.setattr(synthetic, "StacksSampled", with_busy)
    gap = (5, 10.0, stack_place("python", 30))
    profile = strategy_profiles.load(write_run(folder / "run", steps=200, gaps=[gap]))
    facts = gather_facts(profile, profile.segments[0])
    segment = msgspec.structs.replace(facts.segment, num_workers=2)
    facts = msgspec.structs.replace(facts, segment=segment)
    return {item.key: item for item in findings(facts)}


def test_the_worker_that_the_others_wait_for_is_named_with_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = findings_of_run(tmp_path, monkeypatch, [0, 1], [1], [1])["lone-worker"]
    assert "Worker 1 keeps the others waiting at train.py:14" in item.sentence
    assert "67 % of the steps' time" in item.sentence
    assert item.evidence["worker"] == 1


@pytest.mark.parametrize("busy", [([0, 1],), ([0], [1]), ([], [0, 1])])
def test_workers_that_are_alone_in_turns_or_never_have_no_finding(
    busy: tuple[list[int], ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "lone-worker" not in findings_of_run(tmp_path, monkeypatch, *busy)


def test_a_program_that_joins_after_each_step_has_one_worker_at_work_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = findings_of_run(tmp_path, monkeypatch, [0], [1])["workers-in-turns"]
    assert "One of 2 workers works at a time: the program waits at train.py:14 for" in item.sentence


@pytest.mark.parametrize("busy", [([0, 1],), ([0], [1], [0, 1]), ([0], [0], [0], [1])])
def test_workers_do_not_take_turns_that_work_together_or_of_which_one_is_late(
    busy: tuple[list[int], ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "workers-in-turns" not in findings_of_run(tmp_path, monkeypatch, *busy)
