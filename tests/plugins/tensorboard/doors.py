"""What tests/doors asks of this leaf: the files that it opens."""

from __future__ import annotations

OPENS = {"strategy_tensorboard/plugin.py": "a file that comes with the lab"}
