"""Text that every Python has at hand: the source of its own standard library."""

from __future__ import annotations

import sysconfig
from pathlib import Path


def modules(max_bytes: int) -> list[tuple[str, bytes]]:
    """(name, source) of the largest top-level modules, up to `max_bytes` in all."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(folder.glob("*.py"), key=lambda path: (-path.stat().st_size, path.name))
    chosen, total = [], 0
    for path in files:
        source = path.read_bytes()
        if total + len(source) > max_bytes:
            break
        chosen.append((path.stem, source))
        total += len(source)
    return chosen
