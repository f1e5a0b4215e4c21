"""Makes the runs of a sweep, one after the other, until it is over or cancelled.

    sweep = keep_name(new_sweep(base, axes, inventory, runs, Budget()), runs)
    Sweeping(sweep, runs, lambda spec, folder: launcher.launch(spec, folder)).go()

The file of the sweep is written before the first run and after each one. A sweep that was cancelled
or killed goes on with the run that it was at. A folder has one sweep at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from strategy_core.launcher.repetition import put_aside
from strategy_core.planning.inventory import Inventory
from strategy_profiles.analysis.compare.run_comparison import chosen_segment
from strategy_profiles.errors import LabError, RunFolderError, SpecError
from strategy_profiles.run.new_name import numbered_name, plain_name
from strategy_profiles.run.tags import LONGEST_TAG, set_tags
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from strategy_profiles.tables.store import load
from strategy_sweep.axes import Axes, combine
from strategy_sweep.contest import MOST_ROUNDS, NextRun
from strategy_sweep.pruning import why_pruned
from strategy_sweep.record import Budget, MeasuredRun, Pruned, Sweep, create, save
from strategy_sweep.results import Results, results

FEWEST_STEPS = 30
"""A step time needs 16 steady steps; the first ones are warm-up."""
LONGEST = 10
"""A run with slow steps ends after this many times its length, however few steps it has."""
LOOK_EVERY_S = 0.1
_FITS_IN_A_NAME = 60
_MOST_TRIES = 100
"""Limit on the names that are tried, each of which another process has just taken."""
_SHORTEST_S, _LONGEST_S = 0.1, 600.0


class Handle(Protocol):
    """What a sweep needs of a `RunHandle`."""

    @property
    def step(self) -> int | None: ...

    @property
    def status(self) -> str: ...

    @property
    def message(self) -> str | None: ...

    def wait(self, timeout_s: float | None = None) -> bool: ...

    def stop(self) -> int: ...


Launch = Callable[[RunSpec, Path], Handle]


@dataclass(frozen=True, slots=True)
class Progress:
    """The run that is made now."""

    planned: NextRun
    handle: Handle


def new_sweep(
    base: RunSpec,
    axes: Axes,
    inventory: Inventory,
    runs: Path,
    budget: Budget,
    *,
    prunes: bool = True,
    verifies: bool = False,
) -> Sweep:
    """Plan a sweep under a name that the folder does not have yet; raises SpecError."""
    check_budget(budget)
    base = base.with_changes({"reconfigure": []})
    combined = combine(base, axes, inventory)
    return Sweep(
        name=_new_name(base.workload, runs),
        created_ns=time.time_ns(),
        base=base.to_json(),
        axes=axes,
        configurations=combined.configurations,
        reference=combined.reference,
        left_out=combined.left_out,
        budget=budget,
        seed=secrets.randbelow(2**31),
        prunes=prunes,
        verifies=verifies,
    )


def keep_name(sweep: Sweep, runs: Path) -> Sweep:
    """Create the file of a new sweep, and return the sweep.

    Another process may have planned a sweep under the same name at the same time. Only one of them
    can create the file; the others take another number. Raises RunFolderError.
    """
    for _ in range(_MOST_TRIES):
        if create(sweep, runs):
            return sweep
        sweep = msgspec.structs.replace(sweep, name=_new_name(sweep.base["workload"], runs))
    raise RunFolderError(f"{runs} has no free name for the sweep", advice="Name another folder")


def _new_name(workload: str, runs: Path) -> str:
    return numbered_name(runs, ["sweep", Path(workload).stem])


@contextlib.contextmanager
def only_sweep(runs: Path) -> Iterator[None]:
    """Hold the lock of a folder's sweeps; raises LabError if another process holds it.

    The kernel releases it when the process ends, however it ends.
    """
    try:
        runs.mkdir(parents=True, exist_ok=True)
        lock = os.open(runs, os.O_RDONLY)
    except OSError as error:
        raise RunFolderError(f"{runs} cannot be written: {error.strerror}") from None
    try:
        with contextlib.suppress(OSError):  # a disk without locks
            _lock(lock, runs)
        yield
    finally:
        os.close(lock)


def _lock(descriptor: int, runs: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LabError(
            f"Another sweep is being made in {runs}, and one beside it would change the times of "
            "both",
            advice="Cancel it, or wait until it ends",
        ) from None


def check_budget(budget: Budget) -> None:
    """Raise SpecError for a budget that no sweep can keep."""
    if not 1 <= budget.rounds <= MOST_ROUNDS:
        raise SpecError(
            f"{budget.rounds} is not a number of rounds", advice=f"Give 1 to {MOST_ROUNDS}"
        )
    if not _SHORTEST_S <= budget.length_s <= _LONGEST_S:
        raise SpecError(
            f"Runs of {budget.length_s:g} s of steps are not possible",
            advice=f"Give {_SHORTEST_S:g} to {_LONGEST_S:g} seconds",
        )
    if budget.seconds is not None and not budget.seconds > 0:
        raise SpecError("The time of a sweep has to be more than 0", advice="Give more minutes")


class Sweeping:
    """A sweep while it is made. `cancel` and the attributes may be used from any thread.

    Args:
      launch: starts a run.
      say: takes the results after every run.
      clock: seconds, monotonic.
    """

    def __init__(
        self,
        sweep: Sweep,
        runs: Path,
        launch: Launch,
        say: Callable[[Results], None] = lambda _found: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sweep = sweep
        self.progress: Progress | None = None
        """The run that is made now; None between two runs."""
        self._runs, self._launch, self._say, self._clock = runs, launch, say, clock
        self._cancelled = threading.Event()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End after the current step; the current run will be made again."""
        self._cancelled.set()

    def go(self) -> Results:
        """Make the runs that are missing; raises LabError if a run cannot be started or saved."""
        with only_sweep(self._runs):
            return self._go()

    def _go(self) -> Results:
        save(self.sweep, self._runs)
        while True:
            current = results(self.sweep)
            if self.is_cancelled:
                return current
            if current.now.next_run is None:
                return self._verify()
            reason = why_pruned(self.sweep, current.now.next_run, self._runs)
            if reason is not None:
                pruned = [*self.sweep.pruned, Pruned(current.now.next_run.configuration, reason)]
                self.sweep = msgspec.structs.replace(self.sweep, pruned=pruned)
                save(self.sweep, self._runs)
                continue
            made = self._make(current.now.next_run)
            if made is None:
                return current
            self.sweep = msgspec.structs.replace(self.sweep, runs=[*self.sweep.runs, made])
            save(self.sweep, self._runs)
            self._say(results(self.sweep))

    def _verify(self) -> Results:
        """Run once what predictions left out, if the sweep has to and has time left."""
        sweep = self.sweep
        done = {run.configuration for run in sweep.verified}
        wanted = [item.configuration for item in sweep.pruned] if sweep.verifies else []
        for index in wanted:
            limit_s = sweep.budget.seconds
            is_late = limit_s is not None and self.sweep.seconds >= limit_s
            if index in done or is_late or self.is_cancelled:
                continue
            made = self._make(NextRun(index, 1))
            if made is None:
                break
            verified = [*self.sweep.verified, made]
            self.sweep = msgspec.structs.replace(self.sweep, verified=verified)
            save(self.sweep, self._runs)
        return results(self.sweep)

    def _make(self, planned: NextRun) -> MeasuredRun | None:
        """Make and measure one run; None if it was cancelled."""
        folder = self._runs / run_name(self.sweep, planned)
        put_aside_unfinished(folder)
        began = self._clock()
        try:
            handle = self._launch(run_spec(self.sweep, planned.configuration), folder)
        except SpecError as error:
            return self._failed(planned, folder, began, str(error))
        self.progress = Progress(planned, handle)
        try:
            is_whole = self._watch(handle)
        finally:
            self.progress = None
        tag_run(folder, self.sweep.name)
        if not is_whole:
            return None
        if handle.status not in ("stopped", "finished"):
            return self._failed(planned, folder, began, handle.message or "the run failed")
        return measured(planned, folder, self._clock() - began)

    def _watch(self, handle: Handle) -> bool:
        """Stop the run once its steps are long enough; returns False if it was cancelled."""
        budget, first_at, is_stopped = self.sweep.budget, None, False
        while not handle.wait(LOOK_EVERY_S):
            now, step = self._clock(), handle.step
            if first_at is None and step is not None:
                first_at = now
            length_s = 0.0 if first_at is None else now - first_at
            is_long = length_s >= budget.length_s and (
                (step or 0) + 1 >= FEWEST_STEPS or length_s >= LONGEST * budget.length_s
            )
            if is_stopped or not (is_long or self.is_cancelled):
                continue
            handle.stop()
            is_stopped = is_long
            if not is_long:
                handle.wait(None)
        return is_stopped or handle.status != "stopped"

    def _failed(self, planned: NextRun, folder: Path, began: float, why: str) -> MeasuredRun:
        return MeasuredRun(
            planned.configuration,
            planned.round,
            folder.name,
            self._clock() - began,
            failure=" ".join(why.split()),
        )


def run_spec(sweep: Sweep, configuration: int) -> RunSpec:
    """The spec of one run: it goes on until the sweep stops it."""
    changes = sweep.configurations[configuration].changes
    own = {"steps": None, "capture.keep_xplane": False, "capture.contexts": False}
    return parse_spec(sweep.base).with_changes(changes | own)


def run_name(sweep: Sweep, planned: NextRun) -> str:
    """`sweep-digits-cnn-1-c2-mirrored-4-devices-1`: sweep, configuration from 1, round."""
    label = plain_name(sweep.configurations[planned.configuration].label, _FITS_IN_A_NAME)
    return f"{sweep.name}-c{planned.configuration + 1}-{label}-{planned.round}"


def measured(planned: NextRun, folder: Path, seconds: float) -> MeasuredRun:
    """Return the measured step of one run of a sweep."""
    try:
        opened, timed = chosen_segment(load(folder))
    except LabError as error:
        why = str(error)
        return MeasuredRun(planned.configuration, planned.round, folder.name, seconds, failure=why)
    time_, examples = timed.time, timed.time.examples_per_step
    return MeasuredRun(
        configuration=planned.configuration,
        round=planned.round,
        run=folder.name,
        seconds=seconds,
        started_ns=timed.started_ns,
        step_ms=time_.median_ms if examples else None,
        examples_per_second_at_median=examples / time_.median_ms * 1e3 if examples else None,
        num_replicas=opened.num_replicas,
        failure=None if examples else "its steps did not record their examples",
    )


def put_aside_unfinished(folder: Path) -> None:
    """Keep what an interrupted sweep left of this run under another name; raises LabError."""
    if folder.exists():
        put_aside(folder, load(folder).status.state)


def tag_run(folder: Path, tag: str) -> None:
    """Tag a run with its sweep, by which the Runs page groups; its run.json may be missing."""
    with contextlib.suppress(LabError):
        set_tags(folder, [tag[:LONGEST_TAG]])
