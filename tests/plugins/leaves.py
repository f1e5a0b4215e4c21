"""The folders of `plugins/`, each of which can be removed."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LEAF_FOLDERS = sorted(
    path for path in (REPOSITORY / "plugins").iterdir() if (path / "README.md").is_file()
)
