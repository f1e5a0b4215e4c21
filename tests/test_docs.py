"""What the documentation names exists: files, modules, names in imports, links, make targets."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
SKIPPED = {".git", ".github", "site", "build", "dist", "runs", "node_modules"}
TEXTS = (
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *sorted(REPOSITORY.glob("plugins/*/*.md")),
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
)
PYTHON_ROOTS = {
    "strategy_app": "app/strategy_app",
    "strategy_profiles": "profiles/strategy_profiles",
    "strategy_core": "strategy_core/strategy_core",
    "tests": "tests",
    "benchmarks": "benchmarks",
    **{path.name: str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob("plugins/*/*_*/")},
}


def _address(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


EXAMPLES = {
    "sum_on_cpu.py",
    "ring_of_workers.py",
    "my_net.py",
    "mine.py",
    "train.py",
    "app.py",
    "profiles.py",
    "to/file.py",
}
"""Files of a reader's own."""


@cache
def _files() -> frozenset[str]:
    """Every file of the repository, from its root."""
    names: set[str] = set()
    for entry in REPOSITORY.iterdir():
        if entry.is_file():
            names.add(entry.name)
        elif not entry.name.startswith(".venv") and entry.name not in SKIPPED:
            paths = (path for path in entry.rglob("*") if path.is_file())
            names |= {path.relative_to(REPOSITORY).as_posix() for path in paths}
    return frozenset(names)


def _named_files(text: str) -> Iterator[str]:
    """`path/file.py`, as a whole path or the end of one; `*` matches a part of a name."""
    for name in re.findall(r"(?<![\w/.-])([\w/*-]+\.(?:py|js|css|toml))(?![\w/])", text):
        if not any(name == known or name.endswith("/" + known) for known in EXAMPLES):
            yield name


def _named_modules(text: str) -> Iterator[str]:
    roots = "|".join(re.escape(root) for root in PYTHON_ROOTS)
    for match in re.finditer(rf"(?<![\w./@-])((?:{roots})(?:\.\w+)+)(?!\w*[/:])", text):
        if not match[1].endswith((".py", ".ipynb", ".yaml")):
            yield match[1]


def _source_of(dotted: str) -> tuple[Path, list[str]] | None:
    """The file of a module's longest part that is one, and the names that follow."""
    root = max((name for name in PYTHON_ROOTS if f"{dotted}.".startswith(f"{name}.")), key=len)
    parts = [part for part in dotted.removeprefix(root).split(".") if part]
    folder = REPOSITORY / PYTHON_ROOTS[root]
    while parts and (folder / parts[0]).is_dir():
        folder /= parts.pop(0)
    if parts and (file := folder / f"{parts[0]}.py").is_file():
        return file, parts[1:]
    file = folder / "__init__.py"
    return (file, parts) if file.is_file() else None


def _has(dotted: str) -> bool:
    source = _source_of(dotted)
    if source is None:
        return False
    file, names = source
    return not names or re.search(rf"\b{names[0]}\b", file.read_text("utf-8")) is not None


def _imports(text: str) -> Iterator[str]:
    """Every `module.name` that a Python block of the page imports from the lab."""
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("page", TEXTS, ids=_address)
def test_a_page_names_files_and_modules_that_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    files = [f"/{path}" for path in _files()]
    lost = {name for name in _named_files(text) if not fnmatch.filter(files, f"*/{name}")}
    lost |= {name for name in _named_modules(text) if not _has(name)}
    assert not lost


@pytest.mark.parametrize("page", TEXTS, ids=_address)
def test_names_that_examples_of_a_page_import_exist(page: Path) -> None:
    roots = tuple(f"{root}." for root in PYTHON_ROOTS)
    imported = {name for name in _imports(page.read_text("utf-8")) if name.startswith(roots)}
    assert {name for name in imported if not _has(name)} == set()


@pytest.mark.parametrize("page", TEXTS, ids=_address)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    docs = REPOSITORY / "docs"
    navigation = (REPOSITORY / "mkdocs.yml").read_text("utf-8")
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    pages |= {str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob("plugins/*/*.md")}
    assert {
        page for page in pages if not re.search(rf"\b{page}$", navigation, re.MULTILINE)
    } == set()


def test_the_site_loads_nothing_from_another_host() -> None:
    settings = (REPOSITORY / "mkdocs.yml").read_text("utf-8")
    assert "font: false" in settings, "Material loads its fonts from Google"
    assert "://" not in settings
    for page in (REPOSITORY / "docs").rglob("*.md"):
        text = page.read_text("utf-8")
        # Material loads the library that draws Mermaid from unpkg.com.
        assert "```mermaid" not in text, page
        assert not re.findall(r"!\[[^]]*\]\(\w+://|<(?:script|link|img|iframe)\b", text), page


WALKS = (REPOSITORY / "docs" / "data-walks.md").read_text("utf-8").split("\n## ")[1:]


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.partition("\n")[0])
def test_a_walk_enters_at_most_twelve_files_and_names_what_is_there(walk: str) -> None:
    rows = re.findall(r"^\| `([^`]+\.py)` \|(?: `([^`]+)`)? \|", walk, re.MULTILINE)
    assert 8 <= len({file for file, _ in rows}) <= 12
    for file, name in rows:
        node: ast.AST = ast.parse((REPOSITORY / file).read_text("utf-8"))
        for part in filter(None, name.split(".")):
            inside = [n for n in ast.iter_child_nodes(node) if getattr(n, "name", None) == part]
            assert inside, f"{file} has no {name}"
            node = inside[0]


def test_workflows_and_contributors_call_make_targets_that_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    workflow = (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    steps = workflow + (REPOSITORY / ".ci" / "run").read_text("utf-8")
    named_targets = set(re.findall(r"\bmake ([a-z-]+)", steps))
    for page in TEXTS:
        named_targets |= set(re.findall(r"`make ([a-z-]+)", page.read_text("utf-8")))
    assert named_targets >= {"docs", "test-nightly", "reference", "test"}, named_targets
    assert named_targets <= targets
    assert "run: .ci/run" in workflow


def test_every_package_says_what_belongs_there() -> None:
    for folder in ("app", "profiles", "strategy_core", "plugins"):
        for file in (REPOSITORY / folder).rglob("__init__.py"):
            said = ast.get_docstring(ast.parse(file.read_text("utf-8")))
            assert said, f"{file} has no docstring"
