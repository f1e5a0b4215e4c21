"""The child process that trains: waits with TensorFlow imported, takes one run, ends with it.

    python -m strategy_core.worker.main --parent PID [--nice N] [--enter DESCRIPTOR,...]

Commands come on stdin (`processes.protocol`), events go to the run folder. The protocol's pipe
and stdin are taken away from user code first thing, and whatever it prints lies in the worker's
folder.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from strategy_core.cluster.network import namespaces
from strategy_core.processes import descendants, parent_death, protocol, stack_probe
from strategy_core.processes.command_reader import CommandReader
from strategy_core.runtime import gc_control


def main(argv: Sequence[str] | None = None) -> NoReturn:
    args = _arguments(argv)
    namespaces.enter_all(args.enter)  # first: later threads are there that would stay behind
    parent_death.tie_to(args.parent)
    os.nice(args.nice)
    stack_probe.answer_from_now_on()
    pipe = parent_death.take_protocol()
    commands = CommandReader(parent_death.take_stdin())

    def say(message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # the launcher has ended
            pipe.write(protocol.message_line(message))
            pipe.flush()

    prepare()
    from strategy_core.private_tf.autograph_files import (
        name_generated_files,
        remove_generated_files,
    )
    from strategy_core.runtime import logical_devices
    from strategy_core.worker import training_worker
    from strategy_core.worker.server_worker import ServerRun, serves

    name_generated_files(os.environ.get(descendants.VARIABLE, ""))
    say({"ready": True, "inventory": logical_devices.inventory().to_json()})
    if commands.is_empty():
        training_worker.warm_up()
    command = commands.next_run()
    gc_control.leave_imports_alone()
    role = ServerRun if serves(command) else training_worker.WorkerRun
    run = role(command, commands, say)
    code = run.run()
    remove_generated_files()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # TensorFlow's own way out takes 1 to 28 s in a cluster, and there is nothing left to save.
    # `run` is still held: what a user's own iterators would take to be deleted is not waited for
    # either.
    os._exit(code)


def prepare() -> None:
    """Import TensorFlow, which takes seconds; a fork server does so before it forks workers."""
    with gc_control.importing():
        import strategy_core.private_tf.autograph_files
        import strategy_core.worker.server_worker
        import strategy_core.worker.training_worker

        assert strategy_core


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="strategy_core.worker.main")
    parser.add_argument("--parent", type=int, required=True, help="pid of the launcher")
    parser.add_argument("--nice", type=int, default=0, help="increase of niceness relative to it")
    parser.add_argument("--enter", default="", help="descriptors of namespaces to join")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
