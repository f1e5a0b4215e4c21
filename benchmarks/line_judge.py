"""Do lines and functions of a program take what py-spy and cProfile say that they take?

    pip install py-spy
    python -m benchmarks.line_judge [--judge cprofile] [PROGRAM ...]

Runs programs of `benchmarks/field_programs` under a judge, and within it under `strategy-lab
trace`, so that both look at the same steps.

py-spy samples the main thread from another process. Each sample belongs to the innermost line of
the program on its stack, as in the lab's account. The loop is what lies between the first and the
last sample at a line that the account says takes part in it.

cProfile times each call. Each function of the program is compared, with all that it calls, as a
share of the time that the program's file takes. cProfile slows each call by about the same time;
the samples are of the program that is slowed so.

Printed are the lines or functions of which either says 2 % or more, with both shares; the goal is a
difference of at most 5 points.

The lines of one loop that is all Python look alike from inside: such a thread lets the
interpreter's lock go where the loop jumps back, so that line has the time of the loop.
"""

from __future__ import annotations

import argparse
import json
import pstats
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import strategy_profiles
from benchmarks.field import PROGRAMS
from benchmarks.measuring.record import record_figure
from strategy_core.processes.import_path import module_command
from strategy_profiles.analysis.account.source_lines import SMALLEST, loop_lines
from strategy_profiles.analysis.headline_segment import headline_segment

USUAL = (
    "03_callback_predict",
    "06_collect_garbage",
    "13_softmax_over_words",
    "16_many_small_reductions",
    "19_validation_large",
    "31_numpy_each_step_and_epochs",
)
HZ = 20
POINTS = 0.05

Shares = dict[int, float]
"""By line of the program; of a function, its first line."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("programs", nargs="*", default=USUAL, metavar="PROGRAM")
    parser.add_argument("--judge", choices=JUDGES, default="py-spy")
    options = parser.parse_args()
    worst = 0.0
    for name in options.programs:
        with tempfile.TemporaryDirectory() as scratch:
            ours, judged = JUDGES[options.judge](PROGRAMS / f"{name}.py", Path(scratch))
        for line in sorted({*ours, *judged}):
            pair = ours.get(line, 0.0), judged.get(line, 0.0)
            if max(pair) >= SMALLEST:
                worst = max(worst, abs(pair[0] - pair[1]))
                print(f"{name}:{line:<4} {pair[0]:6.1%} {options.judge} {pair[1]:6.1%}", flush=True)
    record_figure(options.judge, 100 * worst, "points")
    print(f"largest difference {worst:.1%}; goal {POINTS:.0%}")
    sys.exit(worst > POINTS)


def by_function(program: Path, scratch: Path) -> tuple[Shares, Shares]:
    """Return the share of a program's time of each of its functions and what it calls: by the
    samples, and by cProfile."""
    run, timed = scratch / "run", scratch / "timed"
    profiled = ["-m", "cProfile", "-o", str(timed), str(program)]
    traced = [*module_command("strategy_core"), "trace", "--output", str(run), *profiled]
    subprocess.run(traced, check=True, stdout=subprocess.DEVNULL)
    seconds = {
        (line, name): cumulative
        for (file, line, name), (_, _, _, cumulative, _) in pstats.Stats(str(timed)).stats.items()  # type: ignore[attr-defined]
        if file == str(program)
    }
    whole_s = next(took for (_, name), took in seconds.items() if name == "<module>")
    judged = {line: took / whole_s for (line, name), took in seconds.items() if name != "<module>"}
    stacks = strategy_profiles.load(run).stacks(0)
    ms_by_name: Counter[str] = Counter()
    for place_index, took_ms in zip(stacks.place, stacks.for_ms, strict=True):
        names = {
            each.function for each in stacks.places[place_index].frames if each.file == str(program)
        }
        ms_by_name.update(dict.fromkeys(names, took_ms))
    shares = {name.rpartition(".")[2]: took / whole_s / 1e3 for name, took in ms_by_name.items()}
    return {line: shares.get(name, 0.0) for line, name in seconds if line in judged}, judged


def by_line(program: Path, scratch: Path) -> tuple[Shares, Shares]:
    """Return the share of the loop of each line of a program: by the account, and by py-spy."""
    run, samples = scratch / "run", scratch / "samples.json"
    spy = [str(Path(sys.executable).with_name("py-spy")), "record", "--idle", "--subprocesses"]
    options = f"--full-filenames --format speedscope --rate {HZ} --output {samples} --".split()
    traced = [*module_command("strategy_core"), "trace", "--output", str(run), str(program)]
    subprocess.run([*spy, *options, *traced], check=True, stdout=subprocess.DEVNULL)
    profile = strategy_profiles.load(run)
    segment = headline_segment(profile)
    lines = loop_lines(profile, segment.segment) if segment else ()
    ours = {item.line: item.share for item in lines if item.share and item.file == str(program)}
    return ours, _judged(json.loads(samples.read_bytes()), str(program), ours)


def _judged(recorded: dict, program: str, known: Shares) -> Shares:  # type: ignore[type-arg]
    frames = recorded["shared"]["frames"]
    threads = [
        [
            next((frames[at]["line"] for at in reversed(stack) if frames[at]["file"] == program), 0)
            for stack in thread["samples"]
        ]
        for thread in recorded["profiles"]
    ]
    lines = max(threads, key=lambda each: sum(line in known for line in each))
    inside = [at for at, line in enumerate(lines) if line in known]
    loop = lines[inside[0] : inside[-1] + 1]
    return {line: count / len(loop) for line, count in Counter(loop).items()}


JUDGES = {"py-spy": by_line, "cprofile": by_function}

if __name__ == "__main__":
    main()
