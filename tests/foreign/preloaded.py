"""Runs programs in children of one process that has imported TensorFlow.

`python -m tests.foreign.preloaded` reads a request per line, and writes the exit code of that
request's child. An import of TensorFlow takes seconds, a fork takes none. TensorFlow's runtime
starts in the child.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import os
import runpy
import sys
import threading
from typing import Any


def main() -> None:
    faulthandler.enable()  # children inherit it: a crash writes where each thread was
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import tensorflow as tf

    assert keras
    assert tf
    request = request_of_child()
    if request is not None:
        run(request)


def request_of_child() -> dict[str, Any] | None:
    """Fork for each request. Returns it in the child; None in the parent, once there is no more.

    The program does not run inside this loop: the account would take it for the program's own,
    and what the program does after its training for a part of it.
    """
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            request: dict[str, Any] = json.loads(line)
            return request
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    return None


def run(request: dict[str, Any]) -> None:
    """Run one program as Python does, `python FILE` or `python -m`, and end the process."""
    for number, name in ((0, os.devnull), (1, request["stdout"]), (2, request["stderr"])):
        opened = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    is_module = request["command"][0] == "-m"
    program, *arguments = request["command"][is_module:]
    sys.argv[:] = [program, *arguments]
    from strategy_core.tracing.settings import VARIABLE, Settings

    if request["run"]:
        settings = Settings(request["run"], os.getpid(), request["capture"])
        os.environ[VARIABLE] = settings.environment()[VARIABLE]
        from strategy_core.tracing.startup import start

        start()
    sys.path.insert(0, request["programs"])
    code = 0
    try:
        if is_module:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:
        code = 1
        sys.last_value = error
        sys.excepthook(type(error), error, error.__traceback__)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
