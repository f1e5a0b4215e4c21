"""Checks by its path alone whether the user's data can be read. Free of TensorFlow."""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.errors import SpecError
from strategy_profiles.registered import registered
from strategy_profiles.user_input import files

FOLDER = "folder"


def check(path: str) -> Path:
    """The place of the data; raises SpecError where no reader is installed for it."""
    chosen = files.find(path, "The data", "data")
    if chosen.kind not in ("a file", "a folder"):
        raise SpecError(
            f"The data {path} is {chosen.kind}, not a file or a folder",
            advice="Save it as a file first",
            field="data",
        )
    readers = registered("data")
    if format_of(chosen.path) not in readers:
        suffixes = ", ".join(f".{name}" for name in sorted(readers) if name != FOLDER)
        folder = "a folder of images or " if FOLDER in readers else ""
        raise SpecError(
            f"The lab cannot read data in the format of {path}",
            advice=f"Name {folder}a file that ends in {suffixes}"
            if readers
            else "Install a package that reads it",
            field="data",
        )
    if chosen.kind == "a file" and chosen.num_bytes == 0:
        raise SpecError(
            f"The data {path} is empty",
            advice="Name a file with at least one example",
            field="data",
        )
    return chosen.path


def format_of(path: Path) -> str:
    """The name of the reader that data at a place take."""
    return FOLDER if path.is_dir() else path.suffix.lower().removeprefix(".")
