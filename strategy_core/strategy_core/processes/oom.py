"""Whether a SIGKILL that the launcher did not send was an out-of-memory kill.

The counters are those of this process's cgroup (v2 `memory.events`, v1 `memory.oom_control`) and
of the whole machine (`/proc/vmstat`). They only grow, so two readings around a run show a kill.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """Kernel counters at one instant; None if this system has no such counter."""

    cgroup_oom_kills: int | None = None
    machine_oom_kills: int | None = None
    limit_bytes: int | None = None
    """The cgroup's limit; None if it has none."""


def read_memory(root: Path = Path("/")) -> MemoryReading:
    """Read the counters. `root` is the folder that contains `proc` and `sys`, for tests."""
    events, limit = _cgroup_files(root)
    return MemoryReading(
        cgroup_oom_kills=_oom_kills(events) if events else None,
        machine_oom_kills=_oom_kills(root / "proc/vmstat"),
        limit_bytes=_limit(limit) if limit else None,
    )


def oom_evidence(
    before: MemoryReading, after: MemoryReading, peak_bytes: int | None
) -> tuple[bool, str]:
    """Whether memory ran out according to the counters, and a sentence on how certain that is."""
    seen = f" The worker was last seen using {_gib(peak_bytes)}" if peak_bytes else ""
    if seen and after.limit_bytes:
        seen += f" of the {_gib(after.limit_bytes)} allowed"
    seen += "." if seen else ""
    if _grew(before.cgroup_oom_kills, after.cgroup_oom_kills):
        return True, f"The kernel counted an out-of-memory kill in this container.{seen}"
    if _grew(before.machine_oom_kills, after.machine_oom_kills):
        return (
            True,
            f"The kernel counted an out-of-memory kill on this machine, probably this one.{seen}",
        )
    if before.cgroup_oom_kills is None and before.machine_oom_kills is None:
        return False, f"This system does not report whether memory ran out.{seen}"
    return False, f"The kernel counted no out-of-memory kill.{seen}"


def _cgroup_files(root: Path) -> tuple[Path | None, Path | None]:
    """The files with the kill counter and the limit of this process's cgroup."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None, None
    candidates = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inside = path.lstrip("/")
        if controllers == "memory":
            base = root / "sys/fs/cgroup/memory"
            names = ("memory.oom_control", "memory.limit_in_bytes")
        elif not controllers:
            base = root / "sys/fs/cgroup"
            names = ("memory.events", "memory.max")
        else:
            continue
        # Inside a container the group's own path is often mounted as the root.
        candidates += [(folder / names[0], folder / names[1]) for folder in (base / inside, base)]
    return next((pair for pair in candidates if pair[0].exists()), (None, None))


def _oom_kills(path: Path) -> int | None:
    """Return N of the line `oom_kill N` in a file; None if there is no such file or line."""
    try:
        for line in path.read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    except (OSError, ValueError):
        pass
    return None


def _limit(path: Path) -> int | None:
    """Return the memory limit in a file, in bytes; None for `max`, no limit or no file."""
    try:
        value = int(path.read_text())
    except (OSError, ValueError):
        return None
    # Version 1 writes "no limit" as nearly 2^63.
    return value if value < 2**62 else None


def _grew(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


def _gib(num_bytes: int | None) -> str:
    return f"{(num_bytes or 0) / 2**30:.1f} GiB"
