"""The description of an export format, with the function that writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from strategy_profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class StepPage:
    """Shows one step of a run as a self-contained HTML page."""

    make: Callable[[Profile, int | None], str]
    """The page of a step by its number, or of the usual one; raises LabError if there is none."""
    script: Callable[[], str]
    """The page's script, for the policy of a page that frames it."""


@dataclass(frozen=True, slots=True)
class Format:
    """An export format: a module of this package that defines `FORMAT` is found by it."""

    name: str
    """The name on the command line, such as `chrome-trace`."""
    title: str
    description: str
    """One sentence that names the programs that open it."""
    suffix: str
    """The usual file name suffix, with its dot; empty for a folder."""
    media_type: str
    """Media type of the file, or of the zip file for a folder."""
    write: Callable[[Profile, Path], None]
    """Writes a file, or creates and fills a folder, at a path that does not exist yet."""
    step_page: StepPage | None = None
    """If the file is a page about one step."""

    @property
    def is_folder(self) -> bool:
        return not self.suffix
