"""Reads the user's own data as batches for a workload's model, by readers that packages add.

They are entry points of the group `strategy_lab.data`, each named as its file's suffix without the
dot, or `folder`. The steps after a reader are shared by all formats: the checks, the reshaping to
the model's input and the shuffled stream. Built-in data belongs to `workloads`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from strategy_core.data.examples import Examples
from strategy_core.planning import data_path
from strategy_core.runtime.error_message import cause
from strategy_core.runtime.library_files import count_as_lab
from strategy_profiles.errors import SpecError
from strategy_profiles.registered import registered


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the data of one format."""

    read: Callable[[Path], Examples]
    """Raises SpecError where the data cannot be used."""
    check_all: Callable[[Path], None] | None = None
    """Raises SpecError where an example cannot be read, of data that are read batch by batch. It is
    asked once a step has failed."""


def read(path: str) -> Examples:
    """The examples at `path`, after the checks that need no model; raises SpecError."""
    source = data_path.check(path)
    reader = _reader(source)
    try:
        examples = reader.read(source)
    except SpecError:
        raise
    except Exception as error:
        raise SpecError(
            f"The data {source} cannot be read: {cause(error)}", field="data"
        ) from error
    examples.check(str(source))
    return examples


def check_all(path: str) -> None:
    """Raise SpecError if an example at `path` cannot be read after all."""
    source = Path(path).expanduser()
    if not source.exists():
        return
    check = _reader(source).check_all
    if check is not None:
        check(source)


def _reader(source: Path) -> Reader:
    entry = registered("data")[data_path.format_of(source)]
    reader = entry.load()
    if not isinstance(reader, Reader):
        raise entry.refused("is no Reader")
    count_as_lab(entry.file().parent)  # its functions are not the program's
    return reader
