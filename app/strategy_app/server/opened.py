"""A run opened for looking at, and the answers it gave: each read or computed once per state.

A finished run never changes, so its answers hold for good; those of a live one hold until its
files grow.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from strategy_profiles.cache import KeptNewest, OnceEach
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.stamp import stamp_of
from strategy_profiles.run.status import Status, derive_status
from strategy_profiles.tables.store import Profile, load

Answer = TypeVar("Answer")
MAX_KEPT = 12
MAX_KEPT_BYTES = 250_000_000
"""Limit for the files of all open runs; in memory the runs take a multiple of it."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A profile and the state of its files (`stamp`) when it was read."""

    profile: Profile
    stamp: str
    num_bytes: int = 0
    """Size of the files that the profile was read from."""
    _answers: OnceEach[Any] = field(default_factory=OnceEach, repr=False, compare=False)
    _by_status: OnceEach[OpenRun] = field(default_factory=OnceEach, repr=False, compare=False)

    def ask(self, question: Callable[..., Answer], *args: Hashable) -> Answer:
        """`question(profile, *args)`, computed once per run state; raises what it raises."""
        name = f"{question.__module__}.{question.__qualname__}"
        key = (name, tuple(map(_hashable, args)))
        answer: Answer = self._answers.get(key, lambda: question(self.profile, *args))
        return answer

    def with_status(self, status: Status) -> OpenRun:
        """The same files under another status; answers are kept once per status."""
        changed = replace(self.profile, status=status)
        return self._by_status.get(status, lambda: OpenRun(changed, f"{self.stamp} {status.state}"))


def open_run(path: Path) -> OpenRun:
    """The run as its files are right now; raises RunFolderError if it cannot be read."""
    stamp = stamp_of(path)
    opened = _kept.get(str(path), stamp, lambda: _open(path, stamp))
    if opened.profile.status.is_over:
        return opened
    # Whether a process still lives is no part of the files.
    status = derive_status(opened.profile.sources)
    return opened if status == opened.profile.status else opened.with_status(status)


def _open(path: Path, stamp: str) -> OpenRun:
    profile = load(path)
    files = [f"{path}/{source.file}" for source in profile.sources]
    files += [file for own in profile.files.values() for file in own]
    return OpenRun(profile, stamp, sum(map(_num_bytes, files)))


def _hashable(arg: object) -> Hashable:
    """Encode a segment as JSON: it contains a dict, so it cannot be hashed itself."""
    return msgspec.json.encode(arg) if isinstance(arg, SegmentOpened) else arg


def _num_bytes(file: str) -> int:
    try:
        return os.stat(file).st_size  # noqa: PTH116, thousands of a long run
    except OSError:
        return 0


_kept: KeptNewest[OpenRun] = KeptNewest(operator.attrgetter("num_bytes"), MAX_KEPT, MAX_KEPT_BYTES)
