"""A drill: stop or kill the server of a lab at chosen moments of a run, and see what is kept.

    python -m tests.stopped_labs --tries 20 --seed 1 [--first 8]

Each try starts a server, has it start a run, and sends it SIGTERM, SIGINT or SIGKILL: before the
first step, in it, in a capture, between two of many steps, while a change is made, while the run
ends. Afterwards no process may be left, the profile has to open with every step that was there at
the signal, a run that had done a step has to have its state saved after its last one, and its
status has to say what happened. Every fifth try is of several processes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import strategy_profiles
from strategy_app.server.state import STOPPED
from strategy_core.processes.command_reader import LAUNCHER_ENDED
from strategy_profiles.run.checkpoints import last_saved_state
from strategy_profiles.run.events import StepDone
from strategy_profiles.run.tail import Tail
from tests.drill import described, living, started, wait_for_launch
from tests.timeouts import wait_until

SIGNALS = (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)
MOMENTS = ("start", "first step", "capture", "steps", "change", "end")
STARTED_WITHIN_S = 6.0
FIRST_STEP_S = 3.0
STEADY_S = 4.0
CHANGE_S = 1.5
SOON_S = 0.15
GONE_WITHIN_S = 60.0
"""On a busy machine: a step, the state, and the conversion of a capture."""
STEPS = 400
"""Of a run that is to be met while it ends."""
RUN = "run"

SERVER = """
import json, os, sys, threading, time
from pathlib import Path
from strategy_app.access.policy import Access
from strategy_app.server import state
from strategy_app.server.asgi_app import serve
from strategy_profiles.spec.run_spec import parse_spec

runs, spec, change = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]

def work():
    while not hasattr(sys, state._ANCHOR):
        time.sleep(0.01)
    try:
        handle = state.lab().launch(parse_spec(spec), "run")
    except BaseException as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
    while not (runs / "change").exists():
        time.sleep(0.01)
    handle.reconfigure(json.loads(change))

threading.Thread(target=work, daemon=True).start()
serve(Access(port=0, token="a-token-of-the-tests-alone"), runs)
"""


@dataclass(frozen=True)
class Try:
    """What one signal led to."""

    moment: str
    signal: str
    num_steps: int
    """On record at the end."""
    saved: int | None
    """Steps done when the state was saved."""
    gone_s: float
    """From the signal until every process was gone."""
    status: str


def tries(
    number: int, seed: int, folder: Path, *, first: int = 0
) -> Iterator[Try | AssertionError]:
    """Tries of each moment with each signal, in turn; one that fails does not end them."""
    for each in range(first, first + number):
        chance = random.Random(f"{seed}-{each}")
        moment = MOMENTS[each % len(MOMENTS)]
        number_of_signal = SIGNALS[(each // len(MOMENTS) + each) % len(SIGNALS)]
        try:
            yield stop(
                moment,
                number_of_signal,
                folder / str(each),
                chance,
                is_cluster=each % 5 == 4,
            )
        except AssertionError as error:
            yield error


def stop(
    moment: str,
    number: signal.Signals,
    runs: Path,
    chance: random.Random,
    *,
    is_cluster: bool = False,
) -> Try:
    """One server, one run and one signal; raises AssertionError if anything is lost."""
    runs.mkdir(parents=True)
    change = '{"devices": "cpu:3"}' if not is_cluster else '{"global_batch_size": 24}'
    command = [sys.executable, "-c", SERVER, str(runs), _spec(moment, is_cluster), change]
    run = runs / RUN
    with started(command, may_leave_files=number == signal.SIGKILL) as (process, mark):
        wait_for_launch(process, run)
        wait_for(moment, run, chance)
        num_seen = len(steps_of(run))
        began = time.monotonic()
        os.kill(process.pid, number)
        while left := living(mark):
            is_late = time.monotonic() - began > GONE_WITHIN_S
            assert not is_late, f"{moment}, {number.name}: still there: {described(left)}"
            process.poll()
            time.sleep(0.05)
        gone_s = time.monotonic() - began
    return check(moment, number, run, num_seen, gone_s)


def check(moment: str, number: signal.Signals, run: Path, num_seen: int, gone_s: float) -> Try:
    """What is on record; raises AssertionError if it is less than it was, or not explained."""
    profile = strategy_profiles.load(run)
    steps, status = steps_of(run), profile.status
    saved = last_saved_state(run)
    done = Try(
        moment,
        number.name,
        len(steps),
        saved.step if saved else None,
        gone_s,
        f"{status.state}: {status.message}",
    )
    assert profile.summary()["status"] == status.state
    assert steps == list(range(len(steps))), done
    assert len(steps) >= num_seen, (num_seen, done)
    if steps:
        assert done.saved == len(steps), done
    if status.state == "finished":
        assert len(steps) == STEPS, done
        return done
    if not steps and number == signal.SIGKILL:
        assert status.state == "incomplete", done
        assert "ended without stopping it" in str(status.message), done
        return done
    assert status.state == "stopped", done
    expected = LAUNCHER_ENDED if number == signal.SIGKILL else STOPPED
    assert str(status.message).startswith(expected[:20]), done
    return done


def wait_for(moment: str, run: Path, chance: random.Random) -> None:
    events = run / "worker-0-0" / "events.jsonl"
    match moment:
        case "start":
            time.sleep(chance.uniform(0, STARTED_WITHIN_S))
        case "first step":
            wait_until(lambda: has_event(events, "segment"))
            time.sleep(chance.uniform(0, FIRST_STEP_S))
        case "capture":
            wait_until(lambda: b'"captured":true' in read(events))
            time.sleep(chance.uniform(0, SOON_S))
        case "steps":
            wait_until(lambda: len(steps_of(run)) > 1)
            time.sleep(chance.uniform(0, STEADY_S))
        case "change":
            wait_until(lambda: len(steps_of(run)) > 20)
            (run.parent / "change").touch()
            time.sleep(chance.uniform(0, CHANGE_S))
        case "end":
            wait_until(lambda: len(steps_of(run)) > STEPS - 40)
            time.sleep(chance.uniform(0, SOON_S))


def steps_of(run: Path) -> list[int]:
    """The steps that the leader has on record, by their numbers."""
    records = (each for each in Tail(run).read() if not each.worker)
    return sorted(each.event.step for each in records if isinstance(each.event, StepDone))


def has_event(file: Path, kind: str) -> bool:
    return f'"kind":"{kind}"'.encode() in read(file)


def read(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def _spec(moment: str, is_cluster: bool) -> str:
    strategy = (
        '"strategy": "multi-worker-mirrored", "workers": 2, "devices": "cpu:1"'
        if is_cluster
        else '"strategy": "mirrored", "devices": "cpu:2"'
    )
    steps = STEPS if moment == "end" else "null"
    work = '"workload": "digits-mlp", "global_batch_size": 48'
    return f'{{{strategy}, {work}, "steps": {steps}}}'


def main(say: Callable[[str], object] = print) -> None:
    parser = argparse.ArgumentParser(
        prog="tests.stopped_labs", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="try to begin with")
    parser.add_argument("--keep", type=Path, help="a folder for the runs, which stay")
    args = parser.parse_args()
    num_kept = 0
    with contextlib.ExitStack() as stack:
        folder = args.keep or stack.enter_context(tempfile.TemporaryDirectory())
        done = tries(args.tries, args.seed, Path(folder), first=args.first)
        for number, each in enumerate(done, args.first):
            num_kept += isinstance(each, Try)
            said = f"FAILED {each}"
            if isinstance(each, Try):
                said = (
                    f"{each.moment:10} {each.signal:7} {each.num_steps:5} steps, state after "
                    f"{each.saved}, all gone in {each.gone_s:4.1f} s; {each.status[:60]}"
                )
            say(f"{number:3} {said}")
    say(f"{num_kept} of {args.tries} lost nothing")


if __name__ == "__main__":
    main()
