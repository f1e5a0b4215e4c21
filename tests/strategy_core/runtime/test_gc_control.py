"""GC pauses are re-entrant across threads: collection resumes after the last one ends."""

from __future__ import annotations

import gc
from contextlib import ExitStack

import pytest

from strategy_core.runtime import gc_control


@pytest.mark.parametrize("leaves_first", [0, 1])
def test_collection_resumes_when_the_last_pause_ends(leaves_first: int) -> None:
    stays = [ExitStack(), ExitStack()]
    for stay in stays:
        stay.enter_context(gc_control.postponed())
    stays[leaves_first].close()
    assert not gc.isenabled()
    stays[1 - leaves_first].close()
    assert gc.isenabled()


def test_collection_that_was_off_stays_off_after_a_pause() -> None:
    gc.disable()
    try:
        with gc_control.postponed():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_modules_are_imported_without_a_collection_and_left_alone_by_later_ones() -> None:
    with gc_control.importing():
        assert not gc.isenabled()
        made: list[object] = []
    assert gc.isenabled()
    assert not any(each is made for each in gc.get_objects())


def test_an_import_that_fails_leaves_collection_on() -> None:
    with pytest.raises(ImportError), gc_control.importing():
        raise ImportError
    assert gc.isenabled()
