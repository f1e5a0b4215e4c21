"""A lecture: question, reveal, next scene; when an answer counts; a live recording that fails."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from strategy_contexts.lecture.course import Scene
from strategy_contexts.lecture.lecture import Lecture
from strategy_contexts.lecture.room import Room, RoomError
from strategy_contexts.lecture.shown import EvaluatedScene
from tests.plugins.contexts.conftest import SCENES, recorded


def test_forward_reveals_and_then_goes_on_to_the_last_scene(lecture: Lecture) -> None:
    async def places() -> list[tuple[int, bool]]:
        found = []
        for _ in range(5):
            found.append((lecture.at, lecture.is_revealed))
            await lecture.forward()
        return found

    assert asyncio.run(places()) == [(0, False), (0, True), (1, False), (1, True), (1, True)]


def test_back_goes_the_same_way(lecture: Lecture) -> None:
    async def places() -> list[tuple[int, bool]]:
        for _ in range(3):
            await lecture.forward()
        found = []
        for _ in range(5):
            found.append((lecture.at, lecture.is_revealed))
            await lecture.back()
        return found

    assert asyncio.run(places()) == [(1, True), (1, False), (0, True), (0, False), (0, False)]


def test_what_decides_is_sent_after_the_reveal_alone(lecture: Lecture) -> None:
    async def told() -> None:
        lecture.room = Room("CODE")
        for answer in (await lecture.for_lecturer(), await lecture.for_device("a")):
            assert not {"right", "evidence", "why", "bars"} & set(answer)
        await lecture.forward()
        assert (await lecture.for_device("a"))["right"] == 1
        assert (await lecture.for_lecturer())["evidence"] == "It is b."

    asyncio.run(told())


@pytest.mark.parametrize(
    ("scene", "choice", "refused"),
    [(1, 0, "moved on"), (0, 3, "no such choice"), (0, -1, "no such")],
)
def test_an_answer_to_another_question_does_not_count(
    lecture: Lecture, scene: int, choice: int, refused: str
) -> None:
    lecture.room = Room("CODE")
    with pytest.raises(RoomError, match=refused):
        asyncio.run(lecture.answer("a", scene, choice))
    assert lecture.room.num_devices == 0


def test_an_answer_after_the_reveal_does_not_count(lecture: Lecture) -> None:
    async def late() -> None:
        await lecture.answer("a", 0, 0)
        await lecture.forward()
        await lecture.answer("a", 0, 1)

    lecture.room = Room("CODE")
    with pytest.raises(RoomError, match="too late"):
        asyncio.run(late())
    assert lecture.room.counts(0, 3) == [1, 0, 0]


def test_an_answer_is_news_for_the_lecturer_and_not_for_phones(lecture: Lecture) -> None:
    async def waited() -> tuple[bool, bool]:
        lecture.room = Room("CODE")
        seen, seen_by_phone = [
            each["version"]
            for each in (await lecture.for_lecturer(), await lecture.for_device("a"))
        ]
        page = asyncio.create_task(lecture.wait(seen))
        phone = asyncio.create_task(lecture.wait_for_question(seen_by_phone))
        await lecture.answer("a", 0, 0)
        await page
        found = page.done(), phone.done()
        await lecture.forward()
        await phone
        return found

    assert asyncio.run(waited()) == (True, False)


def test_a_page_that_asks_while_the_lecture_goes_on_gets_the_new_scene() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slow(scene: Scene) -> EvaluatedScene:
        if scene.name == "one":
            begun.set()
            may_end.wait()
        return recorded(scene)

    async def asked() -> dict[str, Any]:
        lecture = Lecture(SCENES, slow, slow)
        page = asyncio.create_task(lecture.for_lecturer())
        await asyncio.to_thread(begun.wait)
        await lecture.forward()
        await lecture.forward()
        may_end.set()
        return await page

    found = asyncio.run(asked())
    assert (found["scene"], found["text"]) == (1, "two?")


def test_pages_that_ask_at_once_share_one_computation() -> None:
    questions: list[str] = []

    def slow(scene: Scene) -> EvaluatedScene:
        questions.append(scene.name)
        return recorded(scene)

    async def both() -> None:
        lecture = Lecture(SCENES, slow, slow)
        await asyncio.gather(lecture.for_lecturer(), lecture.for_device(None))

    asyncio.run(both())
    assert questions == ["one"]


async def live(lecture: Lecture) -> None:
    await lecture.run_live()
    assert lecture.live
    assert lecture.live_task is not None
    await lecture.live_task


def test_a_live_recording_that_fails_leaves_the_one_of_the_lab(lecture: Lecture) -> None:
    async def tried() -> EvaluatedScene:
        await live(lecture)
        return await lecture.current_scene()

    assert asyncio.run(tried()).origin == "Recorded."
    assert "No process can be started" in lecture.live


def test_a_live_recording_replaces_the_one_of_the_lab() -> None:
    def now(scene: Scene) -> EvaluatedScene:
        return replace(recorded(scene), origin="Live.")

    async def tried() -> tuple[str, str]:
        lecture = Lecture(SCENES, recorded, now)
        await live(lecture)
        return (await lecture.current_scene()).origin, lecture.live

    assert asyncio.run(tried()) == ("Live.", "")


def test_a_live_recording_with_other_choices_is_not_used() -> None:
    def now(scene: Scene) -> EvaluatedScene:
        found = recorded(scene)
        return replace(found, question=replace(found.question, choices=("d", "e", "f")))

    async def tried() -> tuple[str, ...]:
        lecture = Lecture(SCENES, recorded, now)
        await live(lecture)
        assert "other choices" in lecture.live
        return (await lecture.current_scene()).question.choices

    assert asyncio.run(tried()) == ("a", "b", "c")


def test_an_open_room_has_its_link_as_a_qr_code(lecture: Lecture) -> None:
    async def codes() -> list[str | None]:
        found = []
        for links in ((), ("http://192.0.2.7:8600/K7QF2M",), ("http://192.0.2.7:8600/ABCDEF",)):
            lecture.links = links
            found.append((await lecture.for_lecturer())["qr"])
        return found

    closed, one, other = asyncio.run(codes())
    assert closed is None
    assert one is not None
    assert one.startswith("data:image/svg+xml")
    assert one != other
