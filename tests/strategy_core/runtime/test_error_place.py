"""Of an error, the line of the program that it came from."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from strategy_core.runtime.error_place import place_of_error

IN_A_GRAPH = """Graph execution error:

Detected at node 'CollectiveReduceV2' defined at (most recent call last):
  File "/x/training.py", line 30, in <module>

  File "/x/model.py", line 7, in step

  File "/venv/lib/python3.11/site-packages/keras/src/losses.py", line 3, in call

Shape mismatch
"""


def error_of(call: Callable[[], None]) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - its place is what is looked at
        call()
    return raised.value


def test_the_programs_line_that_made_the_op_is_named_before_the_call_of_the_graph() -> None:
    def step() -> None:
        raise ValueError(IN_A_GRAPH)

    assert place_of_error(error_of(step)) == "model.py:7"


def test_the_line_that_called_a_library_is_named_and_not_the_librarys() -> None:
    def reads() -> None:
        json.loads("{")

    first = reads.__code__.co_firstlineno
    assert place_of_error(error_of(reads)) == f"test_error_place.py:{first + 1}"


def test_a_file_that_autograph_made_is_no_file_of_the_program() -> None:
    made: dict[str, Callable[[], None]] = {}
    text = "def converted():\n    raise ValueError('no')\n"
    exec(compile(text, "/tmp/__autograph_generated_file3k.py", "exec"), made)

    def calls() -> None:
        made["converted"]()

    first = calls.__code__.co_firstlineno
    assert place_of_error(error_of(calls)) == f"test_error_place.py:{first + 1}"


def test_an_error_that_was_never_raised_has_no_line() -> None:
    assert not place_of_error(ValueError("not raised"))
