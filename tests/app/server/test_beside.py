"""A server beside a program ends when it was not needed for a while."""

from __future__ import annotations

import itertools

from strategy_app.server.beside import KEPT_S, wait_until_left


def test_it_ends_a_while_after_the_last_need() -> None:
    passed_s: list[float] = []
    needs = itertools.chain([True] * 5, [False] * 3, [True], itertools.repeat(False))
    wait_until_left(lambda: next(needs), passed_s.append)
    assert sum(passed_s) == 9 + KEPT_S
