"""Ratios of what takes turns: what comes seldom counts in full, a burst of noise hardly."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.measuring.paired import ratio_with_events


def test_a_small_cost_is_distinguished_from_noise() -> None:
    chance = np.random.default_rng(0)
    bare = 10 + chance.exponential(0.5, 4000)
    ours = 10.1 + chance.exponential(0.5, 4000)
    ours[::50] += 100  # somebody else's
    ratio = ratio_with_events(ours, bare, [1] * 4000, [False] * 4000)
    assert ratio.value == pytest.approx(1.01, abs=0.004)
    assert 1 < ratio.low < ratio.value < ratio.high < 1.02


def test_a_rare_event_counts_with_its_whole_time() -> None:
    bare = [10.0] * 100
    ours = [10.0] * 99 + [30.0]
    steps = [1] * 99 + [101]
    has_event = [False] * 99 + [True]
    ratio = ratio_with_events(ours, bare, steps, has_event)
    assert ratio.value == pytest.approx((99 * 10 + 101 * 30) / (200 * 10))
    assert ratio.low < ratio.value < ratio.high


def test_if_every_turn_has_an_event_all_turns_count() -> None:
    ratio = ratio_with_events([12.0, 14.0], [10.0, 10.0], [5, 5], [True, True])
    assert ratio.value == pytest.approx(1.3)
