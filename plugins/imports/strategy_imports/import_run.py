"""Import a profile recorded elsewhere: read its files, write a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from strategy_imports.chrome_file import looks_like_chrome_trace, read_chrome_trace
from strategy_imports.found_files import FoundFiles, find_files, host_of
from strategy_imports.host_profile import read_host
from strategy_imports.host_spans import distinct_names
from strategy_imports.notes import what_is_known
from strategy_imports.recording import Recording
from strategy_imports.unpacked import is_packed, unpacked
from strategy_imports.write_run import write_run
from strategy_imports.xplane_file import read_xplane
from strategy_profiles.errors import LabError
from strategy_profiles.guards import open_file

REWRITTEN = (
    "The file was rewritten as text: its bytes that are no UTF-8 were replaced, and what they said "
    "is lost; copy the original again as binary (in git: `*.pb binary` in .gitattributes)"
)
PACKED_TWICE = "It was packed with gzip twice; unpack it once (`gunzip`)"
_UTF8_REPLACEMENT = b"\xef\xbf\xbd"
_FEW = 20
_HEAD_BYTES = 1 << 20


def import_run(path: Path, run: Path) -> None:
    """Write the profile at `path` as the run folder `run`.

    Raises LabError if there is no profile, or nothing of it can be read, and OSError if the folder
    cannot be written.
    """
    files = find_files(path)
    files, recordings = _readable(files, [_read(file) for file in files.files])
    files, recordings = _by_rank(files, recordings)
    of_files = [host_of(file) for file in files.files]
    names = distinct_names([recording.own_host for recording in recordings], of_files)
    for recording, name in zip(recordings, names, strict=True):
        recording.host = name
    is_alone = len(recordings) == 1
    hosts = [read_host(recording, is_alone=is_alone) for recording in recordings]
    write_run(run, path, files, hosts, what_is_known(files, hosts))


def _read(file: Path) -> Recording:
    """Read one file, whichever of the formats it has. A file that cannot be read has no events."""
    try:
        with unpacked(file) as content:
            if content.path != file and is_packed(content.path):
                recording = Recording(host_of(file), problems=[PACKED_TWICE])
            elif looks_like_chrome_trace(content.path):
                recording = read_chrome_trace(content.path, host_of(file))
            elif _is_rewritten_as_text(content.path):
                recording = Recording(host_of(file), problems=[REWRITTEN])
            else:
                recording = read_xplane(content.path, host_of(file))
    except OSError as error:
        return Recording(host_of(file), problems=[error.strerror or str(error)])
    if content.problem:
        recording.problems.append(content.problem)
    return recording


def _is_rewritten_as_text(path: Path) -> bool:
    """Return whether bytes that are no UTF-8 were replaced, as version control and editors do."""
    with open_file(path) as file:
        head = file.read(_HEAD_BYTES)
    if head.count(_UTF8_REPLACEMENT) < _FEW:
        return False
    try:
        head[: len(head) - 4].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 8  # a character that the piece cuts
    return True


def _readable(
    files: FoundFiles, recordings: Sequence[Recording]
) -> tuple[FoundFiles, list[Recording]]:
    """Return the files that have any event. Raises LabError if none has."""
    pairs = list(zip(files.files, recordings, strict=True))
    kept = [(file, recording) for file, recording in pairs if recording.num_events]
    lost = [
        f"Nothing in {file} can be read: {_why_nothing(recording)}"
        for file, recording in pairs
        if not recording.num_events
    ]
    if not kept:
        raise LabError(lost[0])
    kept[0][1].problems.extend(lost)
    readable = FoundFiles(tuple(file for file, _ in kept), files.others)
    return readable, [recording for _, recording in kept]


def _by_rank(
    files: FoundFiles, recordings: Sequence[Recording]
) -> tuple[FoundFiles, list[Recording]]:
    """Return the files in the order of their ranks, if each says its own."""
    ranks = [recording.rank for recording in recordings]
    if None in ranks:
        return files, list(recordings)
    order = sorted(range(len(ranks)), key=lambda at: ranks[at] or 0)
    in_order = replace(files, files=tuple(files.files[at] for at in order))
    return in_order, [recordings[at] for at in order]


def _why_nothing(recording: Recording) -> str:
    why = recording.problems[0] if recording.problems else "it has no event"
    return f"{why[0].lower()}{why[1:]}"
