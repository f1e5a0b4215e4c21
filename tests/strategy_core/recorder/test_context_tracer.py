"""The tracer of contexts is a package's: of the lab's own leaf, of a stranger, or of none."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import strategy_core
from strategy_core.recorder import context_tracer
from strategy_core.runtime.library_files import is_lab_file
from strategy_profiles.errors import LabError
from strategy_profiles.registered import Registered


@contextlib.contextmanager
def tracer_of_a_stranger(*, values: bool) -> Iterator[bool]:
    yield values


def test_without_a_tracer_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_tracer, "registered", lambda _group: {})
    with pytest.raises(LabError, match="No package that traces contexts is installed"):
        strategy_core.trace_contexts()


def test_a_package_adds_a_tracer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    added = Registered("stranger", "tracers", "contexts", f"{__name__}:tracer_of_a_stranger")
    monkeypatch.setattr(context_tracer, "registered", lambda _group: {"contexts": added})
    monkeypatch.setattr("strategy_core.runtime.library_files._lab", ())
    with strategy_core.trace_contexts(values=False) as trace:
        assert trace is False
    own = Path(sys.modules[__name__].__file__ or "")
    assert is_lab_file(str(own.with_name("other.py")))
    assert not is_lab_file(str(tmp_path / "train.py"))
