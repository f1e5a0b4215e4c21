"""What tests/doors asks of this leaf: the files that it opens."""

from __future__ import annotations

_BOUNDED = "bounded by its reader"
OPENS = {f"strategy_data/{name}.py": _BOUNDED for name in ("images", "npz", "table", "tfrecord")}
