"""Record a program in a separate process, so that a crash or timeout does not affect the caller.

recording = start(source, strategy="mirrored", devices="cpu:4")
while recording.is_running: ...
document = recording.result()
recording.close()
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import psutil

from strategy_contexts.guard import OUTPUT
from strategy_contexts.limits import Limits, of_this_machine
from strategy_contexts.stepper.recorded_contexts import read_recording
from strategy_core.planning import strategy_catalog
from strategy_core.processes import descendants, scratch
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.decoders import decoder_of
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.guards import open_file, read_file, remove_folder
from strategy_profiles.spec.run_spec import parse_spec

OUTPUT_SHOWN = 2000
MAX_SOURCE_CHARACTERS = 200_000
MAX_RECORDING_BYTES = 64_000_000
"""Largest recording as JSON. A browser cannot show more."""
_MOST_ENDING_BYTES = 1 << 16
_LOGGED = re.compile(r"[IW]\d{4} |WARNING: All log messages before absl")
"""How the lines begin that TensorFlow writes to the output of every program."""
_CLOSING_S = 15.0
_ADVICE = "Change the program, or shorten it"


class _Ending(msgspec.Struct, frozen=True):
    """How the program ended, as the guard writes it."""

    exit_code: int | None
    stopped: str | None


class _Refusal(msgspec.Struct, frozen=True):
    """What the program's process writes in place of a recording."""

    refused: str | None = None


_ENDING = decoder_of(_Ending)
_REFUSAL = decoder_of(_Refusal)


class ContextRecording:
    """A recording in progress. All of its files are in a folder that `close` removes.

    Any thread may call its methods, but only one at a time.
    """

    def __init__(self, request: dict[str, Any], limits: Limits) -> None:
        self._mark = descendants.new_mark()
        self._stopped: str | None = None
        self._ending: bytes | None = None
        """What the guard wrote when the program had ended; empty if the guard was killed."""
        self.num_bytes = 0
        """Length of the recording as JSON; set by `result`."""
        self._folder, self._lock, self._guard = _begin(self._mark)
        self._out = self._folder / "recording.json"
        document = request | {"out": str(self._out), "mark": self._mark, "limits": asdict(limits)}
        assert self._guard.stdin is not None
        with contextlib.suppress(OSError):  # the guard ended at once; `result` reports it
            self._guard.stdin.write(json.dumps(document).encode() + b"\n")
            self._guard.stdin.flush()

    @property
    def pid(self) -> int:
        """The guard process, which watches the program."""
        return self._guard.pid

    @property
    def is_running(self) -> bool:
        """Whether the program still runs. The guard ends a program that exceeds a limit."""
        assert self._guard.stdout is not None
        if self._stopped is None and self._ending is None:
            with contextlib.suppress(BlockingIOError):
                self._ending = os.read(self._guard.stdout.fileno(), _MOST_ENDING_BYTES)
        return self._stopped is None and self._ending is None and not self._is_guard_stopped()

    def stop(self, reason: str = "The recording was stopped") -> None:
        """End the program and all its child processes; `result` then raises `reason`."""
        if self._stopped is None:
            self._stopped = reason
            self._end()

    def result(self) -> dict[str, Any]:
        """The recording as JSON (see `demonstration.Recording`).

        Waits until the program has ended. Raises LabError if there is no recording.
        """
        while self.is_running:
            time.sleep(0.02)
        if self._stopped is not None:
            raise LabError(self._stopped)
        if self._is_guard_stopped():
            raise LabError(
                "The process that supervises the recording was stopped (SIGSTOP), so no limit held",
                advice="Record again",
            )
        try:
            ending = _ENDING.decode(self._ending or b"")
        except ValueError:
            raise LabError(
                "The process that supervises the recording was killed", advice="Record again"
            ) from None
        if ending.stopped:
            raise LabError(ending.stopped, advice=_ADVICE)
        return self._document(ending.exit_code)

    def close(self) -> None:
        """End the program, its processes and the guard, and remove the folder."""
        self.stop()

    def _document(self, exit_code: int | None) -> dict[str, Any]:
        try:
            self.num_bytes = self._out.stat().st_size
            if self.num_bytes > MAX_RECORDING_BYTES:
                raise LabError(
                    f"The recording has {self.num_bytes / 1e6:.0f} MB, more than the "
                    f"{MAX_RECORDING_BYTES / 1e6:.0f} MB that the page can show",
                    advice=_ADVICE,
                )
            refused = _REFUSAL.decode(read_file(self._out, MAX_RECORDING_BYTES)).refused
        except FileNotFoundError:
            raise LabError(
                f"The program ended with exit code {exit_code} and left no recording. The "
                f"last line of its output: {self._last_line() or 'none'}"
            ) from None
        except (OSError, ValueError) as error:
            raise LabError(f"The recording cannot be read: {error}", advice=_ADVICE) from None
        if refused is not None:
            raise LabError(refused)
        return read_recording(self._out)  # the program can have written it, too

    def _end(self) -> None:
        """Close the guard's stdin, on which it ends the program and removes the folder."""
        assert self._guard.stdin is not None
        with contextlib.suppress(OSError):
            self._guard.stdin.close()
        if self._is_guard_stopped():
            self._guard.kill()
        try:
            self._guard.wait(_CLOSING_S)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        if self._folder.exists():  # the guard was killed
            descendants.end_descendants(self._mark)
            with contextlib.suppress(OSError):
                remove_folder(self._folder)
        assert self._guard.stdout is not None
        self._guard.stdout.close()
        os.close(self._lock)

    def _is_guard_stopped(self) -> bool:
        """Whether the guard, which enforces the limits, was stopped: its program can do it."""
        try:
            return psutil.Process(self._guard.pid).status() == psutil.STATUS_STOPPED
        except psutil.Error:
            return False

    def _last_line(self) -> str:
        """What the program wrote last, without the lines of TensorFlow's log."""
        try:
            with open_file(self._folder / OUTPUT) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - OUTPUT_SHOWN))
                lines = file.read(OUTPUT_SHOWN).decode(errors="replace").splitlines()
        except OSError:
            return ""
        own = (line.strip() for line in reversed(lines) if not _LOGGED.match(line))
        return next(filter(None, own), "")


def _begin(mark: str) -> tuple[Path, int, subprocess.Popen[bytes]]:
    """Make a recording's folder, lock it, and start its guard; raises LabError if it cannot be."""
    with contextlib.ExitStack() as undo:
        try:
            folder, lock = scratch.make(mark)
            undo.callback(os.close, lock)
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            guard = subprocess.Popen(
                [*module_command("strategy_contexts.guard"), str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=with_own_code(descendants.without_mark(os.environ)),
                start_new_session=True,
            )
        except OSError as error:
            raise LabError(
                f"The program cannot be started: {error.strerror or error}",
                advice="End other programs, or free some space for temporary files",
            ) from None
        assert guard.stdout is not None
        os.set_blocking(guard.stdout.fileno(), False)
        undo.pop_all()
    return folder, lock, guard


def start(
    source: str,
    *,
    strategy: str,
    devices: str,
    limits: Limits | None = None,
    nice: int = 0,
    folder: Path | None = None,
) -> ContextRecording:
    """Start recording a program; raises SpecError for an unknown strategy or invalid devices.

    Args:
      nice: increment of the program's niceness; 0 keeps the caller's priority.
      folder: where the program's file is: it imports modules from there, as a script does.
    """
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise SpecError(
            f"The program has {len(source):,} characters, more than the "
            f"{MAX_SOURCE_CHARACTERS:,} that can be recorded"
        )
    spec = parse_spec({"strategy": strategy, "devices": devices, "global_batch_size": 64 * 63})
    strategy_catalog.row(spec.strategy)
    beside = str(folder.resolve()) if folder else None
    request = {"source": source, "spec": spec.to_json(), "nice": nice, "folder": beside}
    return ContextRecording(request, limits or of_this_machine())


def record(
    source: str,
    *,
    strategy: str,
    devices: str,
    limits: Limits | None = None,
    folder: Path | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Record a program until it ends and return the recording as JSON; raises LabError."""
    recording = start(source, strategy=strategy, devices=devices, limits=limits, folder=folder)
    try:
        while recording.is_running:
            wait(0.05)
        return recording.result()
    finally:
        recording.close()
