"""The folders of `plugins/`, each of which can be removed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

REPOSITORY = Path(__file__).parents[2]
LEAF_FOLDERS = sorted(
    path for path in (REPOSITORY / "plugins").iterdir() if (path / "README.md").is_file()
)


def from_doors(name: str) -> list[Any]:
    """What the `doors` of each leaf says under this name."""
    values = (getattr(leaf, name, None) for leaf in of_leaves("doors"))
    return [each for each in values if each is not None]


def files_of_leaves(folder: Path, run: Path) -> dict[str, Path]:
    """Make the files that commands of leaves name, by what the `doors` of a leaf calls them."""
    made = [make(folder, run) for make in from_doors("make_files")]
    return {name: file for files in made for name, file in files.items()}


def of_leaves(name: str) -> list[ModuleType]:
    """The modules of this name beside the tests of leaves."""
    places = (f"tests/plugins/{leaf.name}/{name}" for leaf in LEAF_FOLDERS)
    files = (place for place in places if (REPOSITORY / f"{place}.py").is_file())
    return [import_module(place.replace("/", ".")) for place in files]
