"""Which job of `make test` runs a test, and which files a mark expression needs."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from tests.marks import may_select

MAKEFILE = (Path(__file__).parents[1] / "Makefile").read_text("utf-8")
JOBS = ("ALONE", "BROWSER", "WORKERS", "IN_PROCESS", "REST")
MARKS = ("tf", "run", "browser", "slow", "alone")


def expression_of(job: str) -> str:
    (expression,) = re.findall(rf"^{job} := (.*)$", MAKEFILE, re.MULTILINE)
    return re.sub(r"\$\((\w+)\)", lambda name: f"({expression_of(name[1])})", expression)


@pytest.mark.parametrize("is_set", [*product((False, True), repeat=len(MARKS))])
def test_exactly_one_job_runs_a_test_whatever_its_marks(is_set: tuple[bool, ...]) -> None:
    marks = dict(zip(MARKS, is_set, strict=True))
    chosen = [job for job in JOBS if eval(expression_of(job), {}, dict(marks))]
    assert len(chosen) == 1, chosen


def test_make_test_runs_every_job() -> None:
    (recipe,) = re.findall(r"^test: .*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    for target in re.findall(r"--output-sync=target (.*)", recipe)[0].split():
        recipe += re.findall(rf"^{target}: .*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[0]
    assert {job for job in JOBS if f'-m "$({job})"' in recipe} == set(JOBS)


OF_FILE = "pytestmark = [pytest.mark.tf, pytest.mark.run]\n"
OF_ONE = "@pytest.mark.slow\ndef test_a() -> None: ...\n"


@pytest.mark.parametrize(
    ("text", "expression", "is_needed"),
    [
        ("", "", True),
        ("", "tf", False),
        ("", "not (tf or run)", True),
        (OF_FILE, "tf", True),
        (OF_FILE, "tf and not (run or browser)", False),
        (OF_FILE, "not (tf or run) and not slow", False),
        (OF_FILE + OF_ONE, "run and slow", True),
        (OF_ONE, "slow", True),
        (OF_ONE, "not slow", True),  # another test of the file may lack the mark
        (OF_ONE, "tf or browser", False),
    ],
)
def test_a_file_is_needed_if_one_of_its_tests_may_be_selected(
    text: str, expression: str, is_needed: bool, tmp_path: Path
) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(text)
    assert may_select(expression, file) is is_needed
