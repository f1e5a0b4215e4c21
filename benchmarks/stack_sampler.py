"""What a sample of the training thread's stack costs: `python -m benchmarks.stack_sampler`.

Processor time of a process that samples a stack of 40 frames, as in a step of Keras's `fit`, beside
the same process without the sampler, in turns: at its first rate, then at its later one. The goal
is 0.2 % of a core.
"""

from __future__ import annotations

import statistics
import threading
import time

from strategy_core.recorder import stack_sampler
from strategy_core.recorder.stack_sampler import StackSampler

DEPTH, SECONDS, ROUNDS = 40, 4.0, 3


def _deep(depth: int, release: threading.Event) -> None:
    if depth:
        _deep(depth - 1, release)
    else:
        release.wait()


def _share_of_core(seconds: float, thread: int, *, sampled: bool, later: bool) -> float:
    """Processor time of this process while nothing else runs in it, as a share of a core."""
    sampler = StackSampler(0)
    sampler.watch(thread)
    stack_sampler._FIRST_SAMPLES = 0 if later else 10_000  # noqa: SLF001
    if sampled:
        sampler.start()
    begun = time.process_time(), time.monotonic()
    time.sleep(seconds)
    used = (time.process_time() - begun[0]) / (time.monotonic() - begun[1])
    sampler.stop()
    return used


def main() -> None:
    release = threading.Event()
    trained = threading.Thread(target=_deep, args=(DEPTH, release))
    trained.start()
    assert trained.ident is not None
    for name, later in (("first", False), ("later", True)):
        shares = [
            _share_of_core(SECONDS, trained.ident, sampled=True, later=later)
            - _share_of_core(SECONDS, trained.ident, sampled=False, later=later)
            for _ in range(ROUNDS)
        ]
        spread = f"{min(shares):.2%} to {max(shares):.2%}"
        print(f"{name}: {statistics.median(shares):.2%} of a core ({spread}; goal 0.2 %)")
    release.set()


if __name__ == "__main__":
    main()
