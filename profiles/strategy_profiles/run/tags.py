"""Tags of a run: words that its user puts on it, kept in `run.json`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.manifest import change_run_file, read_run_file
from strategy_profiles.user_input.text import quoted

LONGEST_TAG = 40
MOST_OF_A_RUN = 20


def set_tags(run: Path, tags: Iterable[str]) -> tuple[str, ...]:
    """Replace the tags of a run, and return them without repetition in alphabetical order.

    Raises RunFolderError if a tag is invalid, there are too many, or `run.json` cannot be written.
    """
    if read_run_file(run) is None:
        raise RunFolderError(f"{run} has no run.json that can be read, which would hold the tags")
    plain = sorted({" ".join(tag.split()) for tag in tags} - {""}, key=str.casefold)
    for tag in plain:
        if len(tag) > LONGEST_TAG or not tag.isprintable():
            raise RunFolderError(
                f"{quoted(tag)} cannot be a tag",
                advice=f"Use at most {LONGEST_TAG} printable characters",
            )
    if len(plain) > MOST_OF_A_RUN:
        raise RunFolderError(
            f"A run has at most {MOST_OF_A_RUN} tags, not {len(plain)}", advice="Remove some"
        )
    change_run_file(run, {"tags": plain})
    return tuple(plain)
