"""Runs repeated so that two specs can be compared: in turns, the order of each pair drawn by lot.

A machine drifts, so the two runs of a pair follow each other directly, and which goes first is
random: a drift then adds to the noise and favours neither side. The plan lies beside the runs
(`x.repeat.json` beside `x-a-1`, `x-b-1`, ...), so that the same command goes on if it was stopped.
"""

from __future__ import annotations

import json
import random
import secrets
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from strategy_profiles.analysis.compare.comparison import compare_sides
from strategy_profiles.analysis.compare.repetitions import PILOT_RUNS
from strategy_profiles.analysis.compare.run_comparison import (
    RunComparison,
    compare_sets,
    program_name,
    timed_run,
)
from strategy_profiles.analysis.compare.text import longer_runs
from strategy_profiles.decoders import decoder_of
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.guards import read_file
from strategy_profiles.run.rename import rename_run
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.tables.store import Profile, load
from strategy_profiles.whole_files import create_file

PLAN_VERSION = 1
_MOST_BYTES = 1 << 20
_PLAN = decoder_of(dict[str, Any])
MOST_AUTO = 60
"""Limit on the runs per side of an automatic number."""
FAR_MORE = 4
"""Beyond so many times the limit, an automatic number makes no more runs. Of spreads that 60 runs
a side are just enough for, the first six ask for more than 240 in 3 % of cases."""
MOST_ASKED = 1000
"""Limit on a number of runs per side that is given."""
MOST_FAILURES = 3
"""Number of failed runs in a row that ends a repetition."""


@dataclass(frozen=True)
class Plan:
    """What is repeated, and in which order."""

    folder: Path
    """What the run folders' names begin with: `runs/x` for `runs/x-a-1`."""
    specs: tuple[RunSpec, ...]
    """The spec of A, and that of B if two are interleaved."""
    seed: int
    """Seed of the order in which the runs are made."""

    @property
    def file(self) -> Path:
        return plan_file(self.folder)

    @property
    def sides(self) -> str:
        return "ab"[: len(self.specs)]

    def order(self, number: int) -> list[str]:
        """The sides of the pair with this number (from 1) in the order in which they run."""
        sides = list(self.sides)
        random.Random(f"{self.seed}:{number}").shuffle(sides)
        return sides

    def run_folder(self, side: str, number: int) -> Path:
        return self.folder.with_name(f"{self.folder.name}-{side}-{number}")

    def spec(self, side: str) -> RunSpec:
        return self.specs[self.sides.index(side)]

    def save(self) -> None:
        """Write the plan, unless it is on disk. Raises RunFolderError, also if another plan is.

        Of two commands that begin at once under one name, the second would otherwise put its runs
        among those of the first.
        """
        document = {"schema_version": PLAN_VERSION, "seed": self.seed, **self._specs()}
        content = (json.dumps(document, indent=1) + "\n").encode()
        if not create_file(self.file, content) and self.resumed() != self:
            raise RunFolderError(
                f"Another command has just begun the repetitions of {self.file}",
                advice="Name another output with -o",
            )

    def _specs(self) -> dict[str, Any]:
        return {side: self.spec(side).to_json() for side in self.sides}

    def resumed(self) -> Plan:
        """With the seed of the plan on disk if there is one; raises RunFolderError.

        A plan on disk that was of other specs is refused: its runs are no repetitions of these.
        """
        try:
            document = _PLAN.decode(read_file(self.file, _MOST_BYTES))
        except FileNotFoundError:
            return self
        except (OSError, ValueError) as error:
            raise RunFolderError(
                f"{self.file} cannot be read: {error}", advice="Name another output with -o"
            ) from error
        sides = {side: document[side] for side in "ab" if side in document}
        if sides != self._specs() or not isinstance(document.get("seed"), int):
            raise RunFolderError(
                f"{self.file} holds the plan of other repetitions",
                advice="Repeat the earlier command to continue them, or name another output "
                "with -o",
            )
        return replace(self, seed=document["seed"])


def plan_file(folder: Path) -> Path:
    """The file of the plan whose run folders' names begin with `folder`."""
    return folder.with_name(f"{folder.name}.repeat.json")


def new_plan(folder: Path, specs: Sequence[RunSpec]) -> Plan:
    """A plan in a fresh order; raises LabError."""
    workloads = {program_name(spec.workload) for spec in specs}
    if len(workloads) > 1:
        raise LabError(
            f"The two specs train different workloads: {' and '.join(sorted(workloads))}",
            advice="Compare specs of one workload",
        )
    return Plan(folder, tuple(specs), secrets.randbelow(2**31))


@dataclass(frozen=True)
class Outcome:
    """The runs that a repetition made: those that finished, and those that failed."""

    num_runs: int
    """Runs a side that were wanted at the end."""
    finished: dict[str, tuple[Profile, ...]]
    failed: tuple[str, ...]
    """Runs that did not finish, with what became of them."""
    is_complete: bool
    """Whether every run that was asked for has ended, with or without success."""
    needed: int | None = None
    """Runs per side that an automatic number needs, even if that exceeds the limit."""

    def comparison(self) -> RunComparison | None:
        """B against A; None with one side, or if a side has no finished run."""
        if len(self.finished) < 2 or not all(self.finished.values()):
            return None
        return compare_sets(self.finished["a"], self.finished["b"])


class Repetition:
    """Does a plan's runs one after the other.

    Args:
      plan: what to repeat.
      record: records one run into a new folder and returns when it is over.
      say: takes a line about what comes next.
    """

    def __init__(
        self,
        plan: Plan,
        record: Callable[[RunSpec, Path], None],
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._plan, self._record, self._say = plan, record, say
        self._finished: dict[str, list[Profile]] = {side: [] for side in plan.sides}
        self._failed: dict[str, str] = {}

    def go(self, repeat: int | None) -> Outcome:
        """Record what is missing of `repeat` runs a side; None: as many as their spread asks for.

        A run that was stopped ends it: the outcome is then not complete.
        """
        self._plan.save()
        wanted, needed = repeat or max(PILOT_RUNS, self._num_recorded()), None
        number, in_a_row = 0, 0
        while number < wanted:
            number += 1
            for folder, side in self._pair(number):
                state = self._state_of_run(side, number, wanted, folder)
                if state == "stopped":
                    return self._outcome(wanted, False, needed)
                in_a_row = 0 if state == "finished" else in_a_row + 1
                if in_a_row == MOST_FAILURES:
                    return self._outcome(wanted, False, needed)
            if repeat is None and number == wanted:
                needed = self._needed()
                if needed <= FAR_MORE * MOST_AUTO:
                    wanted = max(number, min(needed, MOST_AUTO))
                self._say_what_is_needed(needed, number, wanted)
                compared = self._outcome(wanted, False, needed).comparison()
                if needed > number and compared and (advice := longer_runs(compared)):
                    self._say(advice)
        return self._outcome(wanted, True, needed)

    def _num_recorded(self) -> int:
        """Pairs that an earlier command recorded, which an automatic number takes as well."""
        number = 0
        while all(folder.exists() for folder, _ in self._pair(number + 1)):
            number += 1
        return number

    def _pair(self, number: int) -> Iterator[tuple[Path, str]]:
        for side in self._plan.order(number):
            yield self._plan.run_folder(side, number), side

    def _state_of_run(self, side: str, number: int, wanted: int, folder: Path) -> str:
        """The state of a run, which is recorded first unless it has finished before."""
        opened = _opened(folder)
        if opened is None or opened.status.state != "finished":
            if opened is not None:
                put_aside(folder, opened.status.state)
            self._say(f"{side.upper()}, run {number} of {wanted}: {folder}")
            self._record(self._plan.spec(side), folder)
            opened = _opened(folder)
        state = opened.status.state if opened is not None else "not recorded"
        if opened is not None and state == "finished":
            self._finished[side].append(opened)
        else:
            self._failed[folder.name] = state
        return state

    def _needed(self) -> int:
        """Runs a side that find the planned difference, given the spread of those so far."""
        a, b = ([timed_run(run, side) for run in runs] for side, runs in self._finished.items())
        needed = compare_sides(a, b).runs_needed if a and b else None
        return needed or PILOT_RUNS

    def _say_what_is_needed(self, needed: int, num_done: int, wanted: int) -> None:
        """Say how many runs a side the spread asks for, and if they will not be made, what to do.

        `num_done` runs a side are made, and there will be `wanted`.
        """
        text = f"{needed:,} runs a side are needed with the spread seen so far"
        if wanted > num_done:
            most = f"; --repeat auto makes {wanted}" if needed > wanted else ""
            self._say(f"{text}{most}")
        elif needed > wanted:
            further = min(needed, MOST_AUTO if wanted < MOST_AUTO else MOST_ASKED)
            enough = "" if further == needed else ", which may not be enough"
            self._say(
                f"{text}, so --repeat auto stops at {wanted}. To continue, repeat the command with "
                f"-o {shlex.quote(str(self._plan.folder))} --repeat {further}{enough}"
            )

    def _outcome(self, wanted: int, is_complete: bool, needed: int | None) -> Outcome:
        return Outcome(
            num_runs=wanted,
            finished={side: tuple(runs) for side, runs in self._finished.items()},
            failed=tuple(f"{name} ({state})" for name, state in self._failed.items()),
            is_complete=is_complete,
            needed=needed,
        )


def _opened(folder: Path) -> Profile | None:
    """Open a run; None if the folder does not exist. Raises LabError if it is not a run."""
    return load(folder) if folder.exists() else None


def put_aside(folder: Path, state: str) -> None:
    """Keep an unfinished run under another name, so that it can be recorded again.

    The new name begins differently: `x-a-*` must not match it, by which people and CI files name
    the runs of a side.
    """
    if state == "running":
        raise RunFolderError(
            f"{folder} is still being recorded", advice="Wait until it ends, or stop it"
        )
    number = 1
    while (aside := folder.with_name(f"{state}-{number}-{folder.name}")).exists():
        number += 1
    rename_run(folder, aside.name)
