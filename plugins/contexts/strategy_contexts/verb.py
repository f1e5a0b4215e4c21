"""`strategy-lab contexts`: record a program's contexts, write the page to step through."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from strategy_contexts import child, course
from strategy_contexts.shipped import DEVICES, STRATEGY, shipped
from strategy_contexts.stepper import page
from strategy_profiles.extras import require
from strategy_profiles.guards import MOST_PROGRAM_BYTES
from strategy_profiles.user_input.files import read_text, write_text

HELP = "record how a program moves between replica and cross-replica context"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "program",
        nargs="?",
        help="a demonstration, or a file that defines demonstrate(strategy); default: list "
        "the demonstrations",
    )
    parser.add_argument("-o", "--output", type=Path, help="the HTML page to write")
    parser.add_argument(
        "--strategy", default=STRATEGY, metavar="NAME", help="strategy (default: %(default)s)"
    )
    parser.add_argument("--devices", default=DEVICES, help="devices (default: %(default)s)")
    parser.add_argument(
        "--again",
        action="store_true",
        help="record a demonstration again; without it, the recording that comes with the lab is "
        "used for the default strategy and devices",
    )
    parser.add_argument("--json", action="store_true", help="print the recording as JSON")


def run(args: argparse.Namespace) -> int:
    if args.program is None:
        for item in course.demonstrations():
            print(f"{item.name:32} {item.title}")
        return 0
    program = _source(args.program), args.strategy, args.devices
    recording = None if args.again else shipped(*program)
    if recording is None:
        require("tensorflow")
        file = Path(args.program)
        folder = file.parent if file.suffix == ".py" else None
        recording = child.record(
            program[0], strategy=args.strategy, devices=args.devices, folder=folder
        )
    if args.json:
        print(json.dumps(recording))
    if args.output:
        write_text(args.output, page(recording))
    if not args.json:
        switches = sum(entry["switch"] for entry in recording["trace"]["entries"])
        where = f" -> {args.output}" if args.output else "; -o PAGE.html writes the page"
        print(f"{recording['title']}: {switches} context switches{where}")
    error = recording["error"]
    if error and not args.json:
        print(f"{error['type']}: {error['message']}", file=sys.stderr)
    return 1 if error else 0


def _source(program: str) -> str:
    file = Path(program)
    if file.suffix != ".py":
        return course.demonstration(program).source
    return read_text(file, "The program", most_bytes=MOST_PROGRAM_BYTES)
