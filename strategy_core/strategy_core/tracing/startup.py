"""Waits for TensorFlow and Keras in a traced process. Imports nothing but the standard library."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from strategy_core.tracing.faults import Faults
from strategy_core.tracing.session import Session
from strategy_core.tracing.settings import VARIABLE, read_settings
from strategy_core.tracing.tracebacks import without_lab_frames
from strategy_core.tracing.waiting import Waiting

_RECORDER = "strategy_core.recorder.program"
"""The lab's recorder for programs that record themselves, and for this package's recording."""


def start() -> None:
    """Begin to trace this process, if the environment asks for it."""
    settings = read_settings()
    if settings is None:
        return
    session = Session(settings, Faults())
    waiting = Waiting(session) if settings.waits else None
    watch(session, waiting)
    sys.excepthook = without_lab_frames(sys.excepthook)
    os.register_at_fork(after_in_child=session.forked)
    if waiting is not None:
        atexit.register(lambda: _end_waiting(waiting))
        return
    atexit.register(lambda: _end_recorded(session))
    when_imported("multiprocessing.util", lambda: _end_with_multiprocessing(session))


@functools.cache
def wait() -> None:
    """Have this process wait for `attach`, unless it is traced and so begun from elsewhere.

    `site` may read a `.pth` file twice: in a folder, and in a link to it (`lib`, `lib64`).
    """
    if VARIABLE not in os.environ:
        start()


def watch(session: Session, waiting: Waiting | None = None) -> None:
    """Have the session know what the program does, from the import of TensorFlow on."""

    def hook_tensorflow() -> None:
        session.claim_worker()  # before processes that this one starts, which inherit TF_CONFIG
        _hook_tensorflow(session)
        if waiting is not None:
            waiting.begin()

    when_imported("tensorflow", lambda: session.safely(hook_tensorflow))
    when_imported("keras", lambda: session.safely(lambda: _hook_keras(session)))
    when_imported(_RECORDER, lambda: session.safely(lambda: _hook_recorder(session)))


def _hook_tensorflow(session: Session) -> None:
    from strategy_core.tracing.hooks import install

    install(session)
    if not session.is_idle:
        from strategy_core.recorder.recorder import begin_stacks

        session.stacks = begin_stacks(session.faults.tell)


def _hook_keras(session: Session) -> None:
    from strategy_core.tracing.keras_hooks import install

    install(session)


def _hook_recorder(session: Session) -> None:
    """Have the session know when the program records itself, as `ProgramRecorder` does."""
    from strategy_core.recorder.program import ProgramRecorder

    kind: Any = ProgramRecorder
    begin = kind.__init__

    @functools.wraps(begin)
    def init(recorder: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        session.own_recorder_begins(str(path))
        begin(recorder, path, *args, **kwargs)

    kind.__init__ = init


def _end_with_multiprocessing(session: Session) -> None:
    """Have the record end with each child of `multiprocessing`, which runs no exit handlers.

    Before a child runs its function, `multiprocessing` forgets what was to be done at its end, and
    calls what was registered for after the fork, also in a child that was not forked.
    """
    from multiprocessing import util

    def at_child_start(_session: Session) -> None:
        util.Finalize(None, lambda: session.safely(at_child_end), exitpriority=100)

    def at_child_end() -> None:
        if session.recording is not None or os.environ.get("TF_CONFIG"):
            _end(session)

    util.register_after_fork(session, at_child_start)


def _end_recorded(session: Session) -> None:
    session.safely(lambda: _end(session))
    if session.faults.is_off and (session.worker_record or not session.settings.is_child):
        from strategy_core.tracing.ending import write_fault

        write_fault(session, session.recording)


def _end(session: Session) -> None:
    from strategy_core.tracing.ending import ending_error, write_ending

    try:
        write_ending(session, ending_error())
    finally:
        session.close()
        if isinstance(getattr(sys, "last_value", None), KeyboardInterrupt):
            _end_as_interrupted()


def _end_waiting(waiting: Waiting) -> None:
    from strategy_core.tracing.ending import ending_error

    try:
        waiting.end(ending_error())
    finally:
        if isinstance(getattr(sys, "last_value", None), KeyboardInterrupt):
            _end_as_interrupted()


def _end_as_interrupted() -> None:
    """Have Python end the process by SIGINT, as it does after an interrupt that nothing caught.

    Python forgets the interrupt when further code is compiled and run, as imports of the lab do at
    exit (`run_eval_code_obj` in CPython's `pythonrun.c`), and remembers one that such code raises.
    """
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Call `then` once the module is imported, in the thread that imports it."""
    if name in sys.modules:
        then()
        return
    sys.meta_path.insert(0, _Watcher(name, then))


class _Watcher(MetaPathFinder):
    """Finds one module as Python would, and calls a function when its code has run."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        specs = (
            finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder != self
        )
        spec = next((each for each in specs if each is not None), None)
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader)
        return spec

    def _watch(self, loader: Loader) -> None:
        """Replace the loader's method on this object alone: the module keeps its loader.

        The finder stays until the module's code has run: TensorFlow asks for Keras's spec, to see
        whether it is installed, and imports Keras from another one.
        """
        run_code = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run_code(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._then()

        watched: Any = loader
        watched.exec_module = exec_module
