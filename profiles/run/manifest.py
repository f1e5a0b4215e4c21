"""`run.json`: the identity of a run and what was asked of it. Written whole, once (and renamed)."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.run.layout import RUN_FILE
from strategy_lab.profiles.spec.field_types import Json, Name, Small, TimeNs
from strategy_lab.profiles.spec.limits import LARGEST_RUN_FILE_BYTES, MOST_WORKERS
from strategy_lab.profiles.spec.stored_spec import check_spec

RUN_VERSION = 1


class ClusterTask(Struct, frozen=True):
    """One process of a cluster."""

    role: Name
    """`chief`, `worker` or `ps`, as in `TF_CONFIG`; `host` of a pod."""
    index: Small
    """Number within its role."""
    address: Name
    """`host:port`."""
    profiler: Name = ""
    """`host:port` of its profiler server; empty if it has none."""


class ClusterIdentity(Struct, frozen=True):
    """The cluster of a run whose processes were each started on their own host."""

    run_id: Name
    """The same on all hosts of the run."""
    tasks: Annotated[list[ClusterTask], Meta(max_length=MOST_WORKERS)]
    """By process number."""


class RunIdentity(Struct, frozen=True):
    """Who this run is."""

    name: Name
    """That of its folder."""
    created_ns: TimeNs
    """When the folder was made."""
    spec: Json | None = None
    """The RunSpec as it was asked; null if none was behind the run (`lab.record`, imports)."""
    recorded_by: Name = "engine"
    """`engine`, `record` (somebody's own program) or `import`."""
    cluster: ClusterIdentity | None = None
    """Null if one launcher started all processes."""
    uid: Name = ""
    """Random, kept when the run is renamed; empty in a `run.json` of an earlier version."""
    parts: Annotated[list[Name], Meta(max_length=MOST_WORKERS)] = []
    """The same of the folders that a run of several hosts was collected from."""
    schema_version: Small = RUN_VERSION
    """Version of this format."""

    def __post_init__(self) -> None:
        if self.spec is not None:
            check_spec(self.spec)


def create_run_file(
    run: Path,
    spec: dict[str, Any] | None = None,
    *,
    recorded_by: str = "engine",
    created_ns: int | None = None,
    cluster: dict[str, Any] | None = None,
    name: str | None = None,
    parts: Sequence[str] = (),
) -> RunIdentity:
    """Make the run folder and its `run.json`; raises RunFolderError where one is there already."""
    identity = RunIdentity(
        name=name or run.resolve().name,
        created_ns=time.time_ns() if created_ns is None else created_ns,
        spec=spec,
        recorded_by=recorded_by,
        cluster=None if cluster is None else msgspec.convert(cluster, ClusterIdentity),
        uid=uuid.uuid4().hex,
        parts=list(parts),
    )
    draft = run / f".{RUN_FILE}.{uuid.uuid4().hex}"  # hosts that share a disk share no pids
    try:
        run.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(_text_of(msgspec.to_builtins(identity)))
        os.link(draft, run / RUN_FILE)  # unlike rename, refuses to replace another run
    except FileExistsError:
        raise RunFolderError(
            f"{run} holds another run already", advice="Name another folder"
        ) from None
    except OSError as error:
        raise RunFolderError(f"The run folder {run} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return identity


def rename_in_run_file(run: Path) -> None:
    """Have `run.json` tell the name that its folder has now; raises OSError.

    Without one, or with a damaged one, there is nothing to tell.
    """
    if read_run_file(run) is None:
        return
    draft = run / f".{RUN_FILE}.{os.getpid()}"
    document: Json = msgspec.json.decode((run / RUN_FILE).read_bytes())  # unknown fields included
    draft.write_bytes(_text_of(document | {"name": run.resolve().name}))
    draft.replace(run / RUN_FILE)


def read_run_file(run: Path) -> RunIdentity | None:
    """The identity in `run.json`; None if the file does not exist yet, or is damaged."""
    try:
        return _read(run)
    except ValueError:
        return None


def uid_of(run: Path) -> str:
    """The `uid` in `run.json`; empty if it names none."""
    identity = read_run_file(run)
    return identity.uid if identity else ""


def why_damaged(run: Path) -> str | None:
    """What is wrong with `run.json`; None if it can be read, or is not there."""
    try:
        _read(run)
    except ValueError as error:
        return str(error)
    return None


def _read(run: Path) -> RunIdentity | None:
    """None without a `run.json`; raises ValueError with the reason if it is damaged."""
    file = run / RUN_FILE
    try:
        if not file.is_file():  # a pipe under this name would be waited for without end
            return None
        size = file.stat().st_size
        if size > LARGEST_RUN_FILE_BYTES:
            raise ValueError(f"it has {size} bytes, more than {LARGEST_RUN_FILE_BYTES}")
        return _IDENTITY.decode(file.read_bytes())
    except OSError as error:
        raise ValueError(error.strerror or "it cannot be read") from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _text_of(document: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


_IDENTITY = msgspec.json.Decoder(RunIdentity)
