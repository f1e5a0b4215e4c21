"""Finds in the lab's source where files are opened, the environment is read, a page takes text."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.plugins.leaves import LEAF_FOLDERS, REPOSITORY

PACKAGES = (
    REPOSITORY / "app" / "strategy_app",
    REPOSITORY / "profiles" / "strategy_profiles",
    REPOSITORY / "strategy_core" / "strategy_core",
    *(leaf / f"strategy_{leaf.name}" for leaf in LEAF_FOLDERS),
)
_READS = re.compile(
    r"open|os\.open|os\.fdopen|io\.open|gzip\.\w+|bz2\.\w+|lzma\.\w+|zlib\.decompress\w*"
    r"|zipfile\.(?:ZipFile|is_zipfile)|tarfile\.\w+|mmap\.mmap|np\.(?:load|fromfile|memmap|genfromtxt)"
    r"|p?q?\.?(?:pq|pd|pandas)\.(?:ParquetFile|read_\w+)|.*_pandas\(\)\.read_\w+"
    r"|(?:json|pickle|marshal|shelve|tomllib|yaml|cloudpickle|dill|joblib)\.(?:loads?|Unpickler)"
    r"|tf\.data\.TFRecordDataset|tf\.io\.read_file|.*\.(?:read_text|read_bytes)"
)
_MODE = re.compile(r"[rwaxbt+]{1,3}")
_ENVIRONMENT = re.compile(r"(?:os\.)?(?:environ|environment|inherited)|os")
_INPUTS = re.compile(r"(?:.*\.)?(?:text_input|text_area|chat_input|file_uploader|data_editor)")


def sources() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            yield path.relative_to(package.parent).as_posix(), ast.parse(path.read_bytes())


def calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def is_opening(name: str, call: ast.Call) -> bool:
    if _READS.fullmatch(name):
        return True
    modes = [each for each in call.args[:1] if isinstance(each, ast.Constant)]
    is_mode = any(isinstance(m.value, str) and _MODE.fullmatch(m.value) for m in modes)
    return name.endswith(".open") and is_mode


def opened() -> dict[str, set[str]]:
    """The functions that open or unpack files, or parse them, by module."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, tree in sources():
        for name, call in calls(tree):
            if is_opening(name, call):
                found[module].add(name.rpartition(".")[2] if "(" in name else name)
    return dict(found)


def variables() -> set[str]:
    """The environment variables that are read, as the code names them."""
    found = set()
    for _, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                owner, _, method = called.rpartition(".")
                if method in ("get", "getenv", "pop") and _ENVIRONMENT.fullmatch(owner):
                    if owner == "os" and method != "getenv":
                        continue
                    found.add(ast.unparse(node.args[0]))
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                found |= {ast.unparse(node.slice)} if _is_environment(node.value) else set()
    return found


def _is_environment(node: ast.expr) -> bool:
    return _ENVIRONMENT.fullmatch(ast.unparse(node)) is not None


def page_inputs() -> dict[str, int]:
    """How many widgets of each module take text or a file."""
    found: dict[str, int] = defaultdict(int)
    for module, tree in sources():
        for name, _ in calls(tree):
            if _INPUTS.fullmatch(name):
                found[module] += 1
    return dict(found)


def unbounded_numbers() -> list[str]:
    """Patterns of digits without a limit whose match becomes a number, by module."""
    return [
        f"{module}: {node.value}"
        for module, tree in sources()
        if any(name == "int" for name, _ in calls(tree))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"\((?:\?P<\w+>)?-?\??(?:\\d|\[0-9\])[+*]\)", node.value)
    ]
