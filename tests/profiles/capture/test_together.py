"""Captures of several processes, put together."""

from __future__ import annotations

from strategy_profiles.capture import xspace
from strategy_profiles.capture.convert import with_hosts
from tests.profiles.capture.xspace_builder import EPOCH_NS, CaptureBuilder


def coordinator() -> CaptureBuilder:
    built = CaptureBuilder(stops_ns=10_000)
    for number in range(4):
        built.step(number, 1000 + 2000 * number, 2900 + 2000 * number)
    built.add("own/Mul:Mul", 1100, 1200)
    return built


def merged(*hosts: CaptureBuilder) -> xspace.XSpaceColumns:
    whole, *parts = (xspace.decode(each.serialized()) for each in (coordinator(), *hosts))
    return with_hosts(whole, parts)


def host(node: str, starts_ns: int, stops_ns: int) -> CaptureBuilder:
    built = CaptureBuilder(starts_ns=starts_ns, stops_ns=stops_ns)
    for number in range(4):
        built.add(f"{node}/MatMul:MatMul", 1200 + 2000 * number, 1800 + 2000 * number)
    built.receive(f"{node}/recv", 5000, 5500)
    built.add("train", 0, 10)  # whatever a host marks is no step of the run
    return built


def test_ops_of_all_and_steps_of_the_coordinator() -> None:
    joined = merged(host("a", 0, 10_000), host("b", 0, 10_000))
    ops = joined.events(xspace.OP)
    names = [joined.names[name] for name in ops.name]
    assert sorted(set(names)) == ["a/MatMul", "b/MatMul", "own/Mul"]
    assert names.count("b/MatMul") == 4
    assert joined.events(xspace.STEP).key.tolist() == [0, 1, 2, 3]
    done = joined.events(xspace.DONE)
    assert sorted(joined.names[name] for name in done.name) == ["a/recv", "b/recv"]
    assert set(done.start_ns.tolist()) == {EPOCH_NS + 5500}


def test_steps_that_a_host_did_not_see_whole_do_not_count() -> None:
    joined = merged(host("a", 1500, 10_000), host("b", 0, 8000))
    assert joined.events(xspace.STEP).key.tolist() == [1, 2]


def test_ops_of_a_host_after_the_capture_are_left_out() -> None:
    late = host("a", 0, 50_000)
    late.add("a/Tanh:Tanh", 20_000, 20_100)
    joined = merged(late)
    assert "a/Tanh" not in [joined.names[name] for name in joined.events(xspace.OP).name]
