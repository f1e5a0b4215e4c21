"""One lecture: the scene that is shown, whether its answer is, and the room's answers.

It belongs to the server's event loop: no other thread calls it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import segno

from strategy_contexts.lecture.course import Scene
from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.room import Room, RoomError
from strategy_contexts.lecture.shown import EvaluatedScene
from strategy_profiles.errors import LabError
from strategy_profiles.reporting.palette import PHASE_COLOURS

HOLD_PHONE_S = 20.0
"""A phone that waits for a change is answered after this long without one."""
HOLD_S = 2.0
"""The same for the lecturer's page: at its end the lab's server waits for open requests."""
REVEALED = "The answer is shown already, so this one came too late"

Evaluate = Callable[[Scene], EvaluatedScene]


class Lecture:
    """Where a lecture is. `recorded` computes a scene from the recording that comes with the lab,
    `live` from one that it makes, or raises LabError; both run in threads."""

    def __init__(self, scenes: Sequence[Scene], recorded: Evaluate, live: Evaluate) -> None:
        self.scenes = tuple(scenes)
        self.at = 0
        self.room: Room | None = None
        self.links: tuple[str, ...] = ()
        self.live = ""
        """What the live recording of this scene does or why it failed; empty if there is none."""
        self._recorded, self._live = recorded, live
        self._shown: dict[int, asyncio.Future[EvaluatedScene]] = {}
        self._revealed: set[int] = set()
        self._version = 0
        """Counts every change, also of the answers."""
        self._question_version = 0
        """Counts changes of what a phone shows."""
        self._changed = asyncio.Condition()
        self.num_waiting = 0
        """Pages that wait for a change."""
        self.live_task: asyncio.Task[None] | None = None

    @property
    def scene(self) -> Scene:
        return self.scenes[self.at]

    @property
    def is_revealed(self) -> bool:
        return self.at in self._revealed

    async def current_scene(self) -> EvaluatedScene:
        """The question of the current scene, with its evidence."""
        while True:
            at = self.at
            scene = await self._scene(at)
            if at == self.at:  # or the lecture went on while it was computed
                return scene

    async def _scene(self, at: int) -> EvaluatedScene:
        if at not in self._shown:  # pages that ask at the same time share one computation
            work = asyncio.to_thread(self._recorded, self.scenes[at])
            self._shown[at] = asyncio.ensure_future(work)
        return await asyncio.shield(self._shown[at])

    async def forward(self) -> None:
        """Reveal the answer; if it is shown, go on to the next scene."""
        if not self.is_revealed:
            self._revealed.add(self.at)
        elif self.at + 1 < len(self.scenes):
            self._go_to(self.at + 1)
        await self.note_change()

    async def back(self) -> None:
        """Hide the answer; if it is hidden, go back to the scene before."""
        if self.is_revealed:
            self._revealed.remove(self.at)
        elif self.at:
            self._go_to(self.at - 1)
        await self.note_change()

    async def answer(self, device: str, scene: int, choice: int) -> None:
        """Keep an answer from the room; raises RoomError if it cannot count."""
        num_choices = len((await self.current_scene()).question.choices)
        if self.room is None or scene != self.at:
            raise RoomError("The lecture has moved on", advice="Answer the question shown now")
        if self.is_revealed:
            raise RoomError(REVEALED)
        if not 0 <= choice < num_choices:
            raise RoomError("The question has no such choice")
        self.room.answer(device, scene, choice)
        await self.note_change(of_question=False)

    async def run_live(self) -> None:
        """Record the current scene on this machine, beside the lecture."""
        if self.live_task is None or self.live_task.done():
            self.live = "Recording on this machine …"
            self.live_task = asyncio.create_task(self._record(self.at))
            await self.note_change()

    async def _record(self, at: int) -> None:
        choices = (await self._scene(at)).question.choices
        try:
            recorded = await asyncio.to_thread(self._live, self.scenes[at])
            if recorded.question.choices != choices:
                raise LabError("The live recording leads to other choices than those asked")
        except LabError as error:
            said = f"Not recorded live: {error} The recording of the lab is shown."
        else:
            self._shown[at] = _done(recorded)
            said = ""
        if at == self.at:
            self.live = said
        await self.note_change()

    def _go_to(self, at: int) -> None:
        self.at, self.live = at, ""

    async def note_change(self, *, of_question: bool = True) -> None:
        """Answer the pages that wait: the lecturer's, and those of the room for a question."""
        async with self._changed:
            self._version += 1
            self._question_version += of_question
            self._changed.notify_all()

    async def wait(self, seen: int) -> None:
        """Return once there is something newer than version `seen`, or after `HOLD_S`."""
        await self._wait(lambda: self._version != seen, HOLD_S)

    async def wait_for_question(self, seen: int) -> None:
        """The same for a phone, which does not show what others answer."""
        await self._wait(lambda: self._question_version != seen, HOLD_PHONE_S)

    async def _wait(self, is_new: Callable[[], bool], hold_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(hold_s), self._changed:
                self.num_waiting += 1
                try:
                    await self._changed.wait_for(is_new)
                finally:
                    self.num_waiting -= 1

    async def for_lecturer(self) -> dict[str, Any]:
        """Everything that the lecturer's page draws; what decides the question once revealed."""
        scene = await self.current_scene()
        number = len(scene.question.choices)
        room = self.room
        return self._question_document(scene.question) | {
            "version": self._version,
            "title": self.scene.title,
            "setup": scene.setup,
            "program": scene.program,
            "line": scene.question.line,
            "origin": scene.origin,
            "run": scene.run,
            "live": self.live,
            "links": self.links,
            "qr": _qr_code(self.links[0]) if self.links else None,
            "num_guesses": room.num_guesses if room else 0,
            "counts": room.counts(self.at, number) if room else None,
            **(self._answered(scene.question) if self.is_revealed else {}),
        }

    async def for_device(self, device: str | None) -> dict[str, Any]:
        """What a phone shows: the question, its own answer, and the right one once revealed."""
        question = (await self.current_scene()).question
        yours = self.room.choice_of(device, self.at) if self.room else None
        fields = ("right", "evidence") if self.is_revealed else ()
        answered = self._answered(question)
        own = {"version": self._question_version, "yours": yours}
        return self._question_document(question) | own | {name: answered[name] for name in fields}

    def _question_document(self, question: Question) -> dict[str, Any]:
        return {
            "scene": self.at,
            "count": len(self.scenes),
            "text": question.text,
            "choices": question.choices,
            "is_revealed": self.is_revealed,
        }

    def _answered(self, question: Question) -> dict[str, Any]:
        return {
            "right": question.right,
            "evidence": question.evidence,
            "why": question.why,
            "bars": [
                asdict(bar) | {"colour": PHASE_COLOURS.get(bar.phase)} for bar in question.bars
            ],
        }


@cache
def _qr_code(link: str) -> str:
    """Return the link as a QR code: an SVG image, dark on white in either colour scheme."""
    return segno.make(link, error="m", micro=False).svg_data_uri(border=3, light="white", scale=8)


def _done(scene: EvaluatedScene) -> asyncio.Future[EvaluatedScene]:
    future = asyncio.get_running_loop().create_future()
    future.set_result(scene)
    return future
