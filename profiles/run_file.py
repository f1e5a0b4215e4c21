"""`run.json`: the identity of a run and what was asked of it. Written whole, once (and renamed)."""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.layout import RUN_FILE

RUN_VERSION = 1


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """Who this run is. `spec` is None where no RunSpec was behind it (`lab.record`, imports)."""

    name: str
    created_ns: int
    spec: dict[str, Any] | None = None
    recorded_by: str = "engine"
    """`engine`, `record` (somebody's own program) or `import`."""
    cluster: dict[str, Any] | None = None
    """Of a run whose processes were each started where they are: `{"run_id", "tasks"}`."""
    uid: str = ""
    """Random, kept when the run is renamed; empty in a `run.json` of an earlier version."""
    schema_version: int = RUN_VERSION


def create_run_file(
    run: Path,
    spec: dict[str, Any] | None = None,
    *,
    recorded_by: str = "engine",
    created_ns: int | None = None,
    cluster: dict[str, Any] | None = None,
    name: str | None = None,
) -> RunIdentity:
    """Make the run folder and its `run.json`; raises RunFolderError where one is there already."""
    identity = RunIdentity(
        name=name or run.resolve().name,
        created_ns=time.time_ns() if created_ns is None else created_ns,
        spec=spec,
        recorded_by=recorded_by,
        cluster=cluster,
        uid=uuid.uuid4().hex,
    )
    draft = run / f".{RUN_FILE}.{uuid.uuid4().hex}"  # hosts that share a disk share no pids
    try:
        run.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(asdict(identity), indent=1) + "\n", encoding="utf-8")
        os.link(draft, run / RUN_FILE)  # unlike rename, refuses to replace another run
    except FileExistsError:
        raise RunFolderError(
            "A run folder holds one run", f"{run} (has a run already)", "Name another folder"
        ) from None
    except OSError as error:
        raise RunFolderError("A run folder can be written", f"{run} ({error.strerror})") from error
    finally:
        draft.unlink(missing_ok=True)
    return identity


def rename_in_run_file(run: Path) -> None:
    """Have `run.json` tell the name that its folder has now; raises OSError.

    Without one, or with a damaged one, there is nothing to tell.
    """
    identity = read_run_file(run)
    if identity is None:
        return
    draft = run / f".{RUN_FILE}.{os.getpid()}"
    renamed = asdict(identity) | {"name": run.resolve().name}
    draft.write_text(json.dumps(renamed, indent=1) + "\n", encoding="utf-8")
    draft.replace(run / RUN_FILE)


def read_run_file(run: Path) -> RunIdentity | None:
    """The identity in `run.json`; None where there is none yet, or only half of one."""
    try:
        file = run / RUN_FILE
        return _identity(run, json.loads(file.read_text("utf-8"))) if file.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None


def _identity(run: Path, document: Any) -> RunIdentity:
    if not isinstance(document, dict):
        raise ValueError("run.json holds one mapping")
    spec = document.get("spec")
    created_ns = document.get("created_ns")
    cluster = document.get("cluster")
    version = document.get("schema_version")
    return RunIdentity(
        name=str(document.get("name") or run.resolve().name),
        created_ns=created_ns if isinstance(created_ns, int) else 0,
        spec=spec if isinstance(spec, dict) else None,
        recorded_by=str(document.get("recorded_by", "engine")),
        cluster=cluster if isinstance(cluster, dict) else None,
        uid=str(document.get("uid") or ""),
        schema_version=version if type(version) is int else RUN_VERSION,
    )
