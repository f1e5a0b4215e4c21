"""One case: made from its seed and number, put to every reader or to some, and judged."""

from __future__ import annotations

import contextlib
import io
import random
import resource
import shutil
import stat
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from strategy_profiles.errors import LabError
from tests.fuzz.file_mutations import has_checksums, mutate_bytes, mutate_files
from tests.fuzz.json_mutations import mutate_json
from tests.fuzz.judge import silent_differences
from tests.fuzz.loads import Loads
from tests.fuzz.mutation import Mutation
from tests.fuzz.parquet_mutations import mutate_parquet
from tests.fuzz.requests import ask, request
from tests.fuzz.targets import CHEAP, EXPENSIVE, QUICK, TARGETS, summary

OWN_CHANGE = "the fuzzer's own change"
"""What a process does before the first reader: it may write tables of millions of rows."""
SHARE_OF_REQUESTS = 0.15
SHARE_OF_EXPENSIVE = 0.2
"""Of the damaged runs, to be read by an expensive reader, too."""
SHARE_OF_FRESH = 0.1
"""Of the damaged runs, to be loaded again by each reader, as by command lines."""
MAX_BYTES = 2 << 30
Watch = Callable[[str], None]
"""Receives what begins, so that a watchdog knows what hangs."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What a reader did that it must not."""

    target: str
    kind: str
    """`traceback`, `silent`, `memory`; the watchdog adds `hang` and `death`."""
    text: str


@dataclass(slots=True)
class Result:
    """What became of a case."""

    seed: int
    number: int
    made: list[str] = field(default_factory=list)
    """What was done to the run, or what was asked."""
    faults: list[Fault] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    """By target `answered` or `refused`."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Cases:
    """The cases of a seed, over sound runs by kind; each is made in `scratch`."""

    def __init__(self, seed: int, runs: dict[str, Path], scratch: Path) -> None:
        self._seed = seed
        self._runs = runs
        self._scratch = scratch
        self._loads = Loads()
        for path in runs.values():
            self._loads.keep(path)
        with self._loads.shared():
            self._sound = {name: summary(path) for name, path in runs.items()}

    def run(
        self, number: int, watch: Watch = lambda _target: None, *, every_target: bool = False
    ) -> Result:
        """One case; `every_target` asks all readers."""
        rng = random.Random(f"{self._seed}:{number}")
        result = Result(self._seed, number)
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(parents=True)
        if rng.random() < SHARE_OF_REQUESTS:
            said, asking = request(rng, self._runs["mirrored"], self._scratch)
            result.made.append(said)
            with _guarded(result, "request", watch):
                ask(asking)
            return result
        watch(OWN_CHANGE)
        name, mutations = self.make(rng)
        result.made = [f"run: {name}", *(mutation.text for mutation in mutations)]
        run = self._scratch / "run"
        targets = list(TARGETS) if every_target else _readers(rng)
        is_fresh = rng.random() < SHARE_OF_FRESH
        with contextlib.nullcontext() if is_fresh else self._loads.shared():
            self._summarise(name, mutations, run, result, watch)
            for target in targets:
                with _guarded(result, target, watch):
                    TARGETS[target](run, self._runs[name])
        return result

    def make(self, rng: random.Random) -> tuple[str, list[Mutation]]:
        """Copy a run into the scratch folder and mutate it; its kind and what was done."""
        name = rng.choice(list(self._runs))
        run, others = self._scratch / "run", self._runs[rng.choice(list(self._runs))]
        shutil.copytree(self._runs[name], run)
        count = 1 if rng.random() < 0.7 else rng.randint(2, 3)
        return name, [_mutate(run, others, rng) for _ in range(count)]

    def _summarise(
        self, name: str, mutations: list[Mutation], run: Path, result: Result, watch: Watch
    ) -> None:
        with _guarded(result, "summary", watch):
            before, notes_before = self._sound[name]
            after, notes_after = summary(run)
            if all(mutation.is_detectable for mutation in mutations):
                found = silent_differences(before, after, notes_before, notes_after)
                if found:
                    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
                    text = "; ".join(found[:5]) + more
                    result.faults.append(Fault("summary", "silent", text))


def _readers(rng: random.Random) -> list[str]:
    """The quick readers, one of the cheap ones, and for some cases one of the expensive ones."""
    expensive = rng.choice(EXPENSIVE)
    chosen = [*QUICK, rng.choice(CHEAP)]
    return [*chosen, expensive] if rng.random() < SHARE_OF_EXPENSIVE else chosen


def _mutate(run: Path, others: Path, rng: random.Random) -> Mutation:
    files = [path for path in sorted(run.rglob("*")) if _is_small(path)]
    texts = [path for path in files if path.suffix in (".json", ".jsonl")]
    tables = [path for path in files if path.suffix == ".parquet"]
    what = rng.random()
    try:
        if what < 0.35 and texts:
            return mutate_json(rng.choice(texts), rng)
        if what < 0.65 and tables:
            return mutate_parquet(rng.choice(tables), rng, has_checksums(run))
        if what < 0.82 and files:
            return mutate_bytes(rng.choice(files), rng)
        return mutate_files(run, others, rng)
    except Exception as error:  # what an earlier mutation damaged cannot be mutated in its form
        return Mutation(f"left alone ({type(error).__name__})", False)


def _is_small(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size < 1 << 20


@contextlib.contextmanager
def _guarded(result: Result, target: str, watch: Watch) -> Iterator[None]:
    """What a target raises becomes a fault; a LabError is a refusal."""
    watch(target)
    before = _peak_bytes()
    began = time.monotonic()
    outcome = "answered"
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stderr(io.StringIO()):
                yield
    except LabError:
        outcome = "refused"
    except Exception:
        outcome = "failed"
        result.faults.append(Fault(target, "traceback", traceback.format_exc()[-3000:]))
    if _peak_bytes() > max(MAX_BYTES, before):
        text = f"{_peak_bytes() / 1e9:.1f} GB after {time.monotonic() - began:.1f} s"
        result.faults.append(Fault(target, "memory", text))
    result.outcomes[target] = outcome


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
