"""Runs the traced program as a child, and records how it ended if it could not do so itself.

A process cannot record that a signal ended it, and Python does not tell exit handlers the exit
code: `sys.exit(3)` and the end of the program look the same to them. Things that don't work: a
replaced `sys.exit` (misses `raise SystemExit(3)`, and counts one that the program catches), and
glibc's `on_exit` (runs when Python is gone). Solution: the command waits for the program.

Signals that are sent to the command are passed on. Those that a terminal sends reach the program
anyway, which is in the same process group.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from strategy_core.processes.parent_death import tie_to
from strategy_core.tracing.own_lines import say
from strategy_profiles.errors import LabError
from strategy_profiles.run.events import ENDED_BY, EXIT_CODE, Event, Failed, Finished
from strategy_profiles.run.layout import worker_folder, worker_folders

_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, *_FROM_TERMINAL)


def run_watched(
    run: Path, worker: int | None, become_program: Callable[[], NoReturn], afterwards: str
) -> NoReturn:
    """Run the program in a child process, record its end, and end as it did.

    `worker` is its number in its cluster, if it has one. `become_program` is called in the child,
    and calls `exec`. `afterwards` is printed on the
    standard error once the program has ended.
    """
    parent = os.getpid()
    watched = {signal.SIGCHLD, *_PASSED_ON}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        child = os.fork()
    except BaseException:  # `main` goes on, for instance where the limit on processes is reached
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    if not child:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        tie_to(parent)
        become_program()
    code = _wait_for(child, watched)
    try:
        record_end(run, child, code, worker)
    except (OSError, LabError) as error:
        afterwards = f"The end could not be recorded. {error}"
    _convert_left(run, worker)
    say(afterwards)
    _end_alike(code)


def record_end(run: Path, pid: int, code: int, worker: int | None = None) -> None:
    """Record an end that the program has not recorded, or not as what it was.

    A program without a number in a cluster may have started the workers: one of them that failed
    has recorded why. `code` is the exit code, or the negative number of the signal. Raises OSError
    or RunFolderError if it cannot be written.
    """
    if not code:
        return
    # Here and below, not before the program begins: these read and convert captures.
    from strategy_core.tracing.late_ending import append_ending
    from strategy_profiles.run.event_log import read_events

    record = worker_folder(run, worker or 0)
    records = list(worker_folders(run)) if worker is None else [record]
    events = [event for each in records for event in read_events(each.events)[0]]
    if not any(_tells_why(event) for event in events):
        append_ending(record, pid, lambda num_steps: _ending(code, num_steps))


def _convert_left(run: Path, worker: int | None) -> None:
    """Convert the captures of a program that was killed; Ctrl-C leaves them to `recover`."""
    from strategy_core.launcher.last_captures import convert_last_captures, recover_captures

    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    with contextlib.suppress(KeyboardInterrupt, OSError, LabError):
        if worker is None:
            recover_captures(run)
        else:  # the run's folder may have the workers of other hosts
            convert_last_captures([worker_folder(run, worker)])


def _tells_why(event: Event) -> bool:
    """Whether an event says that, and why, the program did not end as it should."""
    return isinstance(event, Failed) or (isinstance(event, Finished) and event.status == "stopped")


def _ending(code: int, num_steps: int) -> Event:
    if code > 0:
        return Failed(f"{EXIT_CODE}{code}.")
    if code == -signal.SIGINT:
        return Finished("stopped", num_steps)
    known = {each.value: each.name for each in signal.Signals}
    return Failed(f"{ENDED_BY}{known.get(-code, f'signal {-code}')}.")


def _wait_for(child: int, watched: set[signal.Signals]) -> int:
    """Wait for the program, and pass signals on to it. Returns its exit code."""
    while True:
        number, is_from_terminal = _next_signal(watched)
        if number != signal.SIGCHLD:
            if not is_from_terminal:
                os.kill(child, number)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)


def _next_signal(watched: set[signal.Signals]) -> tuple[int, bool]:
    """Wait for a signal. Returns its number, and whether the program has received it as well."""
    if sys.platform == "linux":
        got = signal.sigwaitinfo(watched)
        return got.si_signo, got.si_code > 0  # above 0: sent by the kernel, not by a process
    number = signal.sigwait(watched)  # nothing tells who has sent it
    return number, number in _FROM_TERMINAL


def _end_alike(code: int) -> NoReturn:
    """End with the program's exit code, or by the signal that ended it."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None if it was closed from the start
        stream.flush()
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own core file
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code)
