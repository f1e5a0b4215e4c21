"""Is the first answer right on programs that were written after public reports?

    python -m benchmarks.field [--only NAME ...] [--programs FOLDER] [--runs FOLDER]

Each program in `benchmarks/field_programs` has its answer beside it as JSON, written before the
program was recorded: the kind of cause, the line, the op, and kinds that would be untrue. The
program runs under `strategy-lab trace`; then the first finding is judged by keys:

- right: its kind is the true one, or one that is also right, and if it names a line, that is one of
  the true ones; a computation names the true op.
- misled: right, but one of the first three findings is of a kind that is untrue here, and says that
  it costs 3 % of the loop or more.
- wrong: anything else, and a run without the exit code of the plain program.

Keys do not know of the start of epochs, which takes from milliseconds to seconds by chance (an
iterator is freed). Where the lab says it, the plain program runs with a stopwatch
(`measuring.fit_times`): as the first answer it is right if these starts take `STARTS_FROM` of its
loop, as another it is a true claim from `UNTRUE_FROM` on.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_profiles import load
from strategy_profiles.analysis.findings import Finding, findings, gather_facts
from strategy_profiles.analysis.findings import main_finding as _main
from strategy_profiles.tables.store import Profile

PROGRAMS = Path(__file__).parent / "field_programs"
LONGEST_S = 900
UNTRUE_FROM = 0.03
"""Share of the loop from which a finding is a claim: a kind is untrue if it has less."""
STARTS_FROM = 0.15
KINDS = {
    "argument-copy": "device-copy",
    "before-training": "before-training",
    "between-steps": "own-code",
    "busy-thread": "launch-overhead",
    "callback": "callback",
    "checkpoint": "checkpoint",
    "communication": "communication",
    "communication-exposed": "communication",
    "computation": "compute",
    "debugging-ops": "logging",
    "dense-gradient": "compute",
    "detour": "device-copy",
    "dispatch": "launch-overhead",
    "eager-step": "op-by-op",
    "epoch-start": "epoch-start",
    "float16-on-cpu": "precision",
    "float64": "precision",
    "growing-steps": "memory-growth",
    "host-read": "host-read",
    "host-round-trip": "own-code",
    "idle": "launch-overhead",
    "lone-worker": "late-worker",
    "launch-bound": "launch-overhead",
    "implicit-copy": "device-copy",
    "input-bound": "input",
    "python-in-input": "input",
    "logging": "logging",
    "many-small-collectives": "small-collectives",
    "memory-growth": "memory-growth",
    "other-algorithm": "communication",
    "prediction": "predict",
    "python-op": "python-in-step",
    "recompiling": "retracing",
    "replicas-in-turns": "replicas-in-turns",
    "retracing": "retracing",
    "short-steps": "launch-overhead",
    "small-collective": "communication",
    "small-ops": "launch-overhead",
    "straggler": "late-replica",
    "tiny-batch": "launch-overhead",
    "tracing": "first-step",
    "validation": "validation",
    "variable-off-device": "device-copy",
    "waiting-for-workers": "server",
    "whole-batch": "whole-batch",
    "workers-in-turns": "workers-in-turns",
}
"""Kind of cause by key of a finding."""


@dataclass(frozen=True)
class Diagnosis:
    """What the lab says first."""

    kinds: list[str]
    """Of the findings in their order."""
    shares: list[float]
    """Of the loop, by finding; 1 if the finding does not say what it costs."""
    sentence: str
    line: int | None
    ops: str


def judge(truth: dict[str, Any], diagnosis: Diagnosis | None) -> tuple[str, str]:
    """The verdict on an answer, and why."""
    if diagnosis is None or not diagnosis.kinds:
        return "wrong", "nothing was said"
    first, right = diagnosis.kinds[0], {truth["kind"], *truth["also_right"]}
    if first not in right:
        return "wrong", f"{first}, not {truth['kind']}"
    lines = {truth["line"], *truth["lines_ok"]} - {None}
    if (
        first == truth["kind"]
        and lines
        and diagnosis.line is not None
        and diagnosis.line not in lines
    ):
        return "wrong", f"line {diagnosis.line}, not {sorted(lines)}"
    if first == "compute" and truth["op"] and not _has_op(truth["op"], diagnosis.ops):
        return "wrong", f"{diagnosis.ops}, not {truth['op']}"
    claimed = zip(diagnosis.kinds[:3], diagnosis.shares, strict=False)
    untrue = [kind for kind, share in claimed if kind in truth["untrue"] and share >= UNTRUE_FROM]
    return ("misled", f"also says {untrue[0]}") if untrue else ("right", "")


def _has_op(true: str | list[str], named: str) -> bool:
    names = re.findall(r"\w+", true if isinstance(true, str) else " ".join(true))
    return any(len(name) > 2 and name.lower() in named.lower() for name in names)


def diagnosis_of(profile: Profile) -> Diagnosis | None:
    """What a recorded run says, of the segment with most steps."""
    if not profile.segments:
        return None
    every = [gather_facts(profile, segment) for segment in profile.segments]
    facts = max(every, key=lambda each: each.steps.count)
    if every[-1].failure is not None:
        facts = every[-1]
    reported = findings(facts)
    if facts.failure is not None:
        return Diagnosis(["failure"], [1.0], facts.failure, _line(facts.failure), "")
    if not reported or _main(facts) is None:
        return Diagnosis(["compute"], [1.0], "", None, "") if facts.steps.count else None
    place = str(reported[0].evidence.get("place") or "")
    ops = " ".join(map(str, reported[0].evidence.get("ops") or ()))
    shares = [1.0 if item.cost is None else item.cost.share for item in reported]
    return Diagnosis(
        [_kind(item) for item in reported], shares, reported[0].sentence, _line(place), ops
    )


def _kind(item: Finding) -> str:
    if item.key == "straggler" and "worker" in item.sentence.partition(":")[0].lower():
        return "late-worker"
    if item.evidence.get("grows_ms"):
        return "memory-growth"
    return KINDS.get(item.key, item.key)


def _line(where: str) -> int | None:
    match = re.search(r"\.py:(\d+)", where)
    return int(match[1]) if match else None


def with_starts(truth: dict[str, Any], program: Path) -> tuple[dict[str, Any], str]:
    """The key with the start of epochs among what is right, if it takes long in the plain program;
    and how long."""
    command = [sys.executable, "-m", "benchmarks.measuring.fit_times", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=True)
    measured = json.loads(done.stdout.splitlines()[-1])
    if not measured["loop_s"]:
        return truth, "starts of epochs are not known of the plain program: it calls no fit()"
    share = measured["epoch_start_s"] / measured["loop_s"]
    added = ["epoch-start"] if share >= STARTS_FROM else []
    said = f"starts of epochs take {share:.0%} of the plain loop"
    is_claim = share >= UNTRUE_FROM
    untrue = [kind for kind in truth["untrue"] if kind != "epoch-start" or not is_claim]
    return {**truth, "also_right": [*truth["also_right"], *added], "untrue": untrue}, said


def record(program: Path, run: Path) -> int:
    """Run a program under `trace`; its exit code."""
    command = [sys.executable, "-m", "strategy_core", "trace", "-o", str(run), str(program)]
    with (run.parent / f"{run.name}.log").open("w") as log:
        done = subprocess.run(
            command, stdout=log, stderr=subprocess.STDOUT, timeout=LONGEST_S, check=False
        )
    return done.returncode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[], help="begins of programs' names")
    parser.add_argument("--programs", type=Path, default=PROGRAMS)
    parser.add_argument("--runs", type=Path, help="folder of recorded runs, to judge or to keep")
    arguments = parser.parse_args()
    folder = arguments.runs or Path(tempfile.mkdtemp(prefix="field-"))
    folder.mkdir(parents=True, exist_ok=True)
    verdicts: list[str] = []
    for answer in sorted(arguments.programs.glob("*.json")):
        name, run = answer.stem, folder / answer.stem
        if arguments.only and not name.startswith(tuple(arguments.only)):
            continue
        truth = json.loads(answer.read_text())
        code = truth["exit_code"] if run.exists() else record(answer.with_suffix(".py"), run)
        diagnosis, measured = diagnosis_of(load(run)), ""
        right = {truth["kind"], *truth["also_right"]}
        if diagnosis and "epoch-start" in diagnosis.kinds[:3] and "epoch-start" not in right:
            truth, measured = with_starts(truth, answer.with_suffix(".py"))
        verdict, why = judge(truth, diagnosis)
        why = "; ".join(filter(None, (why, measured)))
        if code != truth["exit_code"]:
            verdict, why = "wrong", f"exit code {code}, alone {truth['exit_code']}"
        verdicts.append(verdict)
        print(f"{verdict:7} {name:40} {why}", flush=True)
    counts = {each: verdicts.count(each) for each in ("right", "misled", "wrong")}
    print(f"{len(verdicts)} programs: {counts}")


if __name__ == "__main__":
    main()
