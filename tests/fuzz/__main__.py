"""`python -m tests.fuzz`: many cases, or one of them again."""

from __future__ import annotations

import argparse
import faulthandler
import resource
import sys
import time
from collections import Counter

from tests.fuzz.kinds import KINDS, try_case

_MOST_MEMORY_BYTES = 8 << 30
"""Limit of this process's address space: a larger allocation is a fault, and no swapping."""
_SLOW_S, _ENDS_S = 8.0, 90.0


def main() -> int:
    """0 if no case showed a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS, action="append")
    parser.add_argument("--first", type=int, default=0, help="number of the first case of a kind")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES,) * 2)
    kinds = args.only or list(KINDS)
    count: Counter[str] = Counter()
    began = time.monotonic()
    for number in range(args.first, args.first + -(-args.cases // len(kinds))):
        for kind in kinds:
            faulthandler.dump_traceback_later(_ENDS_S, exit=True)  # a hang outside of Python
            before = time.monotonic()
            fault = try_case(kind, number, args.seed)
            count[kind] += 1
            if fault is not None:
                count["faults"] += 1
                print(fault, flush=True)
            elif (took := time.monotonic() - before) > _SLOW_S:
                print(f"slow: {kind} {number}: {took:.1f} s", flush=True)
    faulthandler.cancel_dump_traceback_later()
    print(f"{dict(count)} in {time.monotonic() - began:.0f} s")
    return min(count["faults"], 1)


if __name__ == "__main__":
    sys.exit(main())
