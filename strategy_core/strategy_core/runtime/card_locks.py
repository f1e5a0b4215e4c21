"""One run at a time on a GPU, whichever launchers start them and in whatever folders.

A worker holds a lock on a file for each card of its plan; the kernel releases it when the worker
ends, however it ends. Workers of one run share cards: a fresh one opens beside the one that it
replaces. Not run on a GPU.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from strategy_core.processes.running_labs import runtime_folder
from strategy_profiles.decoders import decoder_of
from strategy_profiles.errors import LabError
from strategy_profiles.spec.field_types import Pid, Text
from strategy_profiles.user_input.text import quoted

_MOST_BYTES = 1 << 16
_TRIES, _TRY_EVERY_S = 20, 0.05
"""For the moments in which another worker writes into the file, or looks at it."""


class Holder(msgspec.Struct, frozen=True):
    """Who has a card."""

    pid: Pid
    run: Text
    """The run's folder."""


_HOLDER = decoder_of(Holder)


def take(cards: Iterable[int], run: Path) -> None:
    """Take cards, by their numbers in CUDA, for a run until this process ends.

    Raises LabError, with who has it, if another run of this user has a card. A card without a UUID,
    as without CUDA, or a folder that cannot be written to keeps no run out.
    """
    for card in cards:
        if (own := uuid_of(card)) is None:
            continue
        try:
            folder = runtime_folder(os.environ)
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            file = os.open(folder / f"card-{own}", flags, 0o600)  # open until the process ends
            is_held, holder = _hold(file, Holder(os.getpid(), str(run)))
        except (OSError, ValueError):
            continue
        if not is_held:
            who = "Another process"
            if holder is not None:
                who = f"Run {quoted(holder.run)} (process {holder.pid})"
            raise LabError(
                f"{who} trains on GPU:{card} ({own}) now, and two runs at a time would change each "
                "other's times",
                advice="Stop that run, wait for its end, or choose another card",
            )


def uuid_of(card: int) -> str | None:
    """Return the UUID of a card or of its part (MIG), by its number in CUDA; None if unknown.

    Creates no context on the card. TensorFlow tells no UUID, and NVML numbers cards differently.
    """
    device, octets = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), card):
            return None
        return (
            None if cuda.cuDeviceGetUuid_v2(octets, device) else str(uuid.UUID(bytes=bytes(octets)))
        )
    except (OSError, AttributeError):
        return None


def _hold(file: int, own: Holder) -> tuple[bool, Holder | None]:
    """Return whether the file is locked for `own.run` now, and who has it if it is not."""
    holder = None
    for _ in range(_TRIES):
        if _is_locked(file, fcntl.LOCK_EX):
            _write(file, own)
            if _is_locked(file, fcntl.LOCK_SH):
                return True, own
        elif _is_locked(file, fcntl.LOCK_SH):
            if (holder := _read(file)) and holder.run == own.run:
                _write(file, own)
                return True, own
            fcntl.flock(file, fcntl.LOCK_UN)
        time.sleep(_TRY_EVERY_S)
    os.close(file)
    return False, holder


def _is_locked(file: int, kind: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, kind | fcntl.LOCK_NB)
        return True
    return False


def _write(file: int, own: Holder) -> None:
    os.ftruncate(file, 0)
    os.pwrite(file, msgspec.json.encode(own), 0)


def _read(file: int) -> Holder | None:
    with suppress(ValueError):
        return _HOLDER.decode(os.pread(file, _MOST_BYTES, 0))
    return None
