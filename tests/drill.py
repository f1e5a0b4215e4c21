"""A drill: kill processes of real runs at random moments, and see what is left.

    python -m tests.drill --kills 30 --seed 1 [--first 8]

Each round starts a run from the command line or from the page, and ends one of its processes with
SIGKILL, or stops it: some time while the run starts, or well into its steps.

- Of a worker, a parameter server, a worker's reaper, the launcher or the page's server, every
  process has to be gone afterwards. Where a process of the cluster was the one, it is named.
- In a lab whose first run has ended, workers are forked. When a forked worker or the fork server is
  killed, the run that it held fails; when the spare worker is killed, or the fork server stopped,
  the run goes on. In each case the next run starts. Then the page is killed as above.
- Of a program that `trace` runs, or that records itself, the folder says how it was ended. When the
  command `trace` is killed, the program ends, too; without its converter, it goes on.
- The run goes on without its orphan cleanup, and without a converter that was killed or stopped.
  Then it is ended by Ctrl-C (by SIGKILL to the launcher if the orphan cleanup was killed).

In all rounds the profile has to open, and its status has to be right. No file of AutoGraph's may be
left in the temporary folder, unless the launcher and its orphan cleanup were both killed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
from playwright.sync_api import Browser, BrowserContext, sync_playwright

import strategy_profiles
from strategy_core.private_tf.autograph_files import PREFIX as AUTOGRAPHS_FILES
from strategy_core.processes.timeouts import CLOSING_S
from strategy_profiles.analysis.summary import summarize
from strategy_profiles.run.events import StepDone
from strategy_profiles.run.tail import Tail
from tests import lab_access
from tests.chromium import launch_chromium
from tests.conftest import MAX_WAIT_MS
from tests.e2e.following import wait_until
from tests.event_records import run_records

MARK = "STRATEGY_LAB_DRILL"
"""Environment variable that every process of a round inherits: what is left is found by it."""
GONE_WITHIN_S = 60.0
"""On a machine that is busy with other things, too: what a process holds takes time to free."""
STOPPED_WITHIN_S = CLOSING_S + GONE_WITHIN_S
"""A worker that is asked to stop waits up to CLOSING_S for the conversion of its last captures,
also if it has to give up a stopped converter first (`Windows.finish`)."""
STARTING_S = 12.0
STEPPING_S = 6.0
OF_A_PROGRAM = ("traced program", "trace", "converter of a trace", "recorded program")
IN_A_LAB = ("forked worker", "spare worker", "fork server", "stopped fork server")
VICTIMS = (
    "worker",
    "parameter server",
    "launcher",
    "page",
    "reaper",
    "orphan cleanup",
    "converter",
    "stopped converter",
    *OF_A_PROGRAM,
    *IN_A_LAB,
)
OF_COMMAND_LINE = tuple(victim for victim in VICTIMS if victim not in ("page", *IN_A_LAB))
PROGRAM = """
import sys
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    weights = tf.Variable(tf.ones((64, 64)))


@tf.function
def train(batch):
    def each(part):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((part @ weights) ** 2)
        gradient = tape.gradient(loss, weights)
        gradient = tf.distribute.get_replica_context().all_reduce("sum", gradient)
        weights.assign_sub(0.01 * gradient)

    strategy.run(each, (batch,))


def batches():
    while True:
        yield tf.ones((8, 64))


if len(sys.argv) > 1:
    import strategy_core as lab
    from strategy_profiles.spec.run_spec import Capture

    with lab.record(sys.argv[1], capture=Capture(every_step=True)) as recorder:
        for batch in batches():
            with recorder.step():
                train(batch)
else:
    for batch in batches():
        train(batch)
"""
"""Those of a run that a command started: they need no browser."""
CLUSTERS = {
    "worker": ("multi-worker-mirrored", "--workers", "3"),
    "parameter server": ("parameter-server", "--workers", "1", "--parameter-servers", "1"),
    "launcher": ("multi-worker-mirrored", "--workers", "2"),
    "reaper": ("multi-worker-mirrored", "--workers", "2"),
    "orphan cleanup": ("multi-worker-mirrored", "--workers", "2"),
}
STEPS_ON = 20
"""A run goes on that does so many more steps."""


@dataclass(frozen=True)
class Round:
    """What one kill led to."""

    victim: str
    after_s: float
    """From the launch of the processes to the kill."""
    num_steps: int
    """On record at the end."""
    gone_s: float
    """From the kill until every process was gone."""
    status: str


def rounds(
    kills: int, seed: int, folder: Path, browser: Browser, *, first: int = 0
) -> Iterator[Round | AssertionError]:
    """Rounds of different victims, in turn; one that goes wrong does not end them.

    A round depends on its seed and number alone: a drill may be done in pieces.
    """
    for number in range(first, first + kills):
        chance = chance_of(seed, number)
        victim = VICTIMS[number % len(VICTIMS)]
        try:
            yield one_round(victim, folder / f"{number}", chance, browser)
        except AssertionError as error:
            yield error


def one_round(victim: str, folder: Path, chance: random.Random, browser: Browser) -> Round:
    """One round; raises AssertionError if it goes wrong."""
    if victim in OF_COMMAND_LINE:
        folder.mkdir()
        return lose_in_a_run(victim, folder / "run", chance)
    if victim == "page":
        return kill_the_page(folder, chance, browser)
    (lost,) = lose_in_a_lab([victim], folder, chance, browser)
    return lost


def chance_of(seed: int, number: int) -> random.Random:
    return random.Random(f"{seed}-{number}")


def lose_in_a_run(victim: str, run: Path, chance: random.Random) -> Round:
    """One round of a run that a command started."""
    if victim in OF_A_PROGRAM:
        return lose_a_program(victim, run, chance)
    if victim.endswith(("converter", "orphan cleanup")):
        return lose_a_helper(victim, run, chance)
    return kill_from_the_command_line(victim, run, chance)


def kill_from_the_command_line(victim: str, run: Path, chance: random.Random) -> Round:
    with started(command_of(victim, run)) as (process, mark):
        tasks, began = wait_for_launch(process, run)
        called = "worker" if victim == "reaper" else victim
        pids = [pid for task, pid in tasks.items() if task.startswith(called)]
        pid = process.pid if victim == "launcher" else chance.choice(pids)
        name = next((task for task, held in tasks.items() if held == pid), "launcher")
        if victim == "reaper":
            pid = psutil.Process(pid).ppid()
        wait_for_the_moment(run, chance)
        done = killed(name, pid, run, mark, began)
        return replace(done, victim=f"reaper of {name}") if victim == "reaper" else done


def lose_a_helper(victim: str, run: Path, chance: random.Random) -> Round:
    """Kill or stop a process that a run can do without, see it go on, and end it."""
    may_leave_files = victim == "orphan cleanup"
    with started(command_of(victim, run), may_leave_files=may_leave_files) as (process, mark):
        _, began = wait_for_launch(process, run)
        wait_for_the_moment(run, chance)
        module = "orphan_cleanup" if victim == "orphan cleanup" else "capture.helper"
        wait_until(lambda: bool(running(module, mark)) or process.poll() is not None)
        assert process.poll() is None
        after_s = time.monotonic() - began
        for pid in running(module, mark):
            os.kill(pid, signal.SIGSTOP if victim.startswith("stopped") else signal.SIGKILL)
        at = num_steps_of(run)
        wait_until(lambda: num_steps_of(run) > at + STEPS_ON or process.poll() is not None)
        assert process.poll() is None
        if victim == "orphan cleanup":
            return replace(killed("launcher", process.pid, run, mark, began), victim=victim)
        before = time.monotonic()
        process.send_signal(signal.SIGINT)
        while left := living(mark):
            is_late = time.monotonic() - before > STOPPED_WITHIN_S
            assert not is_late, f"{victim} lost, still there after Ctrl-C: {described(left)}"
            process.poll()
            time.sleep(0.05)
        gone_s = time.monotonic() - before
        status = strategy_profiles.load(run).status
        assert status.state == "stopped", status
        return Round(victim, after_s, num_steps_of(run), gone_s, "stopped")


def lose_a_program(victim: str, run: Path, chance: random.Random) -> Round:
    """Kill a program that is recorded, or one of the processes that record it."""
    program = run.with_suffix(".py")
    program.write_text(PROGRAM)
    lab = [sys.executable, "-m", "strategy_core", "trace"]
    if victim != "traced program":  # `trace` converts what the program has left: minutes of that
        lab += ["--set", "capture.every_step=true"]
    is_traced = victim != "recorded program"
    own = [sys.executable, str(program)]
    command = [*lab, "-o", str(run), str(program)] if is_traced else [*own, str(run)]
    # A killed program leaves AutoGraph's files, as it does without the lab.
    with started(command, may_leave_files=True) as (process, mark):

        def own_processes() -> list[int]:
            return [
                pid for pid in running(str(program), mark) if pid != process.pid or not is_traced
            ]

        wait_until(lambda: bool(own_processes()) or process.poll() is not None)
        began = time.monotonic()
        wait_for_the_moment(run, chance)
        assert process.poll() is None
        num_seen = num_steps_of(run)
        if victim == "converter of a trace":
            wait_until(lambda: bool(running("capture.helper", mark)))
            pids = running("capture.helper", mark)
        elif victim == "traced program":
            pids = own_processes()
        else:
            pids = [process.pid]
        after_s = time.monotonic() - began
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        if victim == "converter of a trace":
            wait_until(lambda: num_steps_of(run) > num_seen + STEPS_ON)
            process.send_signal(signal.SIGTERM)
        before = time.monotonic()
        while left := living(mark):
            is_late = time.monotonic() - before > STOPPED_WITHIN_S
            assert not is_late, f"{victim} lost, still there: {described(left)}"
            process.poll()
            time.sleep(0.05)
        gone_s = time.monotonic() - before
    if not run.is_dir():
        return Round(victim, after_s, 0, gone_s, "ended before its run folder was made")
    profile = strategy_profiles.load(run)
    status, num_steps = profile.status, num_steps_of(run)
    assert json.loads(json.dumps(profile.summary()))["status"] == status.state
    assert num_steps >= num_seen, (num_seen, num_steps)
    ended_by = {"traced program": "SIGKILL", "converter of a trace": "SIGTERM"}.get(victim)
    if ended_by is not None:
        assert (status.state, ended_by in str(status.message)) == ("failed", True), status
    else:
        assert status.state == "incomplete", status
        assert status.message, status
    return Round(victim, after_s, num_steps, gone_s, f"{status.state}: {status.message}")


def command_of(victim: str, run: Path) -> list[str]:
    """The command line of a run that goes on for as long as it is let."""
    lab = [sys.executable, "-m", "strategy_core", "run", "--steps", "1000000", "-o", str(run)]
    work = [*lab, "--workload", "digits-mlp", "--global-batch-size", "48"]
    if victim not in CLUSTERS:
        every = ["--set", "capture.every_step=true"]
        return [*work, "--strategy", "mirrored", "--devices", "cpu:2", *every]
    strategy, *size = CLUSTERS[victim]
    return [*work, "--strategy", strategy, *size, "--devices", "cpu:1"]


def wait_for_launch(process: subprocess.Popen[str], run: Path) -> tuple[dict[str, int], float]:
    """The pids of a run's processes, and when they were there."""
    wait_until(lambda: bool(launched(run)) or process.poll() is not None)
    assert process.poll() is None
    return launched(run), time.monotonic()


def running(module: str, mark: str) -> list[int]:
    """Processes of a round that run a module of the lab."""
    pids = []
    for pid in living(mark):
        with contextlib.suppress(psutil.Error):
            if module in " ".join(psutil.Process(pid).cmdline()):
                pids.append(pid)
    return pids


def num_steps_of(run: Path) -> int:
    return sum(record.event.kind == "step" for record in Tail(run).read())


def kill_the_page(run: Path, chance: random.Random, browser: Browser) -> Round:
    with served_lab(run, browser) as lab:
        folder = lab.start_run()
        began = time.monotonic()
        wait_for_the_moment(folder, chance)
        return killed("page", lab.process.pid, folder, lab.mark, began)


def lose_in_a_lab(
    victims: Sequence[str], runs: Path, chance: random.Random, browser: Browser
) -> list[Round]:
    """Lose one process after the other that a lab has forked or forks from, then kill the page."""
    with served_lab(runs, browser) as lab:
        first = lab.start_run(steps=100)
        began = time.monotonic()
        wait_until(lambda: has_exited(first))
        lost = [lose_forked(victim, lab, chance) for victim in victims]
        gone_s = killed("page", lab.process.pid, lab.started[-1], lab.mark, began).gone_s
        return [replace(each, gone_s=gone_s) for each in lost]


def lose_forked(victim: str, lab: ServedLab, chance: random.Random) -> Round:
    """Kill or stop such a process, and start another run, which goes on."""
    lab.end_run()
    wait_until(lambda: len(lab.forked("spare worker")) == 1)
    run = lab.start_run()
    began = time.monotonic()
    wait_for_the_moment(run, chance)
    wait_until(lambda: bool(lab.forked(victim)))
    after_s = time.monotonic() - began
    at = num_steps_of(run)
    (pid,) = lab.forked(victim)
    os.kill(pid, signal.SIGSTOP if victim.startswith("stopped") else signal.SIGKILL)
    if victim in ("forked worker", "fork server"):
        wait_until(lambda: has_exited(run))
        status = strategy_profiles.load(run).status
        assert (status.state, "SIGKILL" in str(status.message)) == ("failed", True), status
    else:
        wait_until(lambda: num_steps_of(run) > at + STEPS_ON)
        lab.end_run()
        status = strategy_profiles.load(run).status
        assert status.state == "stopped", status
    num_steps = strategy_profiles.load(run).table("steps").num_rows
    following = lab.start_run()
    wait_until(lambda: num_steps_of(following) > STEPS_ON)
    return Round(victim, after_s, num_steps, 0.0, f"{status.state}: {status.message}")


@dataclass(frozen=True)
class ServedLab:
    """A page's server, and a browser that is in it."""

    process: subprocess.Popen[str]
    mark: str
    runs: Path
    address: str
    context: BrowserContext
    started: list[Path] = field(default_factory=list)
    """The folders of its runs, oldest first."""

    def start_run(self, steps: int = 1_000_000) -> Path:
        """Press Run in a new tab; returns the run's folder once its process is on record."""
        before = set(self.runs.glob("[!.]*"))
        page = self.context.new_page()
        form = f"workload=digits-mlp&steps={steps}&batch=64"
        page.goto(lab_access.with_token(f"{self.address}/?{form}"))
        page.get_by_role("button", name="Run").filter(has_text="Ctrl").click()
        wait_until(lambda: any(launched(path) for path in set(self.runs.glob("[!.]*")) - before))
        (folder,) = set(self.runs.glob("[!.]*")) - before
        self.started.append(folder)
        return folder

    def end_run(self) -> None:
        """Press Stop, and wait for the end of the newest run; nothing if it has ended already."""
        newest, page = self.started[-1], self.context.pages[-1]
        if not has_exited(newest):
            page.locator(".st-key-stop_button").get_by_role("button", name="Stop").first.click()
            wait_until(lambda: has_exited(newest))

    def forked(self, victim: str) -> list[int]:
        """The processes of that kind, by their places below the fork server."""
        of_server = {pid: psutil.Process(pid) for pid in running("fork_server", self.mark)}
        pids = []
        for pid, process in of_server.items():
            with contextlib.suppress(psutil.Error):
                parents = [each.pid for each in process.parents() if each.pid in of_server]
                if victim.endswith("fork server"):
                    pids += [pid] if not parents else []
                elif len(parents) == 2:  # the reaper and the server
                    is_of_run = any(
                        pid in launched(run).values() for run in self.runs.glob("[!.]*")
                    )
                    pids += [pid] if is_of_run == (victim == "forked worker") else []
        return pids


@contextmanager
def served_lab(runs: Path, browser: Browser) -> Iterator[ServedLab]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "strategy_app", "--port", str(port), "--runs", str(runs)]
    context = browser.new_context()
    context.set_default_timeout(MAX_WAIT_MS)
    try:
        with started(command) as (process, mark):
            address = f"http://127.0.0.1:{port}"
            wait_until(lambda: answers(f"{address}/healthz") or process.poll() is not None)
            assert process.poll() is None
            yield ServedLab(process, mark, runs, address, context)
    finally:
        context.close()


def wait_for_the_moment(run: Path, chance: random.Random) -> None:
    """Some time while the run starts, or else in its steps; the chances are even."""
    if chance.random() < 0.5:
        time.sleep(chance.uniform(0, STARTING_S))
        return
    tail = Tail(run)
    wait_until(lambda: any(isinstance(record.event, StepDone) for record in tail.read()))
    time.sleep(chance.uniform(0, STEPPING_S))


def killed(name: str, pid: int, run: Path, mark: str, began: float) -> Round:
    """Kill, and check what is left."""
    before = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    while left := living(mark) + [one for one in launched(run).values() if not is_dead(one)]:
        is_late = time.monotonic() - before > GONE_WITHIN_S
        assert not is_late, f"{name} ({pid}) killed, still there: {described(left)}"
        time.sleep(0.05)
    gone_s = time.monotonic() - before
    profile = strategy_profiles.load(run)
    summary = summarize(profile)
    status = profile.status
    if name in ("launcher", "page"):  # a run with a step stops by itself: see tests.stopped_labs
        assert status.state in ("incomplete", "stopped"), status
        assert "ended without stopping it" in str(status.message), status
    else:
        assert status.state == "failed", status
        assert str(status.message).lower().startswith(f"{name}: "), status
        assert "SIGKILL" in str(status.message), status
    num_steps = profile.table("steps").num_rows
    assert json.loads(json.dumps(summary))["status"] == status.state
    return Round(name, before - began, num_steps, gone_s, f"{status.state}: {status.message}")


def launched(run: Path) -> dict[str, int]:
    """Pid of every process of the run so far, by what it is in its cluster."""
    try:
        records = run_records(run)
    except OSError:
        return {}
    return {
        str(record.get("task") or "worker"): int(record["pid"])
        for record in records
        if record["kind"] == "launched"
    }


def has_exited(run: Path) -> bool:
    """Whether the launcher has recorded the end of the run's process."""
    return any(record["kind"] == "exited" for record in run_records(run))


@contextmanager
def started(
    command: list[str], *, may_leave_files: bool = False
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process with a temporary folder, whose descendants carry a mark in their environment."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        environment = lab_access.environment(**{MARK: mark, "TMPDIR": folder})
        # TensorFlow logs five lines per capture: a pipe that is not read would stop the program
        with (
            tempfile.TemporaryFile("w+") as log,
            subprocess.Popen(
                command, env=environment, stderr=log, stdout=subprocess.DEVNULL, text=True
            ) as process,
        ):
            try:
                yield process, mark
            except AssertionError as failure:
                log.seek(0)
                failure.add_note(log.read())
                raise
            finally:
                process.kill()
                for pid in living(mark):
                    psutil.Process(pid).kill()
        left = [file.name for file in Path(folder).rglob(f"{AUTOGRAPHS_FILES}*")]
        assert may_leave_files or not left, left


def living(mark: str) -> list[int]:
    """Processes with the mark that are no zombies."""
    return [process.pid for process in psutil.process_iter() if _has(process, mark)]


def described(pids: list[int]) -> list[str]:
    """Each with what it runs and its state, for people."""
    lines = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            lines.append(f"{pid} {process.status()} {' '.join(process.cmdline()[:6])}")
    return lines


def is_dead(pid: int) -> bool:
    """Also of a process that is ending and has no environment any more to tell it by."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _has(process: psutil.Process, mark: str) -> bool:
    try:
        is_dead = process.status() == psutil.STATUS_ZOMBIE
        return not is_dead and process.environ().get(MARK) == mark
    except (psutil.Error, OSError):
        return False


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def main(say: Callable[[str], object] = print) -> None:
    parser = argparse.ArgumentParser(prog="tests.drill", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="round to begin with")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        drill = rounds(args.kills, args.seed, Path(folder), browser, first=args.first)
        for number, done in enumerate(drill, args.first):
            if isinstance(done, AssertionError):
                why = "".join(traceback.format_exception(done))
                say(f"{number:3} {VICTIMS[number % len(VICTIMS)]:20} FAILED: {why}")
                continue
            status = re.sub(r"\s+", " ", done.status)
            say(
                f"{number:3} {done.victim:20} after {done.after_s:4.1f} s, "
                f"{done.num_steps:5} steps kept, all gone in {done.gone_s:.2f} s; {status}"
            )
        browser.close()


if __name__ == "__main__":
    main()
