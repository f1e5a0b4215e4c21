"""The answer page's routes: the code, the cookie, other pages, limits, and nothing else."""

from __future__ import annotations

import pytest

from strategy_contexts.lecture import answer_app
from strategy_contexts.lecture.answer_app import COOKIE, AnswerApp
from strategy_contexts.lecture.lecture import Lecture
from strategy_contexts.lecture.room import MANY_WRONG_CODES, Room
from tests.app.asgi import Answer, Client

HOST = "192.0.2.2:8600"
DEVICE = "abcdefghijklmnopqrstuv"
OWN = {"origin": f"http://{HOST}", "cookie": f"{COOKIE}={DEVICE}"}


class Phone:
    """Requests of one room's app."""

    def __init__(self, lecture: Lecture) -> None:
        lecture.room = Room("CODE23")
        self.lecture, self.room = lecture, lecture.room
        self._app = AnswerApp(lecture).app()

    def get(self, path: str, **headers: str) -> Answer:
        return Client(self._app, HOST).get(path, headers)

    def post(self, path: str, headers: dict[str, str] = OWN) -> Answer:
        return Client(self._app, HOST, "POST").get(path, headers)


@pytest.fixture
def phone(lecture: Lecture) -> Phone:
    return Phone(lecture)


def test_the_page_gives_each_browser_a_number(phone: Phone) -> None:
    answer = phone.get("/CODE23")
    assert answer.status == 200
    headers = answer.headers or {}
    assert {"HttpOnly", "SameSite=strict"} <= set(headers["set-cookie"].split("; "))
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "set-cookie" not in (phone.get("/CODE23", cookie=OWN["cookie"]).headers or {})


def test_an_answer_counts_once_for_a_device(phone: Phone) -> None:
    assert phone.post("/CODE23/answers/0/1").json()["yours"] == 1
    assert phone.post("/code23/answers/0/2").json()["yours"] == 2
    assert phone.room.counts(0, 3) == [0, 0, 1]


@pytest.mark.parametrize("path", ["", "/question", "/question?seen=0"])
def test_a_wrong_code_opens_nothing(phone: Phone, path: str) -> None:
    assert phone.get(f"/XXXXXX{path}").status == 404


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "x"])
def test_an_answer_that_is_no_bounded_number_is_refused(phone: Phone, number: str) -> None:
    for path in (f"/CODE23/answers/{number}/1", f"/CODE23/answers/0/{number}"):
        assert phone.post(path).status == 404


def test_the_right_code_opens_the_room_after_many_wrong_ones(
    phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_app, "LATE_S", 0.0)
    for _ in range(MANY_WRONG_CODES + 1):
        assert phone.get("/XXXXXX").status == 404
    assert phone.get("/CODE23").status == 200


def test_a_wrong_code_cannot_answer(phone: Phone) -> None:
    assert phone.post("/XXXXXX/answers/0/1").status == 404
    assert phone.room.num_devices == 0


@pytest.mark.parametrize("headers", [{}, {"origin": "https://evil.example"}, {"origin": "null"}])
def test_another_page_cannot_answer(phone: Phone, headers: dict[str, str]) -> None:
    assert phone.post("/CODE23/answers/0/1", {"cookie": OWN["cookie"]} | headers).status == 403
    assert phone.room.num_devices == 0


@pytest.mark.parametrize("cookie", ["", "x", DEVICE + "x", "a b" * 7, "é" * 22])
def test_a_device_without_its_cookie_opens_the_page_first(phone: Phone, cookie: str) -> None:
    answer = phone.post("/CODE23/answers/0/1", OWN | {"cookie": f"{COOKIE}={cookie}"})
    assert answer.status == 409
    assert phone.room.num_devices == 0


@pytest.mark.parametrize(
    "path", ["/CODE23/answers/1/0", "/CODE23/answers/0/9", f"/CODE23/answers/0/{'9' * 400}"]
)
def test_an_answer_that_does_not_count_says_why(phone: Phone, path: str) -> None:
    answer = phone.post(path)
    assert answer.status == 409
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    ["/", "/lecture", "/api/lecture", "/CODE23/x", "/CODE23/answers/0/x", "/CODE23/answers/0/-1"],
)
def test_there_is_nothing_else(phone: Phone, path: str) -> None:
    assert phone.get(path).status == 404


def test_a_closed_room_is_not_found(phone: Phone) -> None:
    phone.lecture.room = None
    assert phone.get("/CODE23").status == 404
    assert phone.post("/CODE23/answers/0/1").status == 404


def test_a_device_that_asks_too_often_is_refused(phone: Phone) -> None:
    statuses = [phone.post("/CODE23/answers/0/1").status for _ in range(40)]
    assert statuses[:20] == [200] * 20
    assert 429 in statuses
    other = OWN | {"cookie": f"{COOKIE}=ABCDEFGHIJKLMNOPQRSTUV"}
    assert phone.post("/CODE23/answers/0/1", other).status == 200
