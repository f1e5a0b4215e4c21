"""A drill: stop a process of a run while it starts, let it go on, and then end the run by Ctrl-C.

    python -m tests.stopped_starts --tries 50 --seed 1 [--first 8] [--beside 3]

Each try starts a run from the command line, stops one of its processes (SIGSTOP) at a random moment
of its start for 2 to 40 s, continues it, and sends Ctrl-C to the launcher at a random moment after
that: at once, while the first step is built, or well into the steps. The run has to end within
seconds as a stopped one, with the state after its last step saved if it had one; or, where the stop
was too long for its peers, as a failed one that names the process. No process may be left.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import strategy_profiles
from strategy_profiles.run.checkpoints import last_saved_state
from tests.drill import described, living, started, wait_for_launch
from tests.stopped_labs import has_event, steps_of
from tests.timeouts import wait_until

STOPPED_S = (2.0, 21.0, 40.0)
STARTED_WITHIN_S = 9.0
LATER_S = 12.0
GONE_WITHIN_S = 75.0
"""20 s for a step to end, the state and the last captures, on a machine that is busy."""
KINDS = {
    "mirrored": ["--strategy", "mirrored", "--devices", "cpu:2"],
    "one-device": ["--strategy", "one-device", "--devices", "cpu:1"],
    "fit": ["--strategy", "mirrored", "--devices", "cpu:2", "--loop", "fit"],
    "workers": ["--strategy", "multi-worker-mirrored", "--workers", "2", "--devices", "cpu:1"],
}


@dataclass(frozen=True)
class Try:
    """What one stop and one Ctrl-C led to."""

    kind: str
    moment: str
    stopped_s: float
    num_steps: int
    saved: int | None
    gone_s: float
    status: str


def stop_and_continue(number: int, seed: int, folder: Path) -> Try:
    """One try; raises AssertionError if it is not as it has to be."""
    chance = random.Random(f"{seed}-{number}")
    kind = list(KINDS)[number % len(KINDS)]
    stopped_s = chance.choice(STOPPED_S if kind != "workers" else STOPPED_S[:1])
    moment = chance.choice(("at once", "first step", "steps"))
    run = folder / str(number) / "run"  # one run at a time in a folder of runs
    work = ["--workload", "digits-mlp", "--global-batch-size", "48", "--set", "steps=null"]
    lab = [sys.executable, "-m", "strategy_core", "run", *work, *KINDS[kind], "-o", str(run)]
    with started(lab) as (process, mark):
        tasks, _ = wait_for_launch(process, run)
        pid = chance.choice(list(tasks.values()))
        time.sleep(chance.uniform(0, STARTED_WITHIN_S))
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(stopped_s)
            os.kill(pid, signal.SIGCONT)
        if moment != "at once" and process.poll() is None:
            kind_of_event = "segment" if moment == "first step" else "step"
            events = run / "worker-0-0" / "events.jsonl"
            wait_until(lambda: has_event(events, kind_of_event) or process.poll() is not None)
            time.sleep(chance.uniform(0, 1.0 if moment == "first step" else LATER_S))
        seen, before = len(steps_of(run)), time.monotonic()
        process.send_signal(signal.SIGINT)
        while left := living(mark):
            is_late = time.monotonic() - before > GONE_WITHIN_S
            assert not is_late, f"{kind}, {moment}: still there: {described(left)}"
            process.poll()
            time.sleep(0.05)
        gone_s = time.monotonic() - before
    return _check(Try(kind, moment, stopped_s, 0, None, gone_s, ""), run, seen)


def _check(made: Try, run: Path, seen: int) -> Try:
    steps, status, saved = steps_of(run), strategy_profiles.load(run).status, last_saved_state(run)
    said = " ".join(f"{status.state}: {status.message}".split())
    done = Try(
        made.kind, made.moment, made.stopped_s, len(steps), saved.step if saved else None,
        made.gone_s, said,
    )  # fmt: skip
    assert steps == list(range(len(steps))), done
    assert len(steps) >= seen, (seen, done)
    if made.kind == "workers" and status.state == "failed":
        assert re.search(r"[Ww]orker \d", said), done
        return done
    if steps:
        assert status.state == "stopped", done
        assert done.saved == len(steps), done
    else:
        assert status.state in ("stopped", "failed"), done
    assert "no step ended" not in said or not steps, done
    return done


def tries(
    number: int, seed: int, folder: Path, *, first: int = 0, beside: int = 1
) -> Iterator[tuple[int, Try | BaseException]]:
    """Tries, a few at a time: a stopped process takes no processor. One that fails ends none."""

    def one(each: int) -> tuple[int, Try | BaseException]:
        try:
            return each, stop_and_continue(each, seed, folder)
        except Exception as error:
            return each, error

    with ThreadPoolExecutor(beside) as threads:
        yield from threads.map(one, range(first, first + number))


def main(say: Callable[[str], object] = print) -> None:
    parser = argparse.ArgumentParser(prog="tests.stopped_starts")
    parser.add_argument("--tries", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="try to begin with")
    parser.add_argument("--beside", type=int, default=1, help="tries at a time")
    parser.add_argument("--keep", type=Path, help="a folder for the runs, which stay")
    args = parser.parse_args()
    kept = 0
    with tempfile.TemporaryDirectory() as folder:
        place = args.keep or Path(folder)
        for number, each in tries(
            args.tries, args.seed, place, first=args.first, beside=args.beside
        ):
            kept += isinstance(each, Try)
            line = (
                f"FAILED {each!r}"
                if not isinstance(each, Try)
                else (
                    f"{each.kind:10} stopped {each.stopped_s:4.0f} s, Ctrl-C {each.moment:10} "
                    f"{each.num_steps:5} steps, state after {each.saved}, "
                    f"gone in {each.gone_s:4.1f} s; {each.status[:90]}"
                )
            )
            say(f"{number:3} {line}")
            sys.stdout.flush()
    say(f"{kept} of {args.tries} as they have to be")


if __name__ == "__main__":
    main()
