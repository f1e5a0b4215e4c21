"""The child process that trains: waits with TensorFlow imported, takes one run, ends with it.

    python -m strategy_core.worker --parent PID [--nice N] [--enter DESCRIPTOR,...]

Commands come on stdin (`processes.protocol`), events go to the run folder. The protocol's pipe
and stdin are taken away from user code first thing, and whatever it prints lies in the worker's
folder.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from strategy_core.cluster import namespaces
from strategy_core.processes import lifeline, protocol, whereabouts
from strategy_core.processes.command_reader import CommandReader


def main(argv: Sequence[str] | None = None) -> NoReturn:
    args = _arguments(argv)
    namespaces.enter_all(args.enter)  # first: later threads are there that would stay behind
    lifeline.tie_to(args.parent)
    os.nice(args.nice)
    whereabouts.answer_from_now_on()
    pipe = lifeline.take_protocol()
    commands = CommandReader(lifeline.take_stdin())

    def say(message: dict[str, Any]) -> None:
        pipe.write(protocol.message_line(message))
        pipe.flush()

    from strategy_core import devices, garbage, worker_run  # TensorFlow: seconds
    from strategy_core.cluster.server_run import ServerRun, serves

    say({"ready": True, "inventory": devices.inventory().to_json()})
    if commands.is_empty():
        worker_run.warm_up()
    command = commands.next_run()
    garbage.leave_imports_alone()
    role = ServerRun if serves(command) else worker_run.WorkerRun
    run = role(command, commands, say)
    code = run.run()
    for stream in (sys.stdout, sys.stderr, pipe):
        stream.flush()
    # TensorFlow's own way out takes seconds, and there is nothing left to save. `run` is still
    # held: what a user's own iterators would take to be deleted is not waited for either.
    os._exit(code)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="strategy_core.worker")
    parser.add_argument("--parent", type=int, required=True, help="pid of the launcher")
    parser.add_argument("--nice", type=int, default=0, help="how far to step back behind it")
    parser.add_argument("--enter", default="", help="descriptors of namespaces to live in")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
