"""A room: one answer a device, a limit of devices, and what wrong codes lead to."""

from __future__ import annotations

import pytest

from strategy_contexts.lecture.answer_app import MAX_CLIENTS, RateLimit
from strategy_contexts.lecture.room import (
    CODE_ALPHABET,
    CODE_LENGTH,
    MANY_WRONG_CODES,
    MAX_ADDRESSES,
    Room,
    RoomError,
    new_code,
)


def test_a_device_has_one_answer_which_it_can_change() -> None:
    room = Room("CODE")
    room.answer("a", 0, 1)
    room.answer("b", 0, 1)
    room.answer("a", 0, 2)
    assert room.counts(0, 4) == [0, 1, 1, 0]
    assert (room.choice_of("a", 0), room.choice_of("a", 1), room.choice_of(None, 0)) == (
        2,
        None,
        None,
    )
    assert room.num_devices == 2


def test_a_full_room_takes_answers_of_its_devices_alone() -> None:
    room = Room("CODE", max_devices=2)
    room.answer("a", 0, 0)
    room.answer("b", 0, 0)
    with pytest.raises(RoomError, match="takes 2 devices"):
        room.answer("c", 0, 0)
    room.answer("a", 1, 3)
    assert room.counts(0, 2) == [2, 0]


def test_a_room_admits_its_code_alone() -> None:
    room = Room("CODE23")
    assert room.admits("CODE23", "a")
    wrong_codes = ("", "CODE2", "CODE234", "code23", "ÄÖ")
    assert not any(room.admits(wrong, "a") for wrong in wrong_codes)


def test_a_room_whose_code_is_guessed_tells_the_lecturer_and_stays_open() -> None:
    room = Room("CODE23")
    for _ in range(MANY_WRONG_CODES):
        room.admits("XXXXXX", "guesser")
    room.admits("XXXXXX", "a phone")
    assert not room.slows("guesser")
    assert not room.num_guesses, "people type wrong codes, too"
    room.admits("XXXXXX", "guesser")
    assert room.slows("guesser")
    assert not room.slows("a phone")
    assert room.num_guesses == MANY_WRONG_CODES + 1
    assert room.admits("CODE23", "guesser"), "a whole room may have this address"


def test_the_wrong_codes_of_a_bounded_number_of_addresses_are_counted() -> None:
    room = Room("CODE23")
    for number in range(MAX_ADDRESSES + 1):
        for _ in range(MANY_WRONG_CODES + 1):
            room.admits("XXXXXX", f"address {number}")
    assert not room.slows("address 0")
    assert room.slows(f"address {MAX_ADDRESSES}")


def test_codes_differ_and_have_no_letters_that_look_alike() -> None:
    codes = {new_code() for _ in range(200)}
    assert len(codes) == 200
    assert all(len(code) == CODE_LENGTH and set(code) <= set(CODE_ALPHABET) for code in codes)
    assert not set("01OIL") & set(CODE_ALPHABET)


def test_a_client_may_ask_at_its_rate() -> None:
    now = [0.0]
    limit = RateLimit(burst=3, per_second=2, clock=lambda: now[0])
    assert [limit.allows("a") for _ in range(4)] == [True, True, True, False]
    assert limit.allows("b")
    now[0] = 0.5
    assert [limit.allows("a") for _ in range(2)] == [True, False]


def test_a_limit_keeps_no_more_than_the_newest_clients() -> None:
    limit = RateLimit(burst=1, per_second=0, clock=lambda: 0.0)
    assert limit.allows("first")
    for number in range(MAX_CLIENTS):
        limit.allows(str(number))
    assert limit.allows("first")
    assert not limit.allows(str(MAX_CLIENTS - 1))
