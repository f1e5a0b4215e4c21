"""`python -m tests.fuzz`: many cases, one case again, or a saved one."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.fuzz import ledger
from tests.fuzz.case import Cases
from tests.fuzz.pool import Pool
from tests.fuzz.runs import write_runs

_LARGEST_BYTES = 8 << 30
"""Limit of a worker's address space: a larger allocation fails and leaves the machine's memory."""

_CASES_PER_RECORD = 200
"""Cases that a kill may lose."""


def main(argv: list[str] | None = None) -> int:
    """0 if no case showed a fault."""
    args = _parse(argv)
    if args.worker_of:
        return _work(args)
    if args.total:
        print(
            "\n".join(ledger.describe([done for file in args.total for done in ledger.read(file)]))
        )
        return 0
    if args.replay:
        saved = json.loads(args.replay.read_text())
        args.seed, args.case = saved["seed"], saved["number"]
    with tempfile.TemporaryDirectory(prefix="strategy-lab-fuzz-") as root:
        write_runs(Path(root) / "runs")
        if args.case is not None:
            return _again(args.seed, args.case, Path(root), args.keep)
        return _many(args, Path(root))


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, help="begin with this case")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--ledger", type=Path, help="add to this file, and go on where it ends")
    parser.add_argument("--total", type=Path, nargs="+", help="add up these files, and do no case")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--case", type=int, help="this case alone, asked of every reader")
    parser.add_argument("--replay", type=Path, help="a file that a failing case left")
    parser.add_argument("--keep", type=Path, help="copy the mutated run of --case to this folder")
    parser.add_argument("--worker-of", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _work(args: argparse.Namespace) -> int:
    """What one process of a pool does: a line per target that begins, and per result."""
    resource.setrlimit(resource.RLIMIT_AS, (_LARGEST_BYTES, _LARGEST_BYTES))
    out = sys.stdout
    runs = {path.name: path for path in sorted(args.runs.iterdir())}
    cases = Cases(args.seed, runs, args.scratch)
    gc.freeze()  # what stays is not searched for cycles after every case

    def say(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=out, flush=True)

    for number in range(args.first, args.first + args.cases, args.worker_of):
        result = cases.run(number, lambda target: say({"target": target}))
        say(result.to_json())
    return 0


def _again(seed: int, number: int, root: Path, keep: Path | None) -> int:
    runs = {path.name: path for path in sorted((root / "runs").iterdir())}
    result = Cases(seed, runs, root / "scratch").run(number, every_target=True)
    print("\n".join(result.made))
    for target, outcome in result.outcomes.items():
        print(f"  {target}: {outcome}")
    for fault in result.faults:
        print(f"\n{fault.kind} in {fault.target}:\n{fault.text}")
    if keep is not None:
        shutil.copytree(root / "scratch", keep, symlinks=True)
    return 1 if result.faults else 0


def _many(args: argparse.Namespace, root: Path) -> int:
    """Cases until all are done or the time is over; what was done is on record."""
    first = args.first
    if first is None:
        first = ledger.next_case(ledger.read(args.ledger), args.seed) if args.ledger else 0
    last = first + args.cases
    pool = Pool(args.seed, first, last, args.processes, root / "runs", root / "scratch")
    commit = ledger.commit_of(Path(__file__).parent)
    whole = ledger.Round(args.seed, first, first)
    part = ledger.Round(args.seed, first, first, commit)
    ended: dict[int, dict[str, Any]] = {}
    began = part_began = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        for result in pool.results():
            ended[result["number"]] = result
            while whole.last in ended:  # processes end cases in another order
                counted = ended.pop(whole.last)
                now = time.monotonic()
                whole.add(counted, now - began)
                part.add(counted, now - part_began)
                if counted["faults"]:
                    _save(counted, args.failures)
                if (part.last - part.first) == _CASES_PER_RECORD:
                    print(f"case {whole.last}: {whole}", file=sys.stderr, flush=True)
                    _record(args.ledger, part)
                    part, part_began = ledger.Round(args.seed, part.last, part.last, commit), now
            if args.minutes is not None and time.monotonic() - began > 60 * args.minutes:
                break
    pool.stop()
    _record(args.ledger, part)
    print(f"Seed {args.seed}, cases {first} to {whole.last - 1}, in {whole.took_s:.0f} s: {whole}")
    for name, count in whole.faults.most_common():
        print(f"  {count} {name}")
    if whole.faults:
        print(f"Each is in {args.failures}: python -m tests.fuzz --replay FILE")
    return 1 if whole.faults else 0


def _record(file: Path | None, done: ledger.Round) -> None:
    if file is not None:
        ledger.append(file, done)


def _save(result: dict[str, Any], failures: Path) -> None:
    failures.mkdir(parents=True, exist_ok=True)
    file = failures / f"{result['seed']}-{result['number']}.json"
    file.write_text(json.dumps(result, indent=1) + "\n")
    first = result["faults"][0]
    line = first["text"].strip().splitlines()[-1][:160]
    print(f"{file}: {first['kind']} in {first['target']}: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
