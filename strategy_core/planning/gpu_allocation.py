"""Which cards of a machine each worker of a run takes: TensorFlow gives every process all of them.

A worker has cards to itself, or, where their memory is shared out (`gpu_memory_mb`), a part of one.
Free of TensorFlow; not run on GPUs so far, where several processes share a machine's cards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from strategy_lab.profiles.errors import SpecError
from strategy_lab.profiles.spec.run_spec import RunSpec


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a worker is among the workers of its run on one machine."""

    rank: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Share:
    """A worker's part of its machine's cards."""

    cards: tuple[int, ...]
    """Physical cards, in order; the process sees no others."""
    per_card: int = 1
    """Logical GPUs of this worker on each of them."""
    workers_per_card: int = 1
    """Workers that put logical GPUs on the same card."""

    @property
    def count(self) -> int:
        """Logical GPUs that the worker has."""
        return len(self.cards) * self.per_card


def share_out(spec: RunSpec, num_cards: int, seat: Seat) -> Share:
    """The cards of the worker in `seat` of a machine with `num_cards`; raises SpecError."""
    request = spec.device_request
    if request.kind == "gpu" and len(request.indices) and seat.count > 1:
        raise SpecError(
            "Workers on one machine have cards of their own: devices says how many each has",
            f"devices={spec.devices!r} for {seat.count} workers",
            f"Take gpu:{len(request.indices)}",
            field="devices",
        )
    if request.kind == "gpu" and request.indices:
        return Share(_named(request.indices, num_cards, spec))
    each = request.count or max(1, num_cards // seat.count)
    if each * seat.count <= num_cards:
        return Share(tuple(range(seat.rank * each, (seat.rank + 1) * each)))
    if spec.gpu_memory_mb is None:
        raise SpecError(
            f"Without gpu_memory_mb every worker takes whole cards, and this machine has "
            f"{num_cards}",
            f"{seat.count} workers with {each} each",
            "Set gpu_memory_mb to put several logical GPUs on a card, or take fewer workers",
            field="devices",
        )
    whole = num_cards // seat.count
    if not whole:  # more workers than cards: in turn
        workers = math.ceil(seat.count / num_cards)
        return Share((seat.rank % num_cards,), each, workers)
    own = next(n for n in range(min(whole, each), 0, -1) if each % n == 0)
    return Share(tuple(range(seat.rank * whole, seat.rank * whole + own)), each // own)


def _named(indices: tuple[int, ...], num_cards: int, spec: RunSpec) -> tuple[int, ...]:
    if max(indices) < num_cards:
        return indices
    raise SpecError(
        f"A worker's cards are among those of its machine, which has {num_cards}",
        f"devices={spec.devices!r}",
        field="devices",
    )
