"""Which cards of a machine each worker of a run takes: TensorFlow gives every process all of them.

A worker has cards to itself, or, where their memory is shared out (`gpu_memory_mb`), a part of one.
Free of TensorFlow; not run on GPUs so far, where several processes share a machine's cards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from strategy_lab.profiles.errors import SpecError
from strategy_lab.profiles.spec.run_spec import RunSpec
from strategy_lab.profiles.user_input.text import shown


@dataclass(frozen=True, slots=True)
class Seat:
    """A worker's local rank, and the number of workers of its run on the same machine."""

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


def share_out(spec: RunSpec, num_cards: int, local_rank: Seat) -> Share:
    """The GPUs of one worker on a machine with `num_cards` GPUs; raises SpecError if too few.

    Each worker gets GPUs of its own if there are enough. Otherwise, with `gpu_memory_mb`, its
    logical GPUs are spread evenly over fewer GPUs of its own, or workers take turns in sharing one.
    """
    request = spec.device_request
    if request.kind == "gpu" and len(request.indices) and local_rank.count > 1:
        raise SpecError(
            f"devices={shown(spec.devices)} names the GPUs of a machine that "
            f"{local_rank.count} workers share; each needs its own",
            advice=f"Give the number of GPUs per worker, such as gpu:{len(request.indices)}",
            field="devices",
        )
    if request.kind == "gpu" and request.indices:
        return Share(_named(request.indices, num_cards, spec))
    each = request.count or max(1, num_cards // local_rank.count)
    if each * local_rank.count <= num_cards:
        return Share(tuple(range(local_rank.rank * each, (local_rank.rank + 1) * each)))
    if spec.gpu_memory_mb is None:
        raise SpecError(
            f"{local_rank.count} workers on this machine need {each * local_rank.count} "
            f"GPUs, {each} each; it has {num_cards}",
            advice="Choose fewer workers, or set gpu_memory_mb to put several logical GPUs on "
            "one GPU",
            field="devices",
        )
    whole = num_cards // local_rank.count
    if not whole:  # more workers than GPUs: GPU 0, 1, ... and then from 0 again
        workers = math.ceil(local_rank.count / num_cards)
        return Share((local_rank.rank % num_cards,), each, workers)
    # The most GPUs that divide the logical ones evenly.
    own = next(n for n in range(min(whole, each), 0, -1) if each % n == 0)
    return Share(tuple(range(local_rank.rank * whole, local_rank.rank * whole + own)), each // own)


def _named(indices: tuple[int, ...], num_cards: int, spec: RunSpec) -> tuple[int, ...]:
    if max(indices) < num_cards:
        return indices
    raise SpecError(
        f"devices={shown(spec.devices)} names GPU {max(indices)}; the machine has "
        f"{num_cards}, numbered from 0",
        field="devices",
    )
