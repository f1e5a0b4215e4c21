"""The file of a sweep: what is swept, and every run that was made. Written whole after each run.

It lies beside the runs: `sweep-1.sweep.json` beside `sweep-1-c2-mirrored-4-devices-1`. What comes
next, and whether the sweep is over, follows from it (`contest`), so it can go on after any
interruption.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from strategy_profiles.decoders import decoder_of
from strategy_profiles.errors import RunFolderError, SpecError
from strategy_profiles.guards import read_file
from strategy_profiles.spec.run_spec import parse_spec
from strategy_profiles.user_input.files import find_file
from strategy_profiles.user_input.text import first_line, quoted
from strategy_profiles.whole_files import create_file, replace_file

SCHEMA_VERSION = 1
SUFFIX = ".sweep.json"
MOST_BYTES = 10_000_000


class Configuration(msgspec.Struct, frozen=True):
    """One way to run the workload."""

    label: str
    """What distinguishes it from the others: `mirrored cpu:4 batch 128`."""
    changes: dict[str, Any]
    """New values of RunSpec fields by dotted path."""
    num_replicas: int | None = None
    """As planned; None if that is not known."""


class LeftOut(msgspec.Struct, frozen=True):
    """A combination that is not run."""

    label: str
    reason: str


class Pruned(msgspec.Struct, frozen=True):
    """A configuration that did not run because a prediction says that it cannot win."""

    configuration: int
    """Its index."""
    reason: str


class MeasuredRun(msgspec.Struct, frozen=True):
    """One run of a configuration."""

    configuration: int
    """Its index."""
    round: int
    """From 1; each round has one run of every configuration that takes part in it."""
    run: str
    """Name of its folder."""
    seconds: float
    """Its whole duration, start included."""
    started_ns: int | None = None
    step_ms: float | None = None
    """Median of the steady steps; None if the run failed."""
    examples_per_second_at_median: float | None = msgspec.field(
        default=None, name="examples_per_second"
    )
    """Throughput at that step time. Its name in the file is from before `examples_per_second` meant
    only the throughput over all timed steps."""
    num_replicas: int | None = None
    failure: str | None = None
    """Why it has no step time."""

    @property
    def is_measured(self) -> bool:
        return self.step_ms is not None and self.examples_per_second_at_median is not None


class Budget(msgspec.Struct, frozen=True):
    """How much a sweep may spend."""

    length_s: float = 3.0
    """Length of the steps of a run."""
    rounds: int = 8
    """Most runs of one configuration."""
    seconds: float | None = None
    """No run starts after this long, over all sittings; None: no limit."""


class Sweep(msgspec.Struct, frozen=True):
    """The file."""

    name: str
    created_ns: int
    base: dict[str, Any]
    """The RunSpec that configurations are changes of."""
    axes: dict[str, list[Any]]
    """Swept fields and their values."""
    configurations: list[Configuration]
    reference: int
    """Index of the configuration that the others are compared with: the base itself."""
    left_out: list[LeftOut]
    budget: Budget
    seed: int
    """Of the order of runs within a round."""
    runs: list[MeasuredRun] = []
    prunes: bool = True
    """Whether predictions may leave configurations out."""
    pruned: list[Pruned] = []
    verifies: bool = False
    """Whether what predictions left out runs once at the end, to check them."""
    verified: list[MeasuredRun] = []
    """Those runs."""
    schema_version: int = SCHEMA_VERSION

    @property
    def seconds(self) -> float:
        """Duration of all runs so far."""
        return sum(run.seconds for run in (*self.runs, *self.verified))


def sweep_file(runs: Path, name: str) -> Path:
    """The file of a sweep in a folder of runs."""
    return runs / f"{name}{SUFFIX}"


def save(sweep: Sweep, runs: Path) -> None:
    """Replace the file of a sweep at once; raises RunFolderError."""
    replace_file(sweep_file(runs, sweep.name), _content(sweep))


def create(sweep: Sweep, runs: Path) -> bool:
    """Create the file of a sweep; returns False if one has this name. Raises RunFolderError."""
    return create_file(sweep_file(runs, sweep.name), _content(sweep))


def _content(sweep: Sweep) -> bytes:
    return msgspec.json.format(msgspec.json.encode(sweep), indent=1) + b"\n"


def load(runs: Path, name: str) -> Sweep:
    """Read a sweep by its name; raises LabError."""
    known = sorted(names(runs))
    if name not in known:
        raise RunFolderError(
            f"{runs} has no sweep {quoted(name)}",
            advice=f"Its sweeps: {', '.join(known) or 'none'}",
        )
    sweep = _read(sweep_file(runs, name))
    if sweep.name != name:
        raise RunFolderError(
            f"{sweep_file(runs, name)} is the file of {quoted(sweep.name)}",
            advice="Give it back its name",
        )
    return sweep


def names(runs: Path) -> Iterator[str]:
    """The names of the sweeps of a folder, the newest first."""
    try:
        files = [path for path in runs.glob(f"*{SUFFIX}") if path.name[:1] != "."]
        files.sort(key=lambda path: -path.stat().st_mtime_ns)
    except OSError:
        return
    for file in files:
        yield file.name.removesuffix(SUFFIX)


def _read(file: Path) -> Sweep:
    chosen = find_file(file, "The sweep")
    try:
        sweep = _DECODER.decode(read_file(chosen, MOST_BYTES))
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"{file} is not a sweep: {first_line(error)}", advice="Delete it, and sweep again"
        ) from None
    if sweep.schema_version != SCHEMA_VERSION:
        raise RunFolderError(
            f"{file} was written by another version of the lab", advice="Sweep again"
        )
    size = len(sweep.configurations)
    if not all(0 <= index < size for index in (sweep.reference, *_indices(sweep))):
        raise RunFolderError(
            f"{file} names configurations that it does not have", advice="Sweep again"
        )
    _check_specs(sweep, file)
    return sweep


def _check_specs(sweep: Sweep, file: Path) -> None:
    """Raise RunFolderError if a configuration is no valid RunSpec in this version."""
    try:
        base = parse_spec(sweep.base)
        for configuration in sweep.configurations:
            base.with_changes(configuration.changes)
    except SpecError as error:
        raise RunFolderError(
            f"{file} has a configuration that is not valid: {error.problem}", advice="Sweep again"
        ) from None


def _indices(sweep: Sweep) -> Iterator[int]:
    yield from (run.configuration for run in sweep.runs)
    yield from (item.configuration for item in sweep.pruned)
    yield from (run.configuration for run in sweep.verified)


_DECODER = decoder_of(Sweep)
