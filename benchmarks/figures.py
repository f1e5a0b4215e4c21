"""Run benchmarks, keep their figures in docs/figures.json, and write docs/figures.md from it.

    python -m benchmarks.figures [PART ...] [--render]

A part is a benchmark (`startup`) or one of its commands (`"reconfigure --places"`); without parts
all are run whose figures are numbers. A figure that the run does not measure keeps its last
measurement, with its day; `--render` measures nothing. What a figure is, its goal and its command
are edited in the JSON; so are figures in words, which people have judged.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measuring.record import FILE_VARIABLE

DOCS = Path(__file__).parents[1] / "docs"
JSON, PAGE = DOCS / "figures.json", DOCS / "figures.md"
YARDSTICKS = ("pass", "import numpy", "import tensorflow")
NUMPY = "import numpy"
YARDSTICK_ROUNDS = 5
SECONDS = {
    "s": ("clock_s", 1.0),
    "ms": ("clock_s", 1e-3),
    "s CPU": ("processor_s", 1.0),
    "ms CPU": ("processor_s", 1e-3),
}
"""By unit the side of a yardstick that it compares with, and the unit in seconds."""

Fields = dict[str, Any]
Book = dict[str, list[Fields]]
"""The JSON: `runs` of this program, `sections` of the page, and `figures`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    options = parser.parse_args()
    book = json.loads(JSON.read_text())
    if not options.render:
        _measure(book, options.parts)
    PAGE.write_text(render(book))


def render(book: Book) -> str:
    """The text of docs/figures.md; its first section has the table of runs."""
    texts = []
    for number, section in enumerate(book["sections"]):
        figures = [item for item in book["figures"] if item["section"] == section["title"]]
        table = _table(figures, book["runs"]) if number else _table_of_runs(book["runs"])
        texts += [f"{'##' if number else '#'} {section['title']}"]
        texts += [text for text in (section.get("text"), table, section.get("after")) if text]
    return "\n\n".join(texts) + "\n"


def is_kept(figure: Fields) -> bool | None:
    """Whether a figure's goal is kept; None without a goal, a measurement or a verdict."""
    if "at_most" in figure and (most := figure.get("value", figure.get("high"))) is not None:
        return bool(most <= figure["at_most"])
    if "at_least" in figure and (least := figure.get("value", figure.get("low"))) is not None:
        return bool(least >= figure["at_least"])
    return figure.get("kept")


def _table_of_runs(runs: list[Fields]) -> str:
    """A row for each day and machine on which yardsticks were measured."""
    rows = [["day", "machine", *(f"`{each}`" for each in YARDSTICKS)], ["---"] * 5]
    by_day: dict[tuple[str, str], list[Fields]] = defaultdict(list)
    for run in runs:
        if "yardsticks" in run:
            by_day[_day(run), run["machine"]].append(run["yardsticks"])
    for (day, machine), measured in by_day.items():
        rows.append([day, machine, *(_yardstick(each, measured) for each in YARDSTICKS)])
    return _lines(rows)


def _yardstick(program: str, measured: list[Fields]) -> str:
    """`0.11 to 0.13 s, 0.12 to 0.22 s CPU`."""
    sides = []
    for side, unit in (("clock_s", "s"), ("processor_s", "s CPU")):
        times = sorted({round(yardsticks[program][side], 2) for yardsticks in measured})
        sides.append(f"{' to '.join(_alike([*times[:1], *times[1:][-1:]]))} {unit}")
    return ", ".join(sides)


def _table(figures: list[Fields], runs: list[Fields]) -> str:
    run_of_day = {run["run"]: run for run in runs}
    rows = [["what", "measured", "goal", "", "command", "day"], ["---"] * 6]
    above: tuple[str, str] = ("", "")
    for figure in figures:
        run = run_of_day.get(figure.get("run", ""), {})
        texts = (_measured(figure, run), figure.get("note"))
        verdict = {True: "kept", False: "**missed**", None: ""}[is_kept(figure)]
        command = figure.get("command", "").removeprefix("benchmarks.")
        load = f", load {figure['load']:g}" if figure.get("load", 0) >= 1 else ""
        same = (f"`{command}`" if command else "by hand", _day(figure) + load)
        shown = ["" if one == other else one for one, other in zip(same, above, strict=True)]
        measured = "; ".join(text for text in texts if text)
        rows.append([figure["what"], measured, _goal(figure), verdict, *shown])
        above = same
    return _lines(rows)


def _day(figure: Fields) -> str:
    if "run" not in figure:
        return ""
    day = date.fromisoformat(figure["run"][:10])
    return f"{day.day} {day:%b}"


def _lines(rows: list[list[str]]) -> str:
    return "\n".join("|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in rows)


def _measured(figure: Fields, run: Fields) -> str:
    if "text" in figure:
        return str(figure["text"])
    unit, value = figure.get("unit", ""), figure.get("value")
    numbers = _alike([figure[name] for name in ("value", "low", "high") if name in figure])
    if not numbers:
        return "not measured"
    spread = " to ".join(numbers[-2:])
    if value is None or len(numbers) == 1:
        text = _with_unit(spread, unit)
    else:
        text = f"{_with_unit(numbers[0], unit)} ({spread})"
    if value is not None and unit in SECONDS and "yardsticks" in run:
        side, in_s = SECONDS[unit]
        text += f", {value * in_s / run['yardsticks'][NUMPY][side]:.2g} N"
    return text


def _alike(numbers: list[float]) -> list[str]:
    """Numbers with as many decimals as the one that has most."""
    decimals = max((len(f"{number:g}".partition(".")[2]) for number in numbers), default=0)
    return [f"{number:.{decimals}f}" for number in numbers]


def _goal(figure: Fields) -> str:
    if "at_most" in figure:
        return _with_unit(f"{figure['at_most']:g}", figure["unit"])
    if "at_least" in figure:
        return "at least " + _with_unit(f"{figure['at_least']:g}", figure["unit"])
    return str(figure.get("goal", ""))


def _with_unit(number: str, unit: str) -> str:
    return number + unit if unit == "x" else f"{number} {unit}"


def _measure(book: Book, parts: list[str]) -> None:
    """Run the commands of these parts, and put what they measure in the place of what was."""
    figures = {figure["id"]: figure for figure in book["figures"]}
    numbers = [figure for figure in figures.values() if "text" not in figure]
    commands = dict.fromkeys(figure["command"] for figure in numbers if "command" in figure)
    short = {command: command.removeprefix("benchmarks.") for command in commands}
    chosen = [
        command
        for command, name in short.items()
        if not parts or name in parts or name.split()[0] in parts
    ]
    if unknown := set(parts) - {*short.values(), *(name.split()[0] for name in short.values())}:
        raise SystemExit(f"No figure is measured by {', '.join(sorted(unknown))}.")
    started = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    book["runs"].append({"run": started, "machine": _machine(), "yardsticks": _yardsticks()})
    for command in chosen:
        load = round(psutil.cpu_percent(1.0) / 100 * (os.cpu_count() or 1), 1)
        for item in _recorded(command):
            name = f"{short[command].split()[0].rpartition('.')[2]}/{item.pop('id')}"
            if name not in figures or figures[name].get("command") != command:
                print(f"not among the figures: {name} {item}", flush=True)
                continue
            for old in ("value", "low", "high", "rounds", "load", "note"):
                figures[name].pop(old, None)
            figures[name] |= item | {"run": started, "load": load}
        _write(book)


def _recorded(command: str) -> list[Fields]:
    """The figures of one command, which prints what it prints."""
    print(f"== {command}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures"
        file.touch()
        words = [sys.executable, "-m", *shlex.split(command)]
        subprocess.run(words, check=True, env=os.environ | {FILE_VARIABLE: str(file)})
        return [json.loads(line) for line in file.read_text().splitlines()]


def _machine() -> str:
    gib = psutil.virtual_memory().total / 2**30
    software = f"Python {platform.python_version()}, TensorFlow {version('tensorflow')}"
    return f"{os.cpu_count()} cores, {gib:.0f} GiB, {software}"


def _yardsticks() -> dict[str, dict[str, float]]:
    """By program, what starting Python for it takes: medians, in turns, with bytecode."""
    took: dict[str, list[tuple[float, float]]] = {program: [] for program in YARDSTICKS}
    for _ in range(YARDSTICK_ROUNDS + 1):
        for program, times in took.items():
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, stderr=subprocess.DEVNULL)
            used, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
            processor = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
            times.append((clock, processor))
    return {
        program: {
            name: round(statistics.median(side), 3)
            for name, side in zip(
                ("clock_s", "processor_s"), zip(*times[1:], strict=True), strict=True
            )
        }
        for program, times in took.items()
    }


def _write(book: Book) -> None:
    """A line for each entry, so that a figure's change is one line of a diff."""
    used = {figure.get("run") for figure in book["figures"]}
    book["runs"] = [run for run in book["runs"] if run["run"] in used]
    lists = (
        f'"{name}": [\n'
        + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
        + "\n]"
        for name, items in book.items()
    )
    JSON.write_text("{\n" + ",\n".join(lists) + "\n}\n")


if __name__ == "__main__":
    main()
