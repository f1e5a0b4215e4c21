"""Every route of a lecture's room, with a stranger's values."""

from __future__ import annotations

import pytest

from strategy_contexts.lecture.answer_app import COOKIE, AnswerApp
from strategy_contexts.lecture.lecture import Lecture
from strategy_contexts.lecture.room import Room
from tests.app.asgi import Client
from tests.doors import test_routes
from tests.doors.hostile import no_hang
from tests.doors.test_routes import addresses, check, places
from tests.plugins.contexts.conftest import SCENES, no_live, recorded

pytestmark = pytest.mark.slow
ROOM: dict[str, dict[str, str]] = {
    "/{code}": {},
    "/{code}/question": {"seen": "0"},
    "/{code}/answers/{scene:bounded}/{choice:bounded}": {},
}


def test_every_route_is_listed(lecture: Lecture) -> None:
    assert {each.path for each in AnswerApp(lecture).app().routes} == set(ROOM)  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ROOM)
def test_a_room_answers_a_hostile_address(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(test_routes.WAITS, "/{code}/question", "seen")
    lecture = Lecture(SCENES, recorded, no_live)
    lecture.room = Room("CODE23")
    host = "192.0.2.2:8600"
    own = {"origin": f"http://{host}", "cookie": f"{COOKIE}=abcdefghijklmnopqrstuv"}
    client = Client(AnswerApp(lecture).app(), host, "POST" if "answers" in path else "GET")
    for place in places(path, ROOM[path]):
        for what, address in addresses(path, ROOM[path], place):
            with no_hang(f"{path} {place} {what}"):
                check(client.get(address, own), f"{path} {place} {what}")
