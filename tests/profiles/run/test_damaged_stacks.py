"""Samples of stacks that are lost have a note, as every other line of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.run.event_parts import StackPlace
from strategy_profiles.run.layout import WORKER_STACKS
from tests.event_records import read_records, write_records
from tests.synthetic import write_run

GAPS = [(5, 400.0, StackPlace("python")), (30, 600.0, StackPlace("checkpoint"))]


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def lose_the_first_line(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[1:]))


def make_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def empty(file: Path) -> None:
    file.write_bytes(b"\n")


def put_another_in_its_place(file: Path) -> None:
    file.write_bytes((file.parent.parent / "launcher.jsonl").read_bytes())


DAMAGE = {
    empty: "holds no samples",
    put_another_in_its_place: "holds no samples",
    flip: "1 line is left out",
    lose_the_first_line: "1 line is missing",
    make_a_pipe: "is not a file",
}


@pytest.mark.parametrize(("damage", "note"), DAMAGE.items())
def test_a_damaged_file_has_a_note(
    damage: Callable[[Path], None], note: str, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", steps=40, gaps=GAPS)
    file = run / "worker-0-0" / WORKER_STACKS
    (sampled,) = read_records(file)
    write_records(file, [sampled, sampled | {"line": 2}])
    assert not strategy_profiles.load(run).summary()["notes"]
    damage(file)
    assert note in str(strategy_profiles.load(run).summary()["notes"])
