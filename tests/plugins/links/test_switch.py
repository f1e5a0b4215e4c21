"""When frames arrive in the emulated network: pure arithmetic, no device."""

from __future__ import annotations

import pytest

from strategy_links.switch import Fabric

MEGABYTE = 1_000_000


def test_without_a_rate_a_frame_is_only_delayed() -> None:
    fabric = Fabric(num_ports=2, rate_mbit=None, delay_ms=5.0)
    left = fabric.send(1.0, 0, MEGABYTE)
    assert left == 1.0
    assert fabric.receive(left, 1, MEGABYTE) == pytest.approx(1.005)


def test_a_port_sends_one_frame_after_the_other_at_its_rate() -> None:
    fabric = Fabric(num_ports=2, rate_mbit=800.0, delay_ms=0.0)  # a megabyte takes 10 ms
    left = [fabric.send(1.0, 0, MEGABYTE) for _ in range(3)]
    assert left == pytest.approx([1.01, 1.02, 1.03])
    assert fabric.send(2.0, 0, MEGABYTE) == pytest.approx(2.01), "an idle port saves nothing up"


def test_a_frame_is_not_slowed_twice_but_two_senders_share_the_receivers_rate() -> None:
    fabric = Fabric(num_ports=3, rate_mbit=800.0, delay_ms=5.0)
    one, other = fabric.send(1.0, 0, MEGABYTE), fabric.send(1.0, 1, MEGABYTE)
    assert one is not None
    assert other is not None
    assert fabric.receive(one, 2, MEGABYTE) == pytest.approx(1.015)
    assert fabric.receive(other, 2, MEGABYTE) == pytest.approx(1.025)


def test_a_queue_that_is_full_drops_frames() -> None:
    fabric = Fabric(num_ports=2, rate_mbit=800.0, delay_ms=0.0)
    sent = [fabric.send(1.0, 0, MEGABYTE) for _ in range(20)]
    kept = [left for left in sent if left is not None]
    assert 5 <= len(kept) < 10, "50 ms of frames wait, no more"
    assert fabric.send(1.1, 0, MEGABYTE) is not None, "there is room again"
