"""A leaf can be removed: what it adds is gone with its tests, and all else works."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path

import pytest

from tests.plugins.copies import Installed, copied, remove
from tests.plugins.leaves import LEAF_FOLDERS, REPOSITORY, from_doors
from tests.test_public_surface import listed, minus

TESTS = Path(__file__).parent
LEAVES = [folder.name for folder in LEAF_FOLDERS]
SURFACE = """
import json
from tests.test_public_surface import surface
print(json.dumps(surface()))
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("whole")
    return Installed(copied(folder / "copy"), folder / "venv")


def lab_without(folder: Path, *leaves: str) -> Installed:
    """The lab without these leaves; the page that is made from its verbs is made again."""
    copy = copied(folder / "copy")
    for leaf in leaves:
        remove(leaf, copy)
    python = Installed(copy, folder / "venv")
    (copy / "docs" / "cli.md").write_text(python("-m", "tests.reference.cli"), "utf-8")
    return python


def test_no_file_outside_a_leaf_imports_it() -> None:
    imports = re.compile(rf"^\s*(?:from|import) strategy_({'|'.join(LEAVES)})\b", re.MULTILINE)
    wrong = [
        str(file.relative_to(REPOSITORY))
        for top in ("app", "profiles", "strategy_core", "plugins", "tests", "benchmarks")
        for file in (REPOSITORY / top).rglob("*.py")
        for name in imports.findall(file.read_text("utf-8"))
        if f"plugins/{name}/" not in file.as_posix()
    ]
    assert wrong == []


@pytest.mark.long(keep=8)
@pytest.mark.slow
@pytest.mark.parametrize("leaf", LEAVES)
def test_without_a_leaf_exactly_what_it_adds_is_gone_and_all_contracts_hold(
    leaf: str, whole: Installed, tmp_path: Path
) -> None:
    rest = lab_without(tmp_path, leaf)
    had, left = (json.loads(python("-c", SURFACE)) for python in (whole, rest))
    assert minus(had, left) == listed(TESTS / leaf / "public_surface.json")
    rest("-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())")
    files = ("test_docs.py", "reference", "test_public_surface.py")
    rest("-m", "pytest", *(f"tests/{name}" for name in files), "-m", "not tf")


@pytest.mark.long
def test_without_all_leaves_only_their_tests_are_gone(whole: Installed, tmp_path: Path) -> None:
    collect = ("-m", "pytest", "--collect-only", "tests")
    kernel = lab_without(tmp_path, *LEAVES)
    gone = set(whole(*collect).splitlines()) - set(kernel(*collect).splitlines())
    tests = {line for line in gone if "::" in line}
    folders = tuple(f"tests/plugins/{leaf}/" for leaf in LEAVES)
    of_leaves = {line for line in tests if line.startswith(folders)}
    assert of_leaves
    # Tests with a case for each leaf, part of one, verb, page, format or package have fewer cases.
    parts = [path.parent.name for path in REPOSITORY.glob("plugins/*/strategy_*/*/__init__.py")]
    own = listed(*(TESTS / leaf / "public_surface.json" for leaf in LEAVES))
    verbs = [name.removeprefix("strategy-lab ") for name in own if name.startswith("strategy-lab ")]
    pages = chain(*from_doors("RUN_PAGES"), *from_doors("CHARTS"), *from_doors("QUERIES"))
    names = re.compile("|".join([*LEAVES, *parts, *verbs, *pages, *own["formats"]]))
    others = tests - of_leaves
    assert {line for line in others if not names.search(line.partition("[")[2])} == set()
