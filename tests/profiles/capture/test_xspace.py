"""Captures written by hand, read as columns."""

from __future__ import annotations

import pytest

from strategy_profiles.capture import event_names, xspace
from strategy_profiles.errors import LabError
from tests.profiles.capture.xspace_builder import EPOCH_NS, CaptureBuilder


def test_only_what_is_about_steps_is_kept() -> None:
    capture = CaptureBuilder()
    capture.step(41, 0, 100)
    capture.add("dense/MatMul:MatMul", 10, 30.5)
    capture.add("ThreadpoolListener::Record", 10, 11)
    capture.add("Iterator::Root::Prefetch", 10, 11)
    capture.add("EagerLocalExecute: IteratorGetNext", 1, 3)
    columns = xspace.decode(capture.serialized())
    assert (columns.num_events, columns.num_dropped) == (5, 1)
    assert len(columns.events(xspace.STAGE)) == 1
    op = columns.events(xspace.OP)
    assert columns.names[op.name[0]] == "dense/MatMul"
    assert columns.ops[op.name[0]] == "MatMul"
    assert op.start_ns.tolist() == [EPOCH_NS + 10]
    assert op.end_ns.tolist() == [EPOCH_NS + 30]
    assert columns.events(xspace.STEP).key.tolist() == [41]
    assert len(columns.events(xspace.INPUT)) == 1


def test_line_times_since_the_epoch_read_the_same() -> None:
    relative, absolute = CaptureBuilder(), CaptureBuilder(is_absolute=True)
    for capture in (relative, absolute):
        capture.add("a:Add", 5, 6)
    first, second = (xspace.decode(c.serialized()).events(xspace.OP) for c in (relative, absolute))
    assert first.start_ns.tolist() == second.start_ns.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("replica_1/a/b:MatMul", ("replica_1/a/b", "MatMul")),
        ("a:b:Mul", ("a:b", "Mul")),
        ("Iterator::Root::Map", None),
        ("EagerLocalExecute: __inference_step_9", None),
        ("train", None),
        (":Mul", None),
    ],
)
def test_an_event_name_is_split_into_name_and_type_of_its_op(
    text: str, expected: tuple[str, str] | None
) -> None:
    assert event_names.split_op_name(text) == expected


def test_asynchronous_marks_carry_their_node() -> None:
    capture = CaptureBuilder()
    capture.receive("grad/_7", 20, 50, step_id=-12345678901234567)
    columns = xspace.decode(capture.serialized())
    issued, done = columns.events(xspace.ISSUED), columns.events(xspace.DONE)
    assert columns.names[issued.name[0]] == columns.names[done.name[0]] == "grad/_7"
    assert columns.ops[issued.name[0]] == "_Recv"
    assert issued.key.tolist() == done.key.tolist() == [-12345678901234567]


def test_bytes_that_are_no_capture_say_so() -> None:
    with pytest.raises(LabError, match=r"capture \(18 bytes\) is not an XSpace message"):
        xspace.decode(b"\xff\xff\xff not a protobuf")


def test_a_capture_cut_off_at_any_byte_is_refused_or_read() -> None:
    capture = CaptureBuilder()
    capture.step(1, 0, 100)
    capture.add("a:Add", 5, 6)
    data = capture.serialized()
    for length in range(len(data)):
        try:
            columns = xspace.decode(data[:length])
        except LabError:
            continue
        assert columns.num_events <= 2
