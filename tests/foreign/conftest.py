"""One process with TensorFlow, in children of which the programs of the folder run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.foreign.both_ways import Runner, runner


@pytest.fixture(scope="package")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with runner(tmp_path_factory.mktemp("foreign")) as running:
        yield running
