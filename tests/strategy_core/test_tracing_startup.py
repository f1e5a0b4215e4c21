"""A traced process acts on the import of a module, once its code has run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from strategy_core.tracing.startup import when_imported

NAME = "module_that_is_awaited"


@pytest.fixture
def imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    (tmp_path / f"{NAME}.py").write_text("HAS_RUN = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    return []


@pytest.fixture
def seen_imports(imports: list[bool]) -> list[bool]:
    when_imported(NAME, lambda: imports.append(sys.modules[NAME].HAS_RUN))
    return imports


def test_the_import_is_seen_once(seen_imports: list[bool]) -> None:
    importlib.import_module(NAME)
    importlib.reload(sys.modules[NAME])
    assert seen_imports == [True]


def test_to_ask_whether_the_module_is_installed_is_no_import(seen_imports: list[bool]) -> None:
    assert importlib.util.find_spec(NAME) is not None
    assert not seen_imports
    importlib.import_module(NAME)
    assert seen_imports == [True]


def test_a_module_that_was_imported_before_is_seen_at_once(imports: list[bool]) -> None:
    importlib.import_module(NAME)
    when_imported(NAME, lambda: imports.append(True))
    assert imports == [True]
