"""A program is recorded once for all who look at it, a few at a time, and not after they left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from strategy_contexts.context_recordings import (
    ContextRecordings,
    Done,
    Key,
    Queued,
    Refused,
    Running,
)
from strategy_profiles.errors import LabError

A, B, C, D = (Key((f"program {name}", "mirrored", "cpu:2")) for name in "abcd")


@dataclass
class Pretended:
    """A program whose end the test decides."""

    key: Key
    is_running: bool = True
    is_closed: bool = False
    refusal: str = ""
    num_bytes: int = 100

    def result(self) -> dict[str, Any]:
        if self.refusal:
            raise LabError(self.refusal)
        return {"title": self.key[0]}

    def close(self) -> None:
        self.is_running, self.is_closed = False, True


@dataclass
class Place:
    """Recordings of pretended programs, a clock, and who has a page open."""

    now: float = 0.0
    gone: set[str] = field(default_factory=set)
    started: list[Pretended] = field(default_factory=list)
    refused: set[Key] = field(default_factory=set)

    def make(self, **options: Any) -> ContextRecordings:
        return ContextRecordings(
            self.start,
            lambda viewer: viewer not in self.gone,
            clock=lambda: self.now,
            tick_s=None,
            **options,
        )

    def start(self, key: Key) -> Pretended:
        if key in self.refused:
            raise LabError("No such strategy")
        self.started.append(Pretended(key))
        return self.started[-1]

    def of(self, key: Key) -> Pretended:
        """The newest process of a program."""
        return next(each for each in reversed(self.started) if each.key == key)

    def end(self, held: ContextRecordings, key: Key, **outcome: Any) -> None:
        program = self.of(key)
        program.is_running = False
        for name, value in outcome.items():
            setattr(program, name, value)
        held.tick()


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def held(place: Place) -> ContextRecordings:
    return place.make()


def test_viewers_of_one_program_share_one_process_and_its_recording(
    place: Place, held: ContextRecordings
) -> None:
    for viewer in ("ada", "bob", "eve"):
        held.look(viewer, [A])
        assert held.state(viewer, A) == Running()
    assert len(place.started) == 1
    place.end(held, A)
    for viewer in ("ada", "bob", "new"):
        held.look(viewer, [A])
        assert held.state(viewer, A) == Done({"title": A[0]})
    assert len(place.started) == 1
    assert place.of(A).is_closed


def test_a_shipped_recording_is_there_at_once_and_recorded_again_on_request(place: Place) -> None:
    held = place.make(shipped={A: {"title": "shipped"}}.get)
    held.look("ada", [A])
    assert held.state("ada", A) == Done({"title": "shipped"})
    assert not place.started
    held.record_again("ada", A)
    assert held.state("ada", A) == Running()
    place.end(held, A)
    assert held.state("bob", A) == Done({"title": A[0]})


def test_at_most_two_run_at_once_and_the_others_know_their_place(
    place: Place, held: ContextRecordings
) -> None:
    for viewer, key in zip("abcd", (A, B, C, D), strict=True):
        held.look(viewer, [key])
    assert [each.key for each in place.started] == [A, B]
    assert held.state("c", C) == Queued(1)
    assert held.state("d", D) == Queued(2)
    place.end(held, B)
    assert held.state("c", C) == Running()
    assert held.state("d", D) == Queued(1)


def test_a_recording_ends_soon_after_the_last_tab_that_shows_it(
    place: Place, held: ContextRecordings
) -> None:
    held.look("ada", [A])
    held.look("bob", [A])
    place.gone.add("ada")
    place.now = 100.0
    held.tick()
    place.now = 200.0
    held.tick()
    assert place.of(A).is_running  # bob still looks
    place.gone.add("bob")
    held.tick()
    place.now = 205.0
    held.tick()
    assert place.of(A).is_running
    place.now = 206.0
    held.tick()
    assert place.of(A).is_closed
    assert held.is_idle


def test_a_page_that_is_loaded_again_finds_its_recording_going_on(
    place: Place, held: ContextRecordings
) -> None:
    held.look("the page", [A])
    place.gone.add("the page")
    held.tick()
    place.now = 3.0
    held.look("the page, loaded again", [A])
    place.now = 60.0  # a recording without a page would have ended long before
    held.tick()
    assert len(place.started) == 1
    assert place.of(A).is_running


def test_a_connection_that_comes_back_counts_from_its_next_loss(
    place: Place, held: ContextRecordings
) -> None:
    held.look("ada", [A])
    for lost_at in (0.0, 10.0, 20.0):
        place.now = lost_at
        place.gone.add("ada")
        held.tick()
        place.now = lost_at + 5.0
        held.tick()
        place.gone.clear()
        held.tick()
    assert place.of(A).is_running


def test_a_waiting_program_whose_tab_is_closed_is_never_started(
    place: Place, held: ContextRecordings
) -> None:
    held.look("ada", [A, B])
    held.look("eve", [C])
    place.gone.add("eve")
    held.tick()
    place.now = 7.0
    held.tick()
    place.end(held, A)
    assert [each.key for each in place.started] == [A, B]


def test_a_program_changed_during_its_recording_is_recorded_in_its_place(
    place: Place, held: ContextRecordings
) -> None:
    held.look("ada", [A])
    held.look("ada", [B])
    assert place.of(A).is_closed
    assert held.state("ada", B) == Running()
    place.end(held, B)
    assert held.state("ada", B) == Done({"title": B[0]})


def test_going_to_another_page_ends_what_only_this_viewer_looked_at(
    place: Place, held: ContextRecordings
) -> None:
    held.look("ada", [A, B])
    held.look("bob", [B])
    held.leave("ada")
    assert place.of(A).is_closed
    assert place.of(B).is_running


def test_a_viewer_who_stops_ends_it_only_for_itself(place: Place, held: ContextRecordings) -> None:
    held.look("ada", [A])
    held.look("bob", [A])
    held.stop("ada", A)
    state = held.state("ada", A)
    assert isinstance(state, Refused)
    assert "You stopped the recording" in state.sentence
    assert place.of(A).is_running
    held.look("ada", [A])  # a page that is drawn again does not start it again
    held.stop("bob", A)
    assert place.of(A).is_closed
    held.record_again("ada", A)
    assert held.state("ada", A) == Running()
    assert len(place.started) == 2


def test_a_program_that_hit_a_limit_says_so_to_all_and_is_not_started_again(
    place: Place, held: ContextRecordings
) -> None:
    held.look("ada", [A])
    place.end(held, A, refusal="The program was stopped after 180 s, the longest it may run")
    held.look("bob", [A])
    for viewer in ("ada", "bob"):
        state = held.state(viewer, A)
        assert isinstance(state, Refused)
        assert "stopped after 180 s" in state.sentence
    assert len(place.started) == 1


def test_a_program_that_cannot_start_says_why(place: Place, held: ContextRecordings) -> None:
    place.refused.add(A)
    held.look("ada", [A])
    assert held.state("ada", A) == Refused("No such strategy.")
    assert held.is_idle


@pytest.mark.parametrize("limit", [{"kept": 2}, {"kept_bytes": 250}])
def test_what_is_kept_has_a_limit(limit: dict[str, int], place: Place) -> None:
    held = place.make(**limit)
    for key in (A, B, C):
        held.look("ada", [key])
        place.end(held, key)
    assert isinstance(held.state("ada", C), Done)
    assert isinstance(held.state("ada", B), Done)
    held.look("ada", [A])
    assert held.state("ada", A) == Running()  # recorded again


def test_closing_the_lab_ends_every_recording(place: Place, held: ContextRecordings) -> None:
    held.look("ada", [A, B])
    held.look("bob", [C])
    held.close()
    assert all(each.is_closed for each in place.started)
    assert held.is_idle
