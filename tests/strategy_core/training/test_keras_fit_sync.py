"""When the workers of a `fit` run agree: at the same steps, whatever each of them measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from strategy_core.processes import protocol

pytestmark = pytest.mark.tf


class Workers:
    """Workers whose all-reduce is a sum here: each step is done by all, one after the other."""

    def __init__(self, step_s: list[float]) -> None:
        from strategy_core.cluster.command_agreement import CommandAgreement
        from strategy_core.training.keras_fit import FitAgreement

        self.step_s = step_s
        self.now_s = [0.0] * len(step_s)
        self.num_sums = 0
        self.parts: dict[int, Any] = {}
        self.agreements = [CommandAgreement(worker, len(step_s)) for worker in range(len(step_s))]
        self.fits = [
            FitAgreement(
                agreement,
                lambda part, worker=worker: self.sum(worker, part),  # type: ignore[misc]
                clock=lambda worker=worker: self.now_s[worker],  # type: ignore[misc]
            )
            for worker, agreement in enumerate(self.agreements)
        ]

    def sum(self, worker: int, part: Any) -> Any:
        """The sum of what all workers add now, as the worker receives it: a first round, in which
        every worker waits, collects the parts."""
        self.parts[worker] = np.asarray(part)
        if len(self.parts) < len(self.step_s):
            raise Waiting
        return np.sum(list(self.parts.values()), axis=0)

    def step(self) -> bool:
        """A step of all; whether they agreed after it."""
        for worker, took_s in enumerate(self.step_s):
            self.now_s[worker] += took_s
        waiting = []
        for fit in self.fits:
            try:
                fit.step_done()
            except Waiting:
                waiting.append(fit)
        for fit in waiting:
            fit._num_left += 1
            fit.step_done()
        agreed = bool(self.parts)
        assert len(self.parts) in (0, len(self.step_s)), "one waits for the others for ever"
        self.parts = {}
        return agreed


class Waiting(Exception):  # noqa: N818 - not an error
    """This worker is in the all-reduce, and the others are not yet."""


def rests(workers: Workers, num_agreements: int) -> list[int]:
    """Steps from one agreement to the next."""
    sums = []
    for _ in range(num_agreements):
        count = 1
        while not workers.step():
            count += 1
        sums.append(count)
    return sums


def test_short_steps_agree_ten_times_a_second_and_at_the_same_steps() -> None:
    assert rests(Workers([0.020, 0.020]), 4) == [1, 5, 5, 5]
    assert rests(Workers([0.010, 0.030, 0.020]), 3) == [1, 5, 5]  # each has its own clock


def test_long_steps_agree_at_every_step_and_very_short_ones_not_too_seldom() -> None:
    assert rests(Workers([0.4, 0.4]), 4) == [1, 1, 1, 1]
    assert rests(Workers([0.001, 0.001]), 3) == [1, 16, 16]


def test_a_command_is_obeyed_by_all_after_the_same_step() -> None:
    workers = Workers([0.020, 0.020])
    rests(workers, 2)
    stop = protocol.Stop(7)
    for agreement in workers.agreements:
        agreement.receive([stop])
    for _ in range(4):
        assert not workers.step()
        assert [agreement.agreed() for agreement in workers.agreements] == [[], []]
    assert workers.step()
    assert [agreement.agreed() for agreement in workers.agreements] == [[stop], [stop]]
