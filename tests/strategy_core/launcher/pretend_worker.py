"""A worker without TensorFlow: the real protocol, pretended steps, and accidents.

What happens is said by `workload_options`: `{"accident": "segfault", "at_step": 3}`. Everything
around the steps (parent death, protocol, event log) is the product's own.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from strategy_core.cluster.network import namespaces
from strategy_core.processes import parent_death, protocol, stack_probe
from strategy_core.processes.command_reader import CommandReader
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import (
    CommandAnswered,
    Failed,
    Finished,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_profiles.run.layout import worker_folder

STEP_S = 0.005
MANY_DEVICES = 8
"""More than these need a fresh worker."""


class PretendedRun:
    def __init__(self, run: protocol.Run, commands: CommandReader, say: Any) -> None:
        self.run, self.commands, self.say = run, commands, say
        self.spec = dict(run.spec)
        self.folder = worker_folder(Path(run.run), run.worker, run.generation)
        parent_death.print_into(self.folder.path)
        self.log = EventLog(self.folder.events)
        self.step = run.asked["step"] if run.asked else 0

    def go(self) -> int:
        accident = self.spec["workload_options"].get("accident")
        if accident == "refuse":
            return self.fail("There is no workload 'nonsense'.", 2)
        if accident == "fresh worker fails" and self.run.asked:
            return self.fail("The fresh worker cannot open.", 2)
        self.open_segment()
        first = self.step
        while self.spec["steps"] is None or self.step < self.spec["steps"]:
            for command in self.commands.pending():
                code = self.obey(command)
                if code is not None:
                    return code
            if self.step == self.spec["workload_options"].get("at_step", 3):
                code = self.have_accident(accident)
                if code is not None:
                    return code
            self.do_step()
            if self.step == first + 1:
                self.say({"opened": True})
                if not self.spec["workload_options"].get("no_capture"):
                    seen = WindowCaptured(0, 0, 0, 1, "window-000000", 0, 0, 1.0, 1.0, 1.0)
                    self.log.write(seen)
                if self.run.asked:
                    self.answer(self.run.asked["number"], "applied", None)
        return self.finish("finished")

    def open_segment(self) -> None:
        count = int(self.spec["devices"].rpartition(":")[2])
        self.log.write(
            SegmentOpened(
                segment=self.run.generation,
                strategy=self.spec["strategy"],
                num_replicas=count,
                num_workers=1,
                global_batch_size=self.spec["global_batch_size"],
                first_step=self.step,
                started_ns=time.time_ns(),
                replica_devices=[],
                cross_device_ops="none",
                spec=self.spec,
            )
        )

    def do_step(self) -> None:
        time.sleep(STEP_S)
        loss = 1.0 / (1 + self.step)
        segment = self.run.generation
        self.log.write(StepDone(segment, self.step, time.time_ns(), 5.0, loss, 8, False))
        self.step += 1

    def obey(self, command: protocol.Command) -> int | None:
        if isinstance(command, protocol.Stop):
            return self.finish("stopped")
        if isinstance(command, protocol.Reconfigure):
            return self.reconfigure(command)
        return None

    def reconfigure(self, command: protocol.Reconfigure) -> int | None:
        if "global_batch_size" in command.changes:
            self.answer(command.number, "rejected", "Not that batch.")
            return None
        changed = self.spec | command.changes
        if int(changed["devices"].rpartition(":")[2]) <= MANY_DEVICES:
            self.spec = changed
            self.answer(command.number, "applied", None)
            return None
        self.folder.checkpoint.mkdir(exist_ok=True)
        self.say(
            {
                "replace": asdict(
                    protocol.Replacement(
                        command.number,
                        self.step,
                        changed,
                        str(self.folder.checkpoint),
                        time.time_ns(),
                    )
                )
            }
        )
        crossed: list[protocol.Command] = []
        while True:
            later = self.commands.next()
            if isinstance(later, protocol.Leave):
                return 0
            if isinstance(later, protocol.Stop):
                return self.finish("stopped")
            if isinstance(later, protocol.Resume):
                self.answer(command.number, "rejected", later.message)
                self.commands.put_back(crossed)
                return None
            crossed.append(later)

    def have_accident(self, accident: str | None) -> int | None:
        match accident:
            case "segfault":
                print("pretended: about to touch address 0", file=sys.stderr)
                os.kill(os.getpid(), signal.SIGSEGV)
            case "exit":
                return 3
            case "fail":
                return self.fail("ValueError: no more", protocol.EXIT_FAILED)
            case "out of memory":
                return self.fail("The worker ran out of memory.", protocol.EXIT_OUT_OF_MEMORY)
            case "silence":
                time.sleep(3600)
            case "child":
                child = subprocess.Popen(["sleep", "3600"])
                (self.folder.path / "child.pid").write_text(str(child.pid))
                time.sleep(3600)
            case "child that left":
                child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
                (self.folder.path / "child.pid").write_text(str(child.pid))
            case "child without a mark":
                child = subprocess.Popen(["/bin/sleep", "3600"], start_new_session=True, env={})
                (self.folder.path / "child.pid").write_text(str(child.pid))
            case "forked child":
                self.fork(forked_again=False)
            case "forked child of a child that left":
                self.fork(forked_again=True)
        return None

    def fork(self, forked_again: bool) -> None:
        """A child without `exec`, which holds every descriptor of the worker."""
        when_written, written = os.pipe()
        pid = os.fork()
        if pid:
            if forked_again:
                os.waitpid(pid, 0)
            os.close(written)
            os.read(when_written, 1)  # the worker may end right after this
            return
        if forked_again:
            os.setsid()
            if os.fork():
                os._exit(0)
        (self.folder.path / "child.pid").write_text(str(os.getpid()))
        os.write(written, b"1")
        time.sleep(3600)
        os._exit(0)

    def answer(self, number: int, status: str, message: str | None) -> None:
        self.log.write(CommandAnswered(number, "reconfigure", status, self.step, message, 1.0))

    def fail(self, message: str, code: int) -> int:
        failed = Failed(message, "details")
        self.say({"failed": msgspec.to_builtins(failed)})
        self.log.write(failed)
        return code

    def finish(self, status: str) -> int:
        self.log.write(Finished(status, self.step))
        return 0


def prepare() -> None:
    """Nothing to import before a fork."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--enter", default="")
    args = parser.parse_args(argv)
    namespaces.enter_all(args.enter)
    parent_death.tie_to(args.parent)
    stack_probe.answer_from_now_on()
    pipe = parent_death.take_protocol()
    commands = CommandReader(parent_death.take_stdin())

    def say(message: dict[str, Any]) -> None:
        pipe.write(protocol.message_line(message))
        pipe.flush()

    inventory = {
        "physical": [{"kind": "CPU", "name": "/physical_device:CPU:0", "description": ""}],
        "tensorflow": "0",
    }
    say({"ready": True, "inventory": inventory})
    pretended = PretendedRun(commands.next_run(), commands, say)
    try:
        code = pretended.go()
    except Exception as error:
        code = pretended.fail(str(error), protocol.EXIT_FAILED) if not _is_full(error) else 1
        say({"failed": {"message": str(error), "detail": ""}})
    os._exit(code)


def _is_full(error: Exception) -> bool:
    return "An event cannot be written" in str(error)


if __name__ == "__main__":
    main()
