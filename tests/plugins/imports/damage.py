"""Damaged profiles: whatever a file holds, an import ends soon with a run or with one sentence.

    python -m tests.plugins.imports.damage [--cases 10000] [--seed 0]

Each case is one of the made profiles, or a recorded one if `shared/xplanes` is beside the checkout,
with bytes changed, cut, repeated or put in at random places, numbers enlarged, or a part of another
profile put in. The same seed gives the same cases.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.importers import import_profile
from tests.plugins.imports.made import gpu_profile, host_profile, tpu_profile
from tests.plugins.imports.made_pytorch import BASE_NS, labelled, with_reduce

XPLANES = Path(__file__).parents[4] / "shared" / "xplanes"
RECORDED = Path(__file__).parent / "data"
LONGEST_S = 10
"""A case that takes longer hangs. On a quiet machine the longest take a second."""
MOST_BYTES = 2 << 30
_ENLARGED = (b"\xff\x7f", b"\xff" * 4 + b"\x0f", b"\xff" * 8 + b"\x7f", b"\xff" * 9 + b"\x01")
"""Varints in place of a byte: lengths, ids and times that are much too large."""
_TRACE = (
    b'{"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},'
    + b",".join(
        b'{"ph":"X","pid":1,"tid":%d,"ts":%d,"dur":3.5,"name":"k%d","args":{"correlation_id":"7"}}'
        % (i % 3, i * 10, i % 5)
        for i in range(40)
    )
    + b"]}"
)

_PYTORCH = json.dumps(
    {
        "baseTimeNanoseconds": BASE_NS,
        "distributedInfo": {"rank": 0, "world_size": 2, "pg_config": [{"pg_size": 2}]},
        "traceEvents": [labelled(0, "GPU 0"), *with_reduce({"Group size": 2})],
    }
).encode()


def originals(*, with_recorded: bool = False) -> list[tuple[str, bytes]]:
    """Return intact profiles: name of the file and its content."""
    ops = ["a:MatMul", "replica_1/a:MatMul", "IteratorGetNext:IteratorGetNext"]
    found = [
        ("a.xplane.pb", gpu_profile()),
        ("a.xplane.pb", gpu_profile(annotated=False)),
        ("a.xplane.pb", tpu_profile()),
        ("a.xplane.pb", host_profile(ops)),
        ("a.xplane.pb.gz", gzip.compress(tpu_profile(), mtime=0)),
        ("trace.json", _TRACE),
        ("trace.json.gz", gzip.compress(_TRACE, mtime=0)),
        ("trace.json", _PYTORCH),
    ]
    found += [("a.xplane.pb", path.read_bytes()) for path in sorted(RECORDED.glob("*.pb"))]
    if with_recorded and XPLANES.is_dir():
        small = [path for path in sorted(XPLANES.glob("*.pb")) if path.stat().st_size < 300_000]
        found += [("a.xplane.pb", path.read_bytes()) for path in small]
    return found


def cases(seed: int, count: int, *, with_recorded: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield damaged profiles."""
    rng = random.Random(seed)
    known = originals(with_recorded=with_recorded)
    for number in range(count):
        name, data = known[number % len(known)]
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            data = damaged(data, rng.choice(known)[1], rng)
        yield name, data


def damaged(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return the bytes with one kind of damage; `other` are those of another profile."""
    at = rng.randrange(len(data) + 1)
    until = min(len(data), at + rng.choice((1, 2, 7, 64, 1000)))
    flipped = bytes([data[at] ^ 1 << rng.randrange(8)]) if at < len(data) else b""
    rewritten = data.decode("utf-8", "replace").encode() if rng.random() < 0.1 else data[at:]
    theirs = rng.randrange(len(other))
    return rng.choice(
        [
            data[:at],
            data[:at] + rng.choice(_ENLARGED) + data[at + 1 :],
            data[:at] + other[theirs : theirs + until - at] + data[until:],
            data[:at] + other[theirs:],
            data[:at] + rng.randbytes(until - at) + data[until:],
            data[:at] + bytes(until - at) + data[until:],
            data[:at] + b"\xff" * (until - at) + data[until:],
            data[:at] + data[until:],
            data[:at] + data[at:until] * 3 + data[until:],
            rewritten,
            data[:at] + flipped + data[at + 1 :],
        ]
    )


def judge(name: str, data: bytes, folder: Path) -> str:
    """Import one case; returns how it ended. Raises what an import must not raise."""
    path = folder / name
    path.write_bytes(data)
    try:
        run = import_profile(path, folder / "run")
    except LabError:
        assert not (folder / "run").exists()
        return "refused"
    profile = strategy_profiles.load(run)
    summary = profile.summary()
    for table in ("spans", "replica_steps", "collectives", "transfers", "placement"):
        profile.table(table)
    # What is written must fit the tables: readers leave out and name what does not.
    assert not profile.notes, profile.notes
    assert summary["status"] == "finished"
    return "imported"


def _hangs(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"an import took more than {LONGEST_S} s")


def main() -> None:
    parser = argparse.ArgumentParser(description="Import damaged profiles.")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _hangs)
    ended: dict[str, int] = {}
    longest = 0.0
    failed: list[Any] = []
    for number, case in enumerate(cases(options.seed, options.cases, with_recorded=True)):
        begin = time.perf_counter()
        signal.alarm(LONGEST_S)
        with tempfile.TemporaryDirectory(prefix="damage-") as folder:
            try:
                how = judge(*case, Path(folder))
            except Exception as error:
                how = "failed"
                failed.append((number, repr(error)[:300]))
        signal.alarm(0)
        longest = max(longest, time.perf_counter() - begin)
        ended[how] = ended.get(how, 0) + 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{ended}, the longest took {longest:.2f} s, at most {peak / 1e6:.0f} MB")
    for number, error in failed[:20]:
        print(f"case {number}: {error}")
    raise SystemExit(bool(failed) or peak > MOST_BYTES)


if __name__ == "__main__":
    main()
