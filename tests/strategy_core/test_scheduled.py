"""Which calls of a `ClusterCoordinator` end the steps that were given to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

pytestmark = pytest.mark.tf


def test_done_ends_the_scheduled_steps_once_it_is_true() -> None:
    """A program may ask again and again, instead of `join`."""
    from strategy_core.tracing.scheduled import _Hooks
    from strategy_core.tracing.session import Session

    ended: list[bool] = []
    session = SimpleNamespace(
        is_off=False,
        num_scheduled=2,
        end_scheduled=lambda *, has_failed: ended.append(has_failed),
    )
    answers = iter([False, True])
    done: Any = _Hooks(cast(Session, session)).done(None, lambda: next(answers))
    assert done() is False
    assert ended == []
    assert done() is True
    assert ended == [False]


def test_done_is_the_programs_own_method_while_no_step_is_scheduled() -> None:
    from strategy_core.tracing.scheduled import _Hooks
    from strategy_core.tracing.session import Session

    session = SimpleNamespace(is_off=False, num_scheduled=0)
    assert _Hooks(cast(Session, session)).done(None, all) is all
