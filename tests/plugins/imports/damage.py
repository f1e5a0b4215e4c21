"""Damaged profiles: whatever a file holds, an import ends soon with a run or with one sentence.

`python -m tests.fuzz --only imports-bytes` tries many: made and recorded profiles with bytes
changed, cut, repeated or put in at random places, numbers enlarged, or a part of another put in.
"""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.importers import import_profile
from tests.plugins.imports.made import gpu_profile, host_profile, tpu_profile
from tests.plugins.imports.made_pytorch import BASE_NS, labelled, with_reduce

RECORDED = Path(__file__).parent / "data"
_ENLARGED = (b"\xff\x7f", b"\xff" * 4 + b"\x0f", b"\xff" * 8 + b"\x7f", b"\xff" * 9 + b"\x01")
"""Varints in place of a byte: lengths, ids and times that are much too large."""
TRACE = (
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


@cache
def originals() -> list[tuple[str, bytes]]:
    """Return intact profiles: name of the file and its content."""
    ops = ["a:MatMul", "replica_1/a:MatMul", "IteratorGetNext:IteratorGetNext"]
    files = [
        ("a.xplane.pb", gpu_profile()),
        ("a.xplane.pb", gpu_profile(annotated=False)),
        ("a.xplane.pb", tpu_profile()),
        ("a.xplane.pb", host_profile(ops)),
        ("a.xplane.pb.gz", gzip.compress(tpu_profile(), mtime=0)),
        ("trace.json", TRACE),
        ("trace.json.gz", gzip.compress(TRACE, mtime=0)),
        ("trace.json", _PYTORCH),
    ]
    files += [("a.xplane.pb", path.read_bytes()) for path in sorted(RECORDED.glob("*.pb"))]
    return files


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
    """Import one file; returns how it ended. Raises what an import must not raise."""
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
