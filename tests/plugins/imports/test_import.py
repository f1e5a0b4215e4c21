"""A profile recorded elsewhere becomes a run that says what it knows and what it does not."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from strategy_imports.host_profile import read_host
from strategy_imports.spans import Spans
from strategy_imports.xplane_file import read_xplane
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.capture import xspace as xspace_reader
from strategy_profiles.capture.convert import WindowOf, to_tables
from strategy_profiles.capture.joined import join
from strategy_profiles.errors import LabError
from strategy_profiles.exports import formats, write
from strategy_profiles.importers import import_profile
from strategy_profiles.run.events import Environment, Note
from strategy_profiles.tables.store import Profile
from tests.made_xplane import MadeLine, MadePlane, started, xspace
from tests.plugins.imports.made import (
    MS,
    START_NS,
    gpu_profile,
    host_profile,
    old_gpu_profile,
    opened,
    tpu_profile,
)
from tests.profiles.capture.xspace_builder import message
from tests.synthetic.gpus import Cards

ODD = "\N{REPLACEMENT CHARACTER}"


def rows(profile: Profile, table: str, *columns: str) -> list[tuple[object, ...]]:
    table_rows = profile.table(table).to_pylist()
    return [tuple(row[column] for column in columns) for row in table_rows]


def source_of_step_time(profile: Profile) -> str | None:
    step_time = key_numbers(gather_facts(profile, profile.segments[0]))[0]
    assert step_time.key == "loop_time"
    return step_time.source


def test_gpus_are_replicas_whose_steps_add_up(tmp_path: Path) -> None:
    profile = opened(tmp_path, gpu_profile())
    assert not profile.notes
    assert profile.identity is not None
    assert profile.identity.recorded_by == "import"
    assert profile.status.state == "finished"
    assert rows(profile, "steps", "step", "wall_ms", "traced") == [
        (number, 9.0, False) for number in (5, 6, 7, 8)
    ]
    table_rows = profile.table("replica_steps").to_pylist()
    first = [row for row in table_rows if row["step"] == 6]
    assert [(row["replica"], row["device"]) for row in first] == [
        (0, "/device:GPU:0"),
        (1, "/device:GPU:1"),
    ]
    # A device's step lasts until the first kernel of its next one.
    phases = ("wall_ms", "compute_ms", "wait_ms", "transfer_ms", "input_ms", "idle_ms")
    assert [tuple(row[name] for name in phases) for row in first] == [
        (10.0, 4.0, 1.0, 3.0, 0.0, 2.0),
        (10.0, 5.0, 0.0, 3.0, 0.0, 2.0),
    ]
    assert {row["clock"] for row in table_rows} == {"device"}


def test_nccl_kernels_are_collectives_without_bytes(tmp_path: Path) -> None:
    profile = opened(tmp_path, gpu_profile())
    rows = profile.table("collectives").to_pylist()
    assert len(rows) == 8
    assert {(row["op"], row["group_size"], row["bytes"]) for row in rows} == {
        ("all-reduce", 2, None)
    }
    assert [row["wait_ms"] for row in rows[:2]] == [1.0, 0.0]
    number = next(
        item for item in profile.summary()["segments"][0]["key_numbers"] if item["key"] == "traffic"
    )
    assert number["note"] == "the profile does not tell the size of at least one collective"


def test_the_length_of_annotated_steps_is_measured(tmp_path: Path) -> None:
    assert source_of_step_time(opened(tmp_path, gpu_profile())) == "measured"


def test_copies_have_ends_and_sizes(tmp_path: Path) -> None:
    profile = opened(tmp_path, gpu_profile(num_gpus=1))
    found_rows = rows(profile, "transfers", "bytes", "send_device", "recv_device", "duration_ms")
    assert found_rows == [(1_000_000, "/host:CPU", "/device:GPU:0", 1.0)] * 4


def test_steps_of_an_unannotated_tpu_are_its_programs_executions(tmp_path: Path) -> None:
    profile = opened(tmp_path, tpu_profile())
    walls = [row["wall_ms"] for row in profile.table("steps").to_pylist()]
    assert walls == pytest.approx([20.0, 20.0, 20.0, 18.0], rel=1e-6)
    assert rows(profile, "steps", "start_ns")[0] == (START_NS,)
    assert {row[0] for row in rows(profile, "replica_steps", "source")} == {"derived"}
    notes = [note["message"] for note in profile.summary()["notes"]]
    assert any("Steps are derived" in note and "jit_step" in note for note in notes)
    assert source_of_step_time(profile) == "derived"
    collectives = profile.table("collectives").to_pylist()
    assert {(row["op"], row["bytes"], row["group_size"]) for row in collectives} == {
        ("all-reduce", 4000, 2)
    }
    assert {row["name"] for row in collectives} == {"jit(step)/psum"}
    algbw = [row["algbw_gbps"] for row in collectives]
    assert algbw == pytest.approx([4000 / 6e-3 / 1e9] * 8, rel=1e-3)


@pytest.mark.parametrize("line", ["TensorFlow Ops", "Framework Ops"])
def test_old_and_new_names_of_a_line_of_ops(tmp_path: Path, line: str) -> None:
    profile = opened(tmp_path, tpu_profile(line=line))
    assert profile.table("spans").num_rows == 16


def test_replicas_of_one_device_are_distinguished_by_op_names(tmp_path: Path) -> None:
    data = host_profile(["dense/MatMul:MatMul", "replica_1/dense/MatMul:MatMul", "save:Save"])
    profile = opened(tmp_path, data)
    assert rows(profile, "replica_steps", "step", "replica", "compute_ms") == [
        (step, replica, 1.0) for replica in (0, 1) for step in (0, 1, 2)
    ]
    assert profile.segments[0].replica_devices == [
        "/host:CPU (replica 0)",
        "/host:CPU (replica 1)",
    ]
    of_save = [row for row in profile.table("spans").to_pylist() if row["op"] == "Save"]
    assert {row["replica"] for row in of_save} == {None}


def test_an_old_profile_of_some_replicas_names_the_ops_and_their_numbers(tmp_path: Path) -> None:
    profile = opened(tmp_path, old_gpu_profile())
    assert profile.segments[0].replica_devices == ["/device:GPU:4", "/device:GPU:6"]
    name = "replica_4/bert/dropout/random_uniform"
    assert rows(profile, "spans", "replica", "name")[:2] == [(None, "MemcpyH2D"), (0, name)]
    notes = " ".join(note["message"] for note in profile.summary()["notes"])
    assert "2 replicas, by the devices that ran an op" in notes
    assert "1 device has copies only, and no replica" in notes
    assert "the program numbers them 4 and 6" in notes


def test_the_size_of_a_copy_in_the_event_itself_is_read(tmp_path: Path) -> None:
    profile = opened(tmp_path, old_gpu_profile(40, "size:112 dest:4 async:0"))
    sizes = rows(profile, "transfers", "recv_device", "bytes")
    assert sizes == [(f"/device:GPU:{gpu}", 112) for gpu in (4, 6) for _ in range(40)]


def test_a_device_is_idle_while_others_run_the_same_step(tmp_path: Path) -> None:
    profile = opened(tmp_path, old_gpu_profile())
    assert rows(profile, "steps", "step", "wall_ms") == [(0, 56.0), (1, 56.0)]
    assert rows(profile, "replica_steps", "replica", "wall_ms", "compute_ms", "idle_ms")[::2] == [
        (0, 56.0, 4.0, 51.0),
        (1, 56.0, 5.0, 50.0),
    ]


def test_names_of_some_replicas_on_one_device_make_no_others(tmp_path: Path) -> None:
    data = host_profile(["replica_2/dense/MatMul:MatMul", "replica_5/dense/MatMul:MatMul"])
    profile = opened(tmp_path, data)
    assert [row[0] for row in rows(profile, "replica_steps", "replica")] == [0, 0, 0, 1, 1, 1]
    notes = " ".join(note["message"] for note in profile.summary()["notes"])
    assert "the program numbers them 2 and 5" in notes


def test_without_steps_there_is_one_window_and_the_reason(tmp_path: Path) -> None:
    kernels = [("gemm", i * MS, MS // 2, {}) for i in range(2)]
    plane = MadePlane("/device:GPU:0", [MadeLine("Stream #7", kernels)])
    profile = opened(tmp_path, xspace([plane, started(START_NS)]))
    assert profile.table("spans").num_rows == 2
    segment = profile.summary()["segments"][0]
    assert segment["steps"]["count"] == 0
    assert "no annotations of steps" in segment["steps"]["wall_ms"]["median_reason"]
    assert "no annotations of steps" in segment["replicas"][0]["compute_ms_reason"]
    assert "no annotations of steps" in segment["headline"]


def test_hosts_of_a_session_are_workers(tmp_path: Path) -> None:
    old = tmp_path / "logs" / "plugins" / "profile" / "2026_01_01_00_00_00"
    new = tmp_path / "logs" / "plugins" / "profile" / "2026_02_01_00_00_00"
    for session in (old, new):
        session.mkdir(parents=True)
        for host in ("a", "b"):
            (session / f"{host}.xplane.pb").write_bytes(gpu_profile())
    profile = strategy_profiles.load(import_profile(tmp_path / "logs", tmp_path / "run"))
    notes = " ".join(note.message for note in profile.events(Note))
    assert "there are others: 2026_01_01_00_00_00" in notes
    assert profile.segments[0].num_replicas == 4
    rows = profile.table("replica_steps").to_pylist()
    assert {(row["worker"], row["replica"]) for row in rows} == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert profile.table("steps").num_rows == 4


def test_a_host_whose_file_is_gone_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    """A profile that was copied without what its links point to."""
    session = tmp_path / "session"
    session.mkdir()
    (session / "a.xplane.pb").symlink_to(tmp_path / "gone")
    with pytest.raises(LabError, match=r"Nothing in .*a\.xplane\.pb can be read: no such file"):
        import_profile(session, tmp_path / "none")
    (session / "b.xplane.pb").write_bytes(gpu_profile())
    notes = strategy_profiles.load(import_profile(session, tmp_path / "run")).summary()["notes"]
    (warning,) = [note["message"] for note in notes if note["level"] == "warning"]
    assert "a.xplane.pb can be read: no such file" in warning


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ((b"trainer:6009",), ["trainer"]),
        ((), ["a"]),
        ((b"one:6009", b"two:6009"), ["one", "two"]),
        ((b"one:6009", b"one:6010"), ["one:6009", "one:6010"]),
        ((b"localhost", b"localhost"), ["a", "b"]),
        ((b"\xff\x1b[31mred\n\x00",), [f"{ODD}{ODD}[31mred{ODD}{ODD}"]),
        ((b"x" * 100_000,), ["x" * 50 + "..." + "x" * 50]),
    ],
)
def test_a_host_has_the_name_that_its_file_holds(
    tmp_path: Path, own: tuple[bytes, ...], expected: list[str]
) -> None:
    """As a short line of text, whatever the file holds."""
    session = tmp_path / "session"
    session.mkdir()
    data = gpu_profile().removesuffix(message(4, b"trainer:6009"))
    for file, host in zip(("a", "b"), own or (None,), strict=False):
        raw = data + (message(4, host) if host is not None else b"")
        (session / f"{file}.xplane.pb").write_bytes(raw)
    profile = strategy_profiles.load(import_profile(session, tmp_path / "run"))
    host_names = [source.of_kind(Environment)[0].host.name for source in profile.sources]
    assert host_names == expected
    devices = profile.segments[0].replica_devices
    assert all(device.isprintable() for device in devices)
    assert len(set(devices)) == len(devices)
    if len(expected) > 1:
        assert devices[0] == f"{expected[0]}/device:GPU:0"


def test_a_profile_is_in_memory_once(tmp_path: Path) -> None:
    """Its lines are released when their events are spans, and parts when they are joined."""
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(gpu_profile())
    recording = read_xplane(file)
    num_kept = sum(len(line) for plane in recording.planes for line in plane.lines)
    host = read_host(recording, is_alone=True)
    assert len(host.spans) > num_kept / 2
    assert [plane.name for plane in recording.planes if plane.lines] == []
    parts = [host.spans.take(slice(None, 3)), host.spans.take(slice(3, None))]
    joined = Spans.joined(parts)
    assert parts == []
    assert joined.start_ns.tolist() == host.spans.start_ns.tolist()
    assert joined.name.tolist() == host.spans.name.tolist()


def test_every_export_of_an_imported_run(tmp_path: Path) -> None:
    profile = opened(tmp_path, gpu_profile())
    for name, item in formats().items():
        write(profile, name, tmp_path / f"out{item.suffix or '-' + name}")
    kept = next((tmp_path / "out-xplane").rglob("*.xplane.pb"))
    assert kept.read_bytes() == gpu_profile()


def test_a_packed_profile_is_the_same(tmp_path: Path) -> None:
    plain = opened(tmp_path, gpu_profile())
    (tmp_path / "again").mkdir()
    packed = opened(tmp_path / "again", gzip.compress(gpu_profile()), "host.xplane.pb.gz")
    assert packed.table("spans").equals(plain.table("spans"))


def test_a_cut_file_is_read_to_its_cut_and_the_loss_is_noted(tmp_path: Path) -> None:
    data = gpu_profile()
    packed = gzip.compress(data)
    (tmp_path / "packed").mkdir()
    for folder, content, name in (
        (tmp_path, data[: len(data) // 3], "host.xplane.pb"),
        (tmp_path / "packed", packed[: len(packed) // 2], "host.xplane.pb.gz"),
    ):
        profile = opened(folder, content, name)
        assert profile.table("spans").num_rows
        levels = [note["level"] for note in profile.summary()["notes"]]
        assert "warning" in levels


def test_a_file_rewritten_as_text_says_so(tmp_path: Path) -> None:
    broken = tmp_path / "host.xplane.pb"
    broken.write_bytes(tpu_profile(num_steps=40).decode("utf-8", "replace").encode())
    with pytest.raises(LabError, match="rewritten as text"):
        import_profile(broken, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.mkdir(), "has no profile in it"),
        (lambda path: path.write_bytes(b""), "has no event"),
        (lambda path: path.write_bytes(b"not a profile"), "damaged"),
        (lambda path: path.write_bytes(b"this is a text"), "it is no XPlane file"),
        (lambda path: path.write_bytes(b'{"traceEvents": {}}'), "or has no list of events"),
        (lambda path: path.write_bytes(gzip.compress(gzip.compress(gpu_profile()))), "gzip twice"),
        (lambda _path: None, "There is nothing at"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, make: object, said: str) -> None:
    make(tmp_path / "it")  # type: ignore[operator]
    with pytest.raises(LabError, match=said):
        import_profile(tmp_path / "it", tmp_path / "run")


def test_a_folder_with_a_run_is_left_alone(tmp_path: Path) -> None:
    profile = opened(tmp_path, gpu_profile())
    before = (profile.path / "run.json").read_bytes()
    with pytest.raises(LabError, match="holds another run already"):
        import_profile(tmp_path / "host.xplane.pb", profile.path)
    assert (profile.path / "run.json").read_bytes() == before


def test_ops_that_replicas_run_together_belong_to_the_replica_that_their_number_names(
    tmp_path: Path,
) -> None:
    """The reduction and the update of `MirroredStrategy` have no `replica_N/`."""
    names = [
        "dense/MatMul:MatMul",
        "replica_1/dense/MatMul:MatMul",
        "sgd/CollectiveReduceV2:CollectiveReduceV2",
        "sgd/CollectiveReduceV2_1:CollectiveReduceV2",
        "sgd/update_1/AssignSubVariableOp:AssignSubVariableOp",
    ]
    profile = opened(tmp_path, host_profile(names))
    found_rows = rows(profile, "collectives", "step", "replica", "op", "group_size", "wait_ms")
    assert found_rows[:2] == [(0, 0, "all-reduce", 2, 1.0), (0, 1, "all-reduce", 2, 0.0)]
    updated = [row for row in profile.table("spans").to_pylist() if "Assign" in (row["op"] or "")]
    assert {row["replica"] for row in updated} == {1}


@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize("is_ahead", [False, True])
def test_an_import_of_a_capture_has_the_figures_of_the_run(
    tmp_path: Path, is_ahead: bool, is_merged: bool
) -> None:
    """Both read kernels by the same names; the import knows no graph."""
    cards = Cards(late_ms=20.0, is_ahead=is_ahead, is_merged=is_merged)
    joined = join(xspace_reader.decode(cards.capture()), cards.graph())
    captured = to_tables(joined, WindowOf(0, 0))["replica_steps"].to_pylist()
    columns = ("step", "replica", "compute_ms", "transfer_ms", "wait_ms")
    found_rows = rows(opened(tmp_path, cards.capture()), "replica_steps", *columns)
    expected = [[row[column] for column in columns] for row in captured]
    assert np.array(sorted(found_rows)) == pytest.approx(np.array(sorted(expected)), abs=1e-3)
