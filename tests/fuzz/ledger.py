"""A file of rounds, a JSON line each: cases that were done, where, and what they found.

Cases of a seed depend on the code alone, so rounds add up if no case is counted twice.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Round:
    """Cases `first` to `last`, exclusive, of a seed."""

    seed: int
    first: int
    last: int
    commit: str = ""
    took_s: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of readings by `answered`, `refused`, `failed`."""
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, result: dict[str, Any], took_s: float) -> None:
        """Count the result of case `last`."""
        self.last += 1
        self.took_s = took_s
        self.outcomes.update(result["outcomes"].values())
        self.faults.update(f"{fault['kind']} in {fault['target']}" for fault in result["faults"])

    def __str__(self) -> str:
        return (
            f"{self.last - self.first:,} cases: {sum(self.outcomes.values()):,} readings, "
            f"{self.outcomes['answered']:,} answered, {self.outcomes['refused']:,} refused in a "
            f"sentence, {sum(self.faults.values())} faults"
        )


def append(file: Path, done: Round) -> None:
    """Record a round that has cases."""
    if done.last > done.first:
        with file.open("a") as out:
            out.write(json.dumps(vars(done)) + "\n")


def read(file: Path) -> list[Round]:
    """Every round on record; none if there is no file."""
    if not file.exists():
        return []
    records = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        Round(**record | {name: Counter(record[name]) for name in ("outcomes", "faults")})
        for record in records
    ]


def next_case(rounds: list[Round], seed: int) -> int:
    """The first case after those of a seed."""
    return max((done.last for done in rounds if done.seed == seed), default=0)


def describe(rounds: list[Round]) -> list[str]:
    """The sums, by commit and in all. Raises ValueError if two rounds share a case."""
    by_seed = sorted(rounds, key=lambda done: (done.seed, done.first))
    for one, other in itertools.pairwise(by_seed):
        if one.seed == other.seed and other.first < one.last:
            raise ValueError(f"seed {one.seed}: cases from {other.first} on are there twice")
    commits = list(dict.fromkeys(done.commit for done in rounds))
    lines = [f"{commit}: {_sum([r for r in rounds if r.commit == commit])}" for commit in commits]
    whole = _sum(rounds)
    faults = [f"  {count} {name}" for name, count in whole.faults.most_common()]
    return [*lines, f"in all {whole} in {whole.took_s / 60:.0f} minutes", *faults]


def _sum(rounds: list[Round]) -> Round:
    whole = Round(0, 0, sum(done.last - done.first for done in rounds))
    for done in rounds:
        whole.took_s += done.took_s
        whole.outcomes += done.outcomes
        whole.faults += done.faults
    return whole


def commit_of(folder: Path) -> str:
    """The commit that is checked out; with `+` if files were changed."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
