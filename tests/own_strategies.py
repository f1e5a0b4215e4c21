"""The strategies of docs/adding-a-strategy.md, as files of a user's own folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from strategy_core.planning import strategy_catalog

DOC = Path(__file__).parents[1] / "docs" / "adding-a-strategy.md"


@contextmanager
def installed(folder: Path) -> Iterator[Path]:
    """Write them into `folder` and have this process and its children find them there."""
    folder.mkdir()
    for source in re.findall(r"```python\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL):
        name = re.search(r"# (\w+\.py)\n", source)
        assert name is not None
        (folder / name[1]).write_text(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(strategy_catalog.OWN_FOLDER, str(folder))
        strategy_catalog.rows.cache_clear()
        try:
            yield folder
        finally:
            strategy_catalog.rows.cache_clear()
