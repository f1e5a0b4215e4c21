"""Write the hosts of a profile as the processes of a run folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from strategy_imports import tables
from strategy_imports.found_files import FoundFiles
from strategy_imports.host_profile import HostProfile
from strategy_imports.notes import ImportNotes
from strategy_imports.recording import HloOp
from strategy_imports.spans import OTHER
from strategy_profiles.capture.convert import write_tables
from strategy_profiles.errors import LabError
from strategy_profiles.exports.xplane import PLUGIN_FOLDER
from strategy_profiles.run import event_parts, events
from strategy_profiles.run.event_log import EventLog, line_of
from strategy_profiles.run.layout import WorkerFolder, worker_folder
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.spec.limits import LARGEST, MOST_REPLICAS
from strategy_profiles.tables.columns import first_of_each


def ran_ops(host: HostProfile, worker: int, first_replica: int, devices: Sequence[str]) -> pa.Table:
    """Return each op once per device and replica that ran it. Variables are not in a profile."""
    spans = host.spans
    at = np.flatnonzero((spans.category != OTHER) & ((spans.device >= 0) | (spans.replica >= 0)))
    device, replica = spans.device[at] + 1, spans.replica[at] + 1
    key = (device.astype(np.int64) * (int(replica.max(initial=0)) + 1) + replica) * (
        len(host.texts.all) + 1
    ) + spans.name[at]
    rows = spans.take(at[first_of_each(key)])
    where = tables.device_of_rows(host, rows)
    ops = [host.hlo[number] if number >= 0 else HloOp() for number in rows.hlo.tolist()]
    columns = {
        "kind": pa.array(["op"] * len(rows), pa.string()),
        "name": tables.texts(rows.name, host.texts.all),
        "op": tables.texts(rows.op, host.texts.all),
        "device": tables.texts(where, tables.devices_with_replicas(host, devices)),
        "replica": tables.replica_numbers(rows, first_replica),
        "bytes": pa.array([op.bytes if op.bytes >= 0 else None for op in ops], pa.int64()),
        "source_line": pa.array([op.source_line or None for op in ops], pa.string()),
    }
    return tables.table("placement", columns, worker)


def write_run(
    run: Path, source: Path, files: FoundFiles, hosts: Sequence[HostProfile], known: ImportNotes
) -> None:
    """Write the run folder. Raises OSError and LabError."""
    named = [_device_names(host, hosts) for host in hosts]
    replicas = [
        name
        for host, (devices, host_name) in zip(hosts, named, strict=True)
        for name in tables.replica_devices(host, [*devices, host_name])
    ]
    if len(replicas) > MOST_REPLICAS:
        raise LabError(f"The profile has {len(replicas):,} replicas, more than {MOST_REPLICAS:,}")
    identity = create_run_file(run, recorded_by="import")
    first_replica = 0
    for worker, host in enumerate(hosts):
        folder = worker_folder(run, worker)
        log = EventLog(folder.events)
        start_ns = _start_ns(host)
        log.write(events.WorkerStarted(worker, 0, start_ns, start_ns, identity.uid))
        log.write(_environment(host, named[worker][0]))
        if not worker:
            _write_origin(log, source, files, hosts, known)
        elif hosts[0].recording.host != host.recording.host:
            log.write(_clock(start_ns))
        log.write(_segment(hosts, replicas, start_ns))
        _write_placement(folder, log, host, worker, first_replica, named[worker], known)
        _write_window(folder, log, host, worker, first_replica, named[worker])
        _write_steps(log, host)
        log.write(events.Finished("finished", len(host.steps)))
        log.close()
        _keep_raw(folder, files, worker)
        first_replica += len(host.replicas.devices)


def _device_names(host: HostProfile, hosts: Sequence[HostProfile]) -> tuple[list[str], str]:
    """Return the names of the devices and of the host; of several hosts, with theirs in front."""
    prefix = host.recording.host if len(hosts) > 1 else ""
    return [f"{prefix}{device.name}" for device in host.devices], f"{prefix}/host:CPU"


def _start_ns(host: HostProfile) -> int:
    known = host.recording.start_ns
    first = int(host.spans.start_ns.min()) if len(host.spans) else known
    return min(max(known or first, 0), LARGEST)


def _environment(host: HostProfile, names: Sequence[str]) -> events.Environment:
    devices = [
        event_parts.Device(name, device.kind, name, logical=False)
        for name, device in zip(names, host.devices, strict=True)
    ]
    return events.Environment("", "", devices, event_parts.Host(host.recording.host or None))


def _write_origin(
    log: EventLog, source: Path, files: FoundFiles, hosts: Sequence[HostProfile], known: ImportNotes
) -> None:
    origin = [
        event_parts.ImportedFile(
            file.name, file.stat().st_size, host.recording.host, host.recording.num_events
        )
        for file, host in zip(files.files, hosts, strict=True)
    ]
    ranks = max((host.recording.num_ranks or 0 for host in hosts), default=0) or None
    framework = "PyTorch" if any(host.recording.categories for host in hosts) else None
    log.write(events.Imported(str(source.absolute()), origin, known.unknown, ranks, framework))
    by = f", recorded by {framework}'s profiler" if framework else ""
    told_by = f"Imported from {source}{by}. A profile does not name its program"
    log.write(events.Note("info", told_by))
    for note in known.notes:
        log.write(events.Note("info", note))
    for warning in known.warnings:
        log.write(events.Note("warning", warning))


def _clock(at_ns: int) -> events.ClockMeasured:
    return events.ClockMeasured(
        reference=0,
        measured_ns=at_ns,
        offset_ns=None,
        uncertainty_ns=None,
        round_trip_ns=None,
        num_exchanges=0,
        source="profile",
        reason="the profile does not say how far the hosts' clocks are apart",
    )


def _segment(
    hosts: Sequence[HostProfile], replicas: Sequence[str], start_ns: int
) -> events.SegmentOpened:
    number = hosts[0].steps.number
    return events.SegmentOpened(
        segment=0,
        strategy=events.IMPORTED,
        num_replicas=max(len(replicas), 1),
        num_workers=len(hosts),
        global_batch_size=None,
        first_step=int(number[0]) if len(number) else 0,
        started_ns=start_ns,
        replica_devices=list(replicas),
        cross_device_ops="",
        spec={},
    )


def _write_window(
    folder: WorkerFolder,
    log: EventLog,
    host: HostProfile,
    worker: int,
    first_replica: int,
    names: tuple[list[str], str],
) -> None:
    made = tables.window_tables(host, worker, first_replica, *names)
    written = write_tables(made, folder.window(0))
    number = host.steps.number
    log.write(
        events.WindowCaptured(
            window=0,
            segment=0,
            first_step=int(number[0]) if len(number) else 0,
            num_steps=len(host.steps),
            folder=folder.window(0).name,
            num_events=host.recording.num_events,
            num_spans=len(host.spans),
            start_ms=0.0,
            stop_ms=0.0,
            convert_ms=0.0,
            tables={
                name: event_parts.TableFile(file["num_rows"], file["crc32"])
                for name, file in written.items()
            },
        )
    )


def _write_placement(
    folder: WorkerFolder,
    log: EventLog,
    host: HostProfile,
    worker: int,
    first_replica: int,
    names: tuple[list[str], str],
    known: ImportNotes,
) -> None:
    rows = ran_ops(host, worker, first_replica, [*names[0], names[1]])
    path = folder.placement(0)
    if not rows.num_rows:
        reason = known.unknown.get("devices", "no op ran on a device of this host")
        log.write(events.PlacementRecorded(0, None, 0, reason))
        return
    pq.write_table(rows, path, compression="lz4", write_page_checksum=True)
    crc32 = zlib.crc32(path.read_bytes())
    log.write(events.PlacementRecorded(0, path.name, rows.num_rows, crc32=crc32))


def _write_steps(log: EventLog, host: HostProfile) -> None:
    steps, windows = host.steps, host.steps.host
    lines = [
        events.StepDone(
            segment=0,
            step=number,
            start_ns=start_ns,
            wall_ms=(end_ns - start_ns) / 1e6,
            loss=None,
            examples=None,
            captured=True,
            input_ms=input_ns / 1e6 if host.has_input else None,
        )
        for number, start_ns, end_ns, input_ns in zip(
            steps.number.tolist(),
            windows.start_ns.tolist(),
            windows.end_ns.tolist(),
            host.input_ns.tolist(),
            strict=True,
        )
    ]
    at_ns = log.now_ns()
    log.append([line_of(line, at_ns, log.next_line()) for line in lines])


def _keep_raw(folder: WorkerFolder, files: FoundFiles, worker: int) -> None:
    """Keep the XPlane file with the run, so that other tools still open it."""
    file = files.files[worker]
    if not file.name.endswith(".xplane.pb"):
        return
    home = folder.xplane / PLUGIN_FOLDER / "imported"
    home.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, home / file.name)
    except OSError:  # on another disk, or not ours
        with contextlib.suppress(OSError):
            shutil.copyfile(file, home / file.name)
