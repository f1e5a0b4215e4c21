from __future__ import annotations

import gc
from typing import Any

import pytest

from strategy_core.runtime.live_objects import instances


class Base:
    pass


class Derived(Base):
    pass


class Slotted(Base):
    __slots__ = ("part",)


def test_the_objects_of_a_class_and_of_those_that_inherit_are_found() -> None:
    held = [Base(), Derived(), Slotted()]
    objects = instances(Base)
    assert sorted(map(id, objects)) == sorted(map(id, held))
    del objects, held
    assert instances(Base) == []


def test_no_object_of_another_thread_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_objects(*_: Any) -> Any:
        raise AssertionError("holds tuples that C code is filling")

    monkeypatch.setattr(gc, "get_objects", get_objects)
    held = Base()
    assert instances(Base) == [held]
