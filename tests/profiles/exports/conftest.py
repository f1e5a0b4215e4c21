"""Runs to export."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.tables.store import Profile
from tests.synthetic import write_run


@pytest.fixture(scope="session")
def straggling(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """Four replicas, the third 30 ms late, three capture windows of ten steps."""
    folder = tmp_path_factory.mktemp("runs") / "straggling"
    return strategy_profiles.load(write_run(folder, replicas=4, steps=120, straggler=(2, 30.0)))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A path to export to, at which there is no file yet."""
    return tmp_path / "export"
