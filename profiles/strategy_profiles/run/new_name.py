"""Default name of a new run: what was asked, and a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.layout import RUN_FILE

if TYPE_CHECKING:
    from strategy_profiles.spec.run_spec import RunSpec

Started = TypeVar("Started")

_LONGEST_PART = 40
_MOST_TRIES = 100
"""Limit on the folders that are tried, each of which another process has just taken."""


def new_name(runs: Path, spec: RunSpec) -> str:
    """Return a name that no folder in `runs` has: `mirrored-cpu4-digits-cnn-3`.

    The number is one above the highest that the other runs of the same name have.
    """
    parts = [spec.strategy]
    if spec.workers > 1:
        parts.append(f"{spec.workers}-workers")
    if spec.devices != "auto":
        parts.append(spec.devices.replace(":", ""))
    parts.append(Path(spec.workload).stem)
    return numbered_name(runs, parts)


def numbered_name(runs: Path, parts: Sequence[str]) -> str:
    """Return a name of these parts, and the first free number."""
    stem = "-".join(filter(None, map(plain_name, parts)))
    # `run --repeat` and `sweep` add to a name: `mirrored-1-a-2`, `mirrored-1.repeat.json`.
    numbered = re.compile(re.escape(stem) + r"-([0-9]{1,9})(?:[-.].*)?")
    try:
        matches = [numbered.fullmatch(path.name) for path in runs.iterdir()]
    except OSError:
        matches = []  # no run yet
    return f"{stem}-{1 + max((int(match[1]) for match in matches if match), default=0)}"


def run_file(folder: Path) -> Path:
    return folder / RUN_FILE


def in_folder(
    given: Path | None,
    choose: Callable[[], Path],
    start: Callable[[Path], Started],
    created: Callable[[Path], Path] = run_file,
) -> Started:
    """Return what `start` makes in the folder `given`; without one, in a new one by `choose`.

    Another process may choose the same new folder at the same time. Only one of them can create
    its `run.json`, or another file that `created` names; the others choose again. Raises what
    `start` raises.
    """
    if given is not None:
        return start(given)
    for _ in range(_MOST_TRIES):
        folder = choose()
        try:
            return start(folder)
        except RunFolderError:
            if not created(folder).exists():
                raise
    return start(choose())


def plain_name(text: str, longest: int = _LONGEST_PART) -> str:
    """Return a text with a hyphen for each character that does not belong in a folder's name."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:longest].strip("-")
