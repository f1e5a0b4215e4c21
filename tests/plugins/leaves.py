"""The folders of `plugins/`, each of which can be removed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

REPOSITORY = Path(__file__).parents[2]
LEAF_FOLDERS = sorted(
    path for path in (REPOSITORY / "plugins").iterdir() if (path / "README.md").is_file()
)


def of_leaves(name: str) -> list[ModuleType]:
    """The modules of this name beside the tests of leaves."""
    places = (f"tests/plugins/{leaf.name}/{name}" for leaf in LEAF_FOLDERS)
    found = (place for place in places if (REPOSITORY / f"{place}.py").is_file())
    return [import_module(place.replace("/", ".")) for place in found]
