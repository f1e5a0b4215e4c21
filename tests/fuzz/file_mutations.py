"""Changes to a run's files as bytes and as files: flipped, cut, deleted, exchanged, replaced."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.json_mutations import has_checksum
from tests.fuzz.mutation import Mutation
from tests.fuzz.values import is_other_type

_HUGE_BYTES = 20 << 30
_CHECKSUM = re.compile(r'"crc32": ?\d')


def mutate_bytes(file: Path, rng: random.Random) -> Mutation:
    """Change some bytes of a file."""
    data = bytearray(file.read_bytes())
    how = rng.choice(("flip", "flip", "flip", "cut", "insert", "repeat", "zero", "remove"))
    at = rng.randrange(len(data)) if data else 0
    to = min(len(data), at + rng.choice((1, 2, 8, 64, 4096)))
    if how == "flip":
        for _ in range(rng.randint(1, 4)):
            if data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del data[at:]
    elif how == "insert":
        data[at:at] = rng.randbytes(rng.choice((1, 16, 300)))
    elif how == "repeat":
        data[at:at] = data[at:to]
    elif how == "zero":
        data[at:to] = bytes(to - at)
    else:
        del data[at:to]
    before = file.read_bytes()
    file.unlink()
    file.write_bytes(data)
    is_checked = file.suffix == ".parquet" or has_checksum(before.decode(errors="replace"))
    is_detectable = is_checked or not _may_be_measured(before, bytes(data))
    return Mutation(f"{file.parent.name}/{file.name}: {how} at {at} to {to}", is_detectable)


def _may_be_measured(before: bytes, after: bytes) -> bool:
    """Whether what changed is still JSON of the same form: other digits of the same number."""
    try:
        lines = [
            [json.loads(line) for line in data.decode().splitlines()] for data in (before, after)
        ]
    except (ValueError, RecursionError):
        # The reader reports a line that is not JSON, so the change is detectable.
        return False
    return len(lines[0]) == len(lines[1]) and all(map(_is_alike, *lines))


def _is_alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_alike, one, other))
    return not is_other_type(one, other)


def mutate_files(run: Path, others: Path, rng: random.Random) -> Mutation:
    """Change which files a run has; `others` is another sound run."""
    how: Callable[[Path, Path, random.Random], Mutation] = rng.choice(_HOWS)
    return how(run, others, rng)


def _file(run: Path, rng: random.Random) -> Path:
    files = sorted(path for path in run.rglob("*") if path.is_file())
    return rng.choice(files)


def _said(path: Path, run: Path, what: str, is_detectable: bool = True) -> Mutation:
    return Mutation(f"{path.relative_to(run)} {what}", is_detectable)


def _deleted(run: Path, _others: Path, rng: random.Random) -> Mutation:
    path = _file(run, rng)
    path.unlink()
    # What a run need not have: contexts that were asked for show on their page alone.
    return _said(path, run, "deleted")


def _folder_deleted(run: Path, _others: Path, rng: random.Random) -> Mutation:
    path = rng.choice(sorted(path for path in run.rglob("*") if path.is_dir()))
    shutil.rmtree(path)
    return _said(path, run, "and what is in it deleted")


def _emptied(run: Path, _others: Path, rng: random.Random) -> Mutation:
    path = _file(run, rng)
    path.unlink()
    path.touch()
    return _said(path, run, "emptied")


def _replaced(run: Path, _others: Path, rng: random.Random) -> Mutation:
    path = _file(run, rng)
    path.unlink()
    what = rng.choice(("pipe", "folder", "dangling link", "loop", "/dev/zero", "huge", "elsewhere"))
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "dangling link":
        path.symlink_to("nowhere")
    elif what == "loop":
        path.symlink_to(path.name)
    elif what == "/dev/zero":
        path.symlink_to("/dev/zero")
    elif what == "elsewhere":
        path.symlink_to("/etc/passwd")
    else:
        with path.open("wb") as file:
            file.truncate(_HUGE_BYTES)
    return _said(path, run, f"replaced by: {what}")


def _unreadable(run: Path, _others: Path, rng: random.Random) -> Mutation:
    path = rng.choice(sorted(run.rglob("*")))
    path.chmod(0)  # root reads it all the same
    return _said(path, run, "made unreadable")


def _exchanged(run: Path, _others: Path, rng: random.Random) -> Mutation:
    one, other = _file(run, rng), _file(run, rng)
    is_detectable = {one.suffix, other.suffix} != {".parquet"} or has_checksums(run)
    first, second = one.read_bytes(), other.read_bytes()
    one.unlink()
    one.write_bytes(second)
    if other != one:
        other.unlink()
        other.write_bytes(first)
    return _said(one, run, f"exchanged with {other.relative_to(run)}", is_detectable)


def _of_another_run(run: Path, others: Path, rng: random.Random) -> Mutation:
    source = _file(others, rng)
    target = rng.choice((run / source.relative_to(others), _file(run, rng)))
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.unlink()
    is_detectable = target.suffix != ".parquet" or has_checksums(run)
    shutil.copyfile(source, target)
    said = f"is {source.relative_to(others)} of another run"
    return _said(target, run, said, is_detectable)


def has_checksums(run: Path) -> bool:
    """Whether its tables are known from others of the same form: not in earlier versions."""
    files = [path for path in run.rglob("events.jsonl") if path.is_file()]
    small = [path for path in files if path.stat().st_size < 1 << 20]
    return any(_CHECKSUM.search(path.read_text(errors="replace")) for path in small)


def _renamed(run: Path, _others: Path, rng: random.Random) -> Mutation:
    path = rng.choice(sorted(run.rglob("*")))
    names = ("worker-7-0", "worker-0-9", "worker-99999999999999999999-0", "window-000009")
    names += ("window-²", "worker-٣-0", "launcher-5.jsonl", "graph-000.parquet", "x", ".x")
    target = path.with_name(rng.choice(names))
    if target.exists():
        return _said(path, run, "left alone", False)
    path.rename(target)
    return _said(path, run, f"renamed {target.name}")


def _added(run: Path, _others: Path, rng: random.Random) -> Mutation:
    folder = rng.choice([run, *sorted(path for path in run.rglob("*") if path.is_dir())])
    names = ("worker-3-0", "window-000077", "launcher-2.jsonl", "contexts-009.json", "notes.txt")
    path = folder / rng.choice(names)
    if path.exists():
        return _said(path, run, "left alone", False)
    if path.suffix:
        path.write_bytes(rng.choice((b"", b"{}", b"\xff" * 100, b'{"kind": "step"}\n')))
    else:
        path.mkdir()
    return _said(path, run, "added")


_HOWS = (
    *([_deleted, _replaced] * 3),
    *([_folder_deleted, _emptied, _exchanged, _of_another_run, _renamed, _added] * 2),
    _unreadable,
)
