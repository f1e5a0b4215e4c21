"""CPUs and memory that this process may use: those of the machine, or of its control group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from strategy_core.processes.oom import read_memory
from strategy_doctor.check import Check, missing, present

_LEAST_BYTES = 2 << 30
"""TensorFlow takes 0.5 GB in each process; a page, a worker and a helper run side by side."""
_GIB = 1 << 30


def limit_checks(root: Path = Path("/")) -> Iterator[Check]:
    """CPUs and memory; `root` is the folder that contains `proc` and `sys`, for tests."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = cpu_limit(root)
    text = f"{usable} usable" + (f", limited to {limit:g} by a control group" if limit else "")
    if limit is not None and limit < 1:
        costs = "steps take longer, and timings vary: less than one CPU"
        yield missing("cpus", "CPUs", text, costs, "Raise the CPU limit of the container")
    else:
        yield present("cpus", "CPUs", text)
    yield _memory(psutil.virtual_memory().total, read_memory(root).limit_bytes)


def cpu_limit(root: Path) -> float | None:
    """CPUs that the control group allows (v2 `cpu.max`, v1 quota and period); None: no limit."""
    group = root / "sys/fs/cgroup"
    try:
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            # Inside a container the group's own path is often mounted as the root.
            for folder in (group / path.lstrip("/"), group):
                if not controllers and (folder / "cpu.max").exists():
                    return _share(*(folder / "cpu.max").read_text().split()[:2])
            for folder in (group / "cpu" / path.lstrip("/"), group / "cpu"):
                quota = folder / "cpu.cfs_quota_us"
                if "cpu" in controllers.split(",") and quota.exists():
                    period = (folder / "cpu.cfs_period_us").read_text()
                    return _share(quota.read_text(), period)
    except (OSError, ValueError, TypeError):
        pass
    return None


def _share(quota: str, period: str) -> float | None:
    """`max` and a negative quota mean no limit."""
    if quota.strip() == "max" or int(quota) < 0:
        return None
    return int(quota) / int(period)


def _memory(total: int, limit: int | None) -> Check:
    usable = min(total, limit or total)
    text = f"{total / _GIB:.1f} GiB"
    if limit is not None and limit < total:
        text += f", limited to {limit / _GIB:.1f} GiB by a control group"
    if usable < _LEAST_BYTES:
        costs = "runs may be killed: each process of TensorFlow takes 0.5 GB before it trains"
        return missing("memory", "Memory", text, costs, "Allow at least 2 GiB")
    return present("memory", "Memory", text)
