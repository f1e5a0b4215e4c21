"""What is known of errors is what TensorFlow really says: programs fail by each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from strategy_core.recorder.failure import failed_by
from strategy_failures.known import KNOWN
from strategy_profiles.analysis.failures import explain, matching
from strategy_profiles.run.events import Failed
from tests.plugins.failures.programs import PROGRAMS, Program

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]
OF_PROCESSES = {"lost-worker", "fit-on-workers"}
"""Known errors that need several processes: `test_own_processes.py` has their programs."""


@cache
def error_of(program: Program) -> Failed:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - what is raised is the test
        program.call()
    return failed_by(raised.value)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_error_has_the_cause_that_it_really_has_and_no_other(program: Program) -> None:
    failed = error_of(program)
    keys = [entry.key for entry in matching(failed)]
    assert keys == ([program.key] if program.key else []), failed.message
    explained = explain(failed, 3, 2)
    assert explained.replica == program.replica
    assert (explained.layer or "").startswith(program.layer)
    assert bool(explained.layer) == bool(program.layer)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_error_has_its_line_of_the_program_and_a_message(program: Program) -> None:
    failed = error_of(program)
    assert failed.place.startswith("programs.py:")
    assert "in user code:" not in failed.message
    assert "{{" not in failed.message.partition(" ")[2][:2]


def test_at_least_thirty_errors_are_known_each_by_one_key() -> None:
    keys = [entry.key for entry in KNOWN]
    assert len(set(keys)) == len(keys) >= 30
    assert {program.key for program in PROGRAMS} | OF_PROCESSES == {None, *keys}


INNER = re.compile(r"\(\?:([^()]*\|[^()]*)\)(?![?*])")


def alternatives(pattern: str) -> Iterator[str]:
    """Patterns without bars that together match the same."""
    if inner := INNER.search(pattern):
        for part in inner[1].split("|"):
            yield from alternatives(f"{pattern[: inner.start()]}{part}{pattern[inner.end() :]}")
        return
    depth, part = 0, ""
    for char in pattern:
        depth += (char in "([") - (char in ")]") if not part.endswith("\\") else 0
        if char == "|" and not depth:
            yield part
            part = ""
        else:
            part += char
    yield part


def test_every_text_that_is_looked_for_is_one_that_tensorflow_says() -> None:
    texts: dict[str | None, list[str]] = {}
    for program in PROGRAMS:
        failed = error_of(program)
        texts.setdefault(program.key, []).append(f"{failed.message}\n{failed.detail}")
    unsaid = [
        (entry.key, part)
        for entry in KNOWN
        if entry.key not in OF_PROCESSES
        for part in alternatives(entry.pattern)
        if not any(re.search(part, text, re.DOTALL) for text in texts[entry.key])
    ]
    assert not unsaid, "\n".join(map(str, unsaid))
