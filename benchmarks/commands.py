"""How long commands take to start: processor time, as multiples of Python's own and of NumPy's.

    python -m benchmarks.commands [--rounds 7]

The commands take turns, after one round that writes their bytecode, as an installation has it.
`trace` is what it adds before the first line of its program, on the clock.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring.record import record_figure
from tests.plugins.leaves import from_doors
from tests.synthetic import write_run

LAB = str(Path(sys.executable).with_name("strategy-lab"))
PASS, NUMPY = "python -c pass", "import numpy"
PROGRAM = "import time\nprint('began at', time.time())\n"
BARE, TRACED = "a program of one line", "trace, until the program begins"
LIMITS_S = {
    "--help": 0.15,
    "summary --help": 0.15,
    "summary of a run of 60 steps": 0.5,
    "compare of two of them": 0.5,
    TRACED: 0.3,
}
OF_LEAVES = {name: timed for verbs in from_doors("TIMED") for name, timed in verbs.items()}
"""By name the limit and the command, of a run `a` and another, `b`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_run(folder / "a", steps=60)
        write_run(folder / "b", steps=60, seed=5)
        (folder / "program.py").write_text(PROGRAM)
        for command in from_doors("BEFORE_TIMING"):
            subprocess.run([LAB, *command], cwd=folder, check=True)
        took: dict[str, list[float]] = {}
        for turn in range(rounds + 1):
            for name, command in _commands().items():
                seconds = _processor_s(command, folder)
                if turn:
                    took.setdefault(name, []).append(seconds)
    python = statistics.median(took[PASS])
    numpy = statistics.median(took[NUMPY])
    print(f"{'command':<36}{'median':>9}{'least':>8}{'most':>8}{'of Python':>11}{'of NumPy':>10}")
    bare_s = statistics.median(took[BARE])
    took[TRACED] = [seconds - bare_s for seconds in took[TRACED]]
    for name, times in took.items():
        median = statistics.median(times)
        record_figure(name, times, "s" if name == TRACED else "s CPU")
        limit = OF_LEAVES[name][0] if name in OF_LEAVES else LIMITS_S.get(name)
        verdict = "" if limit is None else f"  {limit} s {'kept' if median <= limit else 'missed'}"
        print(
            f"{name:<36}{median:>7.3f} s{min(times):>8.3f}{max(times):>8.3f}"
            f"{median / python:>10.1f}x{median / numpy:>9.1f}x{verdict}"
        )


def _commands() -> dict[str, list[str]]:
    return {
        PASS: [sys.executable, "-c", "pass"],
        NUMPY: [sys.executable, "-c", "import numpy"],
        "--help": [LAB, "--help"],
        "summary --help": [LAB, "summary", "--help"],
        "summary of a run of 60 steps": [LAB, "summary", "a"],
        "compare of two of them": [LAB, "compare", "a", "b"],
        **{name: [LAB, *command] for name, (_, command) in OF_LEAVES.items()},
        BARE: [sys.executable, "program.py"],
        TRACED: [LAB, "trace", "-o", "traced", "program.py"],
    }


def _processor_s(command: list[str], folder: Path) -> float:
    """Processor time of the whole command; of a program the time until it begins."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, began = _used_s(), time.time()
    done = subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    used = _used_s() - before
    for line in done.stdout.splitlines():
        if line.startswith("began at "):
            return float(line.rpartition(" ")[2]) - began
    return used


def _used_s() -> float:
    """Processor time of all commands so far; `os.times` counts it in hundredths of a second."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
