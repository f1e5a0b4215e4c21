"""How a traced process ended, as the last events of its record."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from strategy_core.tracing.children import left_out, report_without_steps, without_steps
from strategy_core.tracing.own_lines import say
from strategy_core.tracing.tracebacks import clean

if TYPE_CHECKING:
    from strategy_core.tracing.recording import Recording
    from strategy_core.tracing.session import Session
    from strategy_profiles.run.events import Failed
    from strategy_profiles.run.layout import WorkerFolder


def ending_error() -> BaseException | None:
    """Return the exception that ends this process, if one does."""
    # `multiprocessing` ends a child while its exception is on the way
    error = getattr(sys, "last_value", None) or sys.exc_info()[1]
    return None if isinstance(error, SystemExit) and not error.code else error


def write_ending(session: Session, error: BaseException | None) -> None:
    """Write why the program ended, and what could not be known of it."""
    recording = session.recording
    if recording is None:
        _write_without_steps(session, error)
        return
    close_recording(session, recording, error)


def close_recording(session: Session, recording: Recording, error: BaseException | None) -> None:
    """Close a session's recording, which may have left it."""
    recording.close_step()
    recording.take_profiler_back()
    recording.take_graphs_back()
    for sentence in _unknown(session):
        recording.note(sentence)
    if error is not None and not isinstance(error, KeyboardInterrupt):
        failed = failed_by(error)
        recording.recorder.write(failed)
        recording.recorder.close("finished")
        _explain(failed, recording.recorder.next_step, recording.num_replicas)
    else:
        recording.recorder.close("stopped" if error is not None else "finished")


def _explain(failed: Failed, step: int | None, num_replicas: int) -> None:
    """Print the cause of the error behind the program's own traceback.

    Of an unknown error only its step is said: the traceback has the rest.
    """
    from strategy_profiles.analysis.failures import explain

    explained = explain(failed, step, num_replicas)
    num_lines = len(explained.lines) if explained.key else step is not None
    for line in explained.lines[:num_lines]:
        say(line)


def write_fault(session: Session, recording: Recording | None) -> str:
    """Write that an error of the lab's own ended the recording. Returns that as a sentence."""
    from strategy_core.tracing.late_ending import append_ending
    from strategy_profiles.errors import LabError
    from strategy_profiles.run.events import Failed
    from strategy_profiles.run.layout import worker_folder

    error = session.faults.error
    what = f"{type(error).__name__}: {error}".partition("\n")[0]
    said = f"The recording ended early by an error of the lab's own: {what}"
    ending = Failed(said, "".join(traceback.format_exception(error)))
    try:
        if recording is not None:
            recording.drop()
            recording.recorder.write(ending)
            recording.recorder.close("finished")
            return said
    except Exception:  # the recorder is the broken part: write past it
        pass
    with suppress(OSError, LabError):
        record = session.worker_record or worker_folder(Path(session.settings.run), 0)
        append_ending(record, os.getpid(), lambda _num_steps: ending)
    return said


def _write_without_steps(session: Session, error: BaseException | None) -> None:
    """Write the record of a program in which no step was found."""
    from strategy_core.tracing.late_ending import worker_started
    from strategy_profiles.run.event_log import EventLog
    from strategy_profiles.run.events import Finished, Note
    from strategy_profiles.run.layout import WORKER_EVENTS, worker_folder

    run = Path(session.settings.run)
    record = _record_without_steps(session, error)
    if record is None:
        if session.settings.is_child:
            report_without_steps(session.settings, error)
        if session.settings.is_child or any(run.glob(f"worker-*/{WORKER_EVENTS}")):
            return  # another process has the steps
        record = worker_folder(run, 0)
    log = EventLog(record.events)
    log.write(worker_started(record, os.getpid()))
    if not record.worker:
        log.write(Note("warning", _why_no_step(session)))
    if error is not None and not isinstance(error, KeyboardInterrupt):
        failed = failed_by(error)
        log.write(failed)
        _explain(failed, None, 1)
    else:
        log.write(Finished("stopped" if error is not None else "finished", 0))
    log.close()


def _record_without_steps(session: Session, error: BaseException | None) -> WorkerFolder | None:
    """The folder of the worker that this process is; None if its end is not a worker's."""
    settings = session.settings
    if not settings.is_child:
        return session.claim_worker() if settings.worker is not None else None
    if error is None or isinstance(error, KeyboardInterrupt):
        return None
    # A worker's own helpers may fail before that has imported TensorFlow, and claimed its folder.
    is_started_by_program = os.getppid() == settings.pid
    if is_started_by_program or "tensorflow" in sys.modules:
        return session.claim_worker()
    return None


def _why_no_step(session: Session) -> str:
    if session.own_record is not None:
        return (
            f"The program records itself with the lab, in {session.own_record}: its steps are in "
            "that run, not in this one."
        )
    if "tensorflow" not in sys.modules:
        children = without_steps(session.settings)
        if children:
            return " ".join(["The program's own process did not import TensorFlow.", *children])
        return "The program did not import TensorFlow."
    said = (
        "No step was found: the program called neither Keras's `fit` nor a `tf.function`, or "
        "a function in `strategy.run`, that computes gradients, and computed none eagerly."
    )
    return " ".join([said, *_unknown(session)])


def _unknown(session: Session) -> list[str]:
    """Sentences on what was seen and could not be recorded."""
    unknown = [] if session.settings.is_child else left_out(session.settings)
    if session.num_elsewhere:
        unknown.append(
            f"{session.num_elsewhere} steps of other threads are not recorded: a record holds the "
            "steps of one thread."
        )
    unknown += [
        f"{name} is not recorded: it ran {_times(len(took_ns))}, {sum(took_ns) / 1e9:.3g} s in all."
        for name, took_ns in session.evaluations.items()
    ]
    if session.num_scheduled:
        unknown.append(
            f"The last {session.num_scheduled} steps that were given to a "
            "`ClusterCoordinator` are not recorded: when they ended is not known. Call `join` "
            "after them."
        )
    if session.num_eager_gradients:
        unknown.append(
            f"{session.num_eager_gradients} gradients were computed outside of `tf.function` and "
            "`strategy.run`, and are not recorded: the program's steps are functions, or the "
            "gradient's `tf.GradientTape` had begun in another call. If they are steps, put "
            "`@tf.function` on the function that does one, or record the program with "
            "`with strategy_core.record(RUN) as recorder:` and `with recorder.step():`."
        )
    return unknown


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def failed_by(error: BaseException) -> Failed:
    """The event of the exception that ended the program, without the lab's frames."""
    from strategy_core.recorder import failure

    clean(error, set())
    return failure.failed_by(error)
