"""The attacks on a lecture's room, tried on a lab of their own (tests/attacks)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from tests.attacks.attempts import PAGES, ROUTES, SOCKETS, answered, refuse
from tests.attacks.victim import Victim, victim


def code_of_a_lecture(lab: Victim) -> None:
    """A person in a lecture's room tries its code on the lab, and the lab on its port."""
    with open_room(lab) as (room, code):
        given = [
            {"Authorization": f"Bearer {code}"},
            {"Cookie": f"strategy-lab-{lab.port}={code}; strategy-lab-answers={'x' * 22}"},
        ]
        for target in (*PAGES, *ROUTES, "/api/lecture/picture"):
            joined = "&" if "?" in target else "?"
            refuse(lab.ask(f"{target}{joined}token={code}"), 401)
            for headers in given:
                refuse(lab.ask(target, headers), 401)
            refuse(room.ask(target, lab.cookie | {"Authorization": f"Bearer {lab.token}"}), 404)
        for command in ("forward", "back", "run", "open", "close"):
            for headers in given:
                refuse(lab.ask(f"/api/lecture/{command}", headers, method="POST"), 401)
        for path in (*SOCKETS, "/", f"/{code}", f"/{code}/question"):
            assert lab.listen(path, given[0]) in ("HTTP 403", "closed 4401"), path
            assert room.listen(path).startswith(("HTTP 4", "HTTP 200")), path


def answers_of_others(lab: Victim) -> None:
    """Someone without the code, or a page of another site, answers a lecture's question."""
    with open_room(lab) as (room, code):
        phone = {"Cookie": f"strategy-lab-answers={'x' * 22}"}
        own = phone | {"Origin": f"http://{room.host}"}
        target = f"/{code}/answers/0/0"
        for origin in ("https://evil.example", f"http://{lab.host}", "null", ""):
            refuse(room.ask(target, phone | {"Origin": origin}, method="POST"), 403)
        for wrong in ("XXXXXX", code[:-1], f"{code}X", "", "..", "%00", "%2e%2e%2fsecret"):
            assert room.ask(f"/{wrong}/answers/0/0", own, method="POST").status in (403, 404)
            refuse(room.ask(f"/{wrong}"), 404)
        assert room.ask(target, own, method="POST").status == 200
        assert answered(room, f"/{code}", {"X": "y" * 200_000}) in (None, 400), "large headers"
    assert answered(room, f"/{code}", {}) is None, "the room is over"


@contextmanager
def open_room(lab: Victim) -> Iterator[tuple[Victim, str]]:
    """A lecture's room: its own port, and its code."""
    owner = lab.cookie | {"Origin": f"http://{lab.host}"}
    opened = lab.ask("/api/lecture/open", owner, method="POST")
    assert opened.status == 200, opened
    link = urlsplit(json.loads(opened.body)["links"][0])
    assert link.port is not None
    try:
        yield replace(lab, port=link.port), link.path.strip("/")
    finally:
        assert lab.ask("/api/lecture/close", owner, method="POST").status == 200


LABS = {
    "A lecture's room": (victim, (code_of_a_lecture, answers_of_others)),
    "A lecture's room of a lab --host 0.0.0.0": (
        partial(victim, host="0.0.0.0"),
        (code_of_a_lecture, answers_of_others),
    ),
    "A lecture's room of a lab --host 0.0.0.0 --no-token": (
        lambda folder: victim(folder, "--no-token", host="0.0.0.0"),
        (answers_of_others,),
    ),
}
TESTS = ("tests/plugins/contexts/test_contexts_page.py",)
