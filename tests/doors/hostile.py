"""What a stranger may put behind a path or into a text, and what every answer to it has to be."""

from __future__ import annotations

import gzip
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

LONGEST_S = 20.0
NO_HANG = "it did not answer in time"
LARGE_BYTES = 400 << 20
"""More than any small file may have; sparse, so it takes no disk."""
BOMB_BYTES = 300 << 20
DIGITS = "9" * 1_000_000
DEEP = "[" * 100_000
TEXTS = {
    "digits": DIGITS,
    "deep": DEEP,
    "deep object": '{"a":' * 50_000,
    "long": "a" * 1_000_000,
    "no number": "nan",
    "infinite": "-1e999",
    "other digits": "²",
    "terminal": "\x1b]0;x\x07::error::x\n::error::y",
    "traversal": "../../../etc/passwd",
    "aliases": "&a [*a]",
    "half a character": "\udc80",
    "empty": "",
    "equals": "=" * 1000,
}


def make_files(folder: Path, suffix: str = "") -> dict[str, Path]:
    """Write what a path may lead to; the names end in `suffix`."""
    folder.mkdir(parents=True)
    kinds = ("pipe", "link to a pipe", "device", "socket", "loop", "folder")
    contents = ("deep file", "file of digits", "binary file", "large", "packed bomb")
    made = {name: folder / f"{name.replace(' ', '-')}{suffix}" for name in (*kinds, *contents)}
    os.mkfifo(made["pipe"])
    made["link to a pipe"].symlink_to(made["pipe"])
    made["device"].symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        here = Path.cwd()
        os.chdir(folder)  # an address of a socket has at most 107 bytes
        bound.bind(made["socket"].name)
        os.chdir(here)
    made["loop"].symlink_to(made["loop"])
    made["folder"].mkdir()
    made["deep file"].write_text(DEEP)
    made["file of digits"].write_text('{"workers": ' + DIGITS + "}")
    made["binary file"].write_bytes(bytes(range(256)) * 100)
    made["large"].touch()
    os.truncate(made["large"], LARGE_BYTES)
    with gzip.open(made["packed bomb"], "wb", compresslevel=1) as packed:
        for _ in range(BOMB_BYTES >> 20):
            packed.write(bytes(1 << 20))
    made["missing"] = folder / f"missing{suffix}"
    made["long name"] = folder / ("x" * 300 + suffix)
    made["long path"] = folder / ("x/" * 50_000 + suffix)
    return made


@contextmanager
def no_hang(what: str) -> Iterator[None]:
    """Raise AssertionError in the main thread if the block takes too long, as an open pipe does."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"{what}: {NO_HANG}")

    before = signal.signal(signal.SIGALRM, late)
    left = signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *left)
        signal.signal(signal.SIGALRM, before)


def check_sentence(text: str, what: str) -> None:
    """A refusal is one line of a length that can be read, and no traceback."""
    assert "Traceback" not in text, (what, text[-2000:])
    lines = text.splitlines()
    assert len(lines) == 1, (what, text[:2000])
    assert len(lines[0]) < 1500, (what, len(lines[0]))
