"""`run.json`: the identity and the spec of a run, written atomically when the run is created.

The file has a checksum of its values, because a digit that changes on the disk, in the global batch
for example, would give valid JSON with another number. The checksum does not depend on the order of
keys or on spaces. Earlier versions wrote none; their files are read as they are.
"""

from __future__ import annotations

import shlex
import time
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from strategy_profiles.decoders import converted, decoder_of
from strategy_profiles.errors import RunFolderError
from strategy_profiles.guards import read_file
from strategy_profiles.run.layout import RUN_FILE
from strategy_profiles.spec.field_types import Json, Name, Small, TimeNs
from strategy_profiles.spec.limits import (
    LARGEST_RUN_FILE_BYTES,
    LONGEST_NAME,
    MOST_TAGS,
    MOST_WORKERS,
)
from strategy_profiles.spec.stored_spec import check_spec
from strategy_profiles.user_input.text import as_utf8
from strategy_profiles.whole_files import create_file, replace_file

RUN_VERSION = 1
_CHECKSUM = "values_crc32"
_DIGITS = 32
ENGINE = "engine"
"""`recorded_by` of a run that a launcher of the lab started."""
WAITS = "wait"
"""`recorded_by` of a program that waits for `strategy-lab attach`."""


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


class Program(Struct, frozen=True):
    """The program of a run that recorded somebody's own. Runs of equal programs are compared."""

    script: Name
    """Path of the script; of `-m`, the folder and the module."""
    arguments: Name = ""
    """Digest of its arguments, which may hold passwords and are not kept; empty without any."""
    command: Name = ""
    """How to record it again, without its arguments."""

    def is_same(self, other: Program | None) -> bool:
        """Whether another run is of this program, with the same arguments."""
        return other is not None and (self.script, self.arguments) == (
            other.script,
            other.arguments,
        )


def program_of(script: str, arguments: Sequence[str], command: Sequence[str]) -> Program:
    """Return what is kept of a program: `command` is how it was started, without arguments."""
    import hashlib  # to record; programs that read a run do without

    command_line = "\0".join((script, *arguments)).encode(errors="surrogateescape")
    digest = hashlib.sha256(command_line).hexdigest()[:_DIGITS] if arguments else ""
    return Program(_shortened_name(script), digest, _shortened_name(shlex.join(command)))


def _shortened_name(text: str) -> str:
    return as_utf8(text)[:LONGEST_NAME]


class RunIdentity(Struct, frozen=True):
    """The identity of a run."""

    name: Name
    """Name of the folder when it was made."""
    created_ns: TimeNs
    """Wall clock when the folder was made, ns since 1970."""
    spec: Json | None = None
    """The RunSpec as it was asked; null if none was behind the run (`lab.record`, imports)."""
    recorded_by: Name = ENGINE
    """`engine`, `record` (somebody's own program), `wait` (one that waits for `attach`) or
    `import`."""
    cluster: ClusterIdentity | None = None
    """Null if one launcher started all processes."""
    uid: Name = ""
    """Random, kept when the run is renamed; empty in a `run.json` of an earlier version."""
    parts: Annotated[list[Name], Meta(max_length=MOST_WORKERS)] = []
    """The same of the folders that a run of several hosts was collected from."""
    tags: Annotated[list[Name], Meta(max_length=MOST_TAGS)] = []
    """Words that the user has put on the run, in alphabetical order."""
    program: Program | None = None
    """Null if it is not somebody's own, or code without a file."""
    schema_version: Small = RUN_VERSION
    """Version of this format."""

    def __post_init__(self) -> None:
        if self.spec is not None:
            check_spec(self.spec)


def create_run_file(
    run: Path,
    spec: dict[str, Any] | None = None,
    *,
    recorded_by: str = ENGINE,
    created_ns: int | None = None,
    cluster: dict[str, Any] | None = None,
    name: str | None = None,
    parts: Sequence[str] = (),
    program: Program | None = None,
) -> RunIdentity:
    """Create the run folder and its `run.json`.

    Raises RunFolderError if the folder has a `run.json` already, or cannot be written.
    """
    identity = RunIdentity(
        name=as_utf8(name or run.resolve().name),
        created_ns=time.time_ns() if created_ns is None else created_ns,
        spec=spec,
        recorded_by=recorded_by,
        cluster=None if cluster is None else converted(cluster, ClusterIdentity),
        uid=uuid.uuid4().hex,
        parts=list(parts),
        program=program,
    )
    if not create_file(run / RUN_FILE, _text_of(msgspec.to_builtins(identity))):
        raise _holds_another(run)
    return identity


def check_is_free(folder: Path) -> None:
    """Raise RunFolderError if the folder holds a run."""
    if (folder / RUN_FILE).exists():
        raise _holds_another(folder)


def _holds_another(run: Path) -> RunFolderError:
    return RunFolderError(f"{run} holds another run already", advice="Name another folder")


def change_run_file(run: Path, changes: dict[str, Any]) -> None:
    """Write new values of some fields to `run.json`. Raises RunFolderError if that fails.

    Does nothing if `run.json` is missing or damaged. The file is replaced as a whole, so a reader
    sees either the old values or the new ones.
    """
    if read_run_file(run) is None:
        return
    file = run / RUN_FILE
    try:
        # Unknown fields included.
        document = _VALUES.decode(read_file(file, LARGEST_RUN_FILE_BYTES))
    except OSError as error:
        raise RunFolderError(f"{file} cannot be read: {error.strerror}") from error
    replace_file(file, _text_of(document | changes))


def read_run_file(run: Path) -> RunIdentity | None:
    """Return the identity in `run.json`, or None if the file does not exist or is damaged."""
    try:
        return _read(run)
    except ValueError:
        return None


def uid_of(run: Path) -> str:
    """Return the `uid` in `run.json`, or an empty text if it has none."""
    identity = read_run_file(run)
    return identity.uid if identity else ""


def why_damaged(run: Path) -> str | None:
    """Return what is wrong with `run.json`, or None if it is valid or does not exist."""
    try:
        _read(run)
    except ValueError as error:
        return str(error)
    return None


def _read(run: Path) -> RunIdentity | None:
    """Read `run.json`. Returns None without one; raises ValueError with the reason if damaged."""
    file = run / RUN_FILE
    try:
        content = read_file(file, LARGEST_RUN_FILE_BYTES)
        identity = _IDENTITY.decode(content)
        document = _VALUES.decode(content)
        if document.pop(_CHECKSUM, None) not in (None, _checksum(document)):
            raise ValueError("a value was changed after it was written: the checksum differs")
        return identity
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ValueError(error.strerror or "it cannot be read") from error


def _text_of(document: Json) -> bytes:
    values = {key: value for key, value in document.items() if key != _CHECKSUM}
    checked = values | {_CHECKSUM: _checksum(values)}
    return msgspec.json.format(msgspec.json.encode(checked), indent=1) + b"\n"


def _checksum(values: Json) -> str:
    # As they will be read: decoding makes floats of integers beyond 64 bits.
    as_read = msgspec.json.decode(msgspec.json.encode(values))
    return f"{zlib.crc32(msgspec.json.encode(as_read, order='sorted')):08x}"


_IDENTITY = decoder_of(RunIdentity)
_VALUES = decoder_of(Json)
