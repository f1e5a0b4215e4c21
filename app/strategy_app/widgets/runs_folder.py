"""The runs folder as a list, newest first: cheap enough to look at on every rerun."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_app.widgets.text import plain, run_name, workload_name
from strategy_core.planning import strategy_catalog
from strategy_profiles.run.layout import LAUNCHER_EVENTS, RUN_FILE, worker_folders
from strategy_profiles.run.manifest import Program, read_run_file, why_damaged


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A folder that holds a run, or what is left of one."""

    name: str
    path: Path
    created_ns: int
    spec: dict[str, Any] | None
    """None if `run.json` is missing or damaged, or if the run was not started from a RunSpec."""
    is_damaged: bool = False
    """Whether there is a `run.json` that cannot be read."""
    tags: tuple[str, ...] = ()
    program: Program | None = None
    """Somebody's own, if it is known."""

    @property
    def workload(self) -> str | None:
        """What it trains: a built-in workload, or the name of a workload's or a program's file."""
        of_program = self.program.script if self.program else None
        workload = (self.spec or {}).get("workload") or of_program
        return workload_name(workload) if workload else None

    @property
    def title(self) -> str:
        """The name with the requested configuration: `tuesday · mirrored, cpu:4, digits-cnn`."""
        if not self.spec:
            return self.name
        fields = [self.spec.get(key) for key in ("strategy", "devices", "workload")]
        if fields[1] == "auto":
            fields[1] = None  # says nothing of which there were
        workers = self.spec.get("workers")
        if workers is not None and workers > 1:
            row = strategy_catalog.find(fields[0])
            fields.insert(1, f"{workers} {'hosts' if row and row.has_cores else 'workers'}")
        fields[-1] = plain(workload_name(fields[-1] or ""), 32)
        words = ", ".join(str(word) for word in fields if word)
        name = run_name(self.name, 56)
        return f"{name} · {words}" if words else name


def list_runs(root: Path) -> list[RunEntry]:
    """The runs in a folder, newest first; a folder that is not there holds none.

    Those of `runs_without_text_name` are not among them.
    """
    entries = [_entry(path) for path in _folders(root) if _is_text(path.name) and holds_run(path)]
    return sorted(entries, key=lambda entry: (-entry.created_ns, entry.name))


def runs_without_text_name(root: Path) -> list[Path]:
    """The runs that no address and no document can name: their names are not text in UTF-8."""
    return sorted(path for path in _folders(root) if not _is_text(path.name) and holds_run(path))


def other_folders(root: Path) -> list[Path]:
    """Folders among the runs that hold nothing of a run."""
    return sorted(path for path in _folders(root) if not holds_run(path))


def _folders(root: Path) -> list[Path]:
    try:
        return [path for path in root.iterdir() if path.is_dir() and path.name[:1] != "."]
    except OSError:
        return []


def _is_text(name: str) -> bool:
    """Whether a name of the file system is UTF-8; Python marks other bytes as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def holds_run(path: Path) -> bool:
    """Return whether a folder holds files of a run, complete or not."""
    try:
        if (path / RUN_FILE).exists() or (path / LAUNCHER_EVENTS).exists():
            return True
        return any(worker_folders(path))
    except OSError:
        return False


def _entry(path: Path) -> RunEntry:
    identity = read_run_file(path)
    created_ns = identity.created_ns if identity else 0
    if created_ns <= 0:
        try:
            created_ns = path.stat().st_mtime_ns
        except OSError:
            created_ns = 0
    is_damaged = identity is None and why_damaged(path) is not None
    return RunEntry(
        path.name,
        path,
        created_ns,
        identity.spec if identity else None,
        is_damaged,
        tuple(identity.tags) if identity else (),
        identity.program if identity else None,
    )
