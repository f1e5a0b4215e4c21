"""GC pauses are re-entrant across threads: collection resumes after the last one ends."""

from __future__ import annotations

import gc
import os
import threading
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


def test_a_child_that_is_forked_during_a_pause_of_another_thread_collects() -> None:
    entered, leave = threading.Event(), threading.Event()

    def pause() -> None:
        with gc_control.postponed():
            entered.set()
            leave.wait()

    other = threading.Thread(target=pause)
    other.start()
    entered.wait()
    child = os.fork()
    if not child:
        is_on = gc.isenabled()
        with gc_control.postponed():
            is_off_in_a_pause = not gc.isenabled()
        os._exit(0 if is_on and is_off_in_a_pause and gc.isenabled() else 1)
    leave.set()
    other.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
