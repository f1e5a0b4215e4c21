"""Converts the captures that lost workers have left unconverted.

A converter process ends with its worker, and a capture's conversion takes seconds on a busy
machine. So of a run that failed soon after its first capture, the raw file was all that was left.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.processes.timeouts import CLOSING_S
from strategy_lab.profiles.capture.pending import Pending, read_pending
from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.run.event_log import EventLog
from strategy_lab.profiles.run.events import Note
from strategy_lab.profiles.run.layout import WorkerFolder

_COMMAND = module_command("strategy_lab.profiles.capture.helper")


def convert_last_captures(folders: Iterable[WorkerFolder], timeout_s: float = CLOSING_S) -> None:
    """Convert what is left in the folders of workers that have ended, and record it there."""
    for folder in folders:
        if left := read_pending(folder):
            answers = _convert(left, timeout_s)
            _record(folder, left, answers)


def _convert(left: list[Pending], timeout_s: float) -> dict[int, dict[str, Any]]:
    """The converter's answers, by the window's number."""
    jobs = "".join(json.dumps(asdict(one.job)) + "\n" for one in left)
    with subprocess.Popen(
        [*_COMMAND, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=with_own_code(os.environ),
        text=True,
    ) as converter:
        try:
            said, _ = converter.communicate(jobs, timeout_s)
        except subprocess.TimeoutExpired:
            converter.kill()
            said, _ = converter.communicate()
    # The last line is cut if the process was killed.
    answers = [json.loads(line) for line in said.splitlines(keepends=True) if line.endswith("\n")]
    return {answer["number"]: answer for answer in answers}


def _record(folder: WorkerFolder, left: list[Pending], answers: dict[int, dict[str, Any]]) -> None:
    error = "Its worker ended before it was converted, and so did the process that tried it then"
    log = EventLog(folder.events)
    try:
        for one in left:
            number = one.job.number
            answer = answers.get(number, {"error": f"{error}; the raw capture is kept"})
            event = one.event_of(answer)
            log.write(event)
            if event.error is None:
                told = f"Capture window {number} was converted after its worker had ended."
                log.write(Note("info", told))
                shutil.rmtree(folder.unconverted(number), ignore_errors=True)
            one.remove(folder)
    except RunFolderError:
        pass  # a full disk: the files stay
    finally:
        log.close()
