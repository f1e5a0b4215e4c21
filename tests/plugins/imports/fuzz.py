"""What tests/fuzz tries of this leaf: damaged profiles, and whether another answer has a note."""

from __future__ import annotations

import functools
import gzip
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from strategy_profiles.importers import import_profile
from tests.doors.hostile import TEXTS
from tests.fuzz.cases import Answer, answer_of, judge, make_odd, told_by
from tests.made_xplane import MadeLine, MadePlane, started, xspace


@functools.cache
def profiles() -> dict[str, tuple[bytes, Answer]]:
    """The bytes of profiles, by name, and what their import says."""
    data = Path(__file__).parent / "data"
    found = {
        "made.xplane.pb": _made_xplane(),
        "gpu.xplane.pb": (data / "gpu_gemm.xplane.pb").read_bytes(),
        "tpu.xplane.pb": (data / "tpu_psum.xplane.pb").read_bytes(),
        "made.trace.json": json.dumps(_made_trace()).encode(),
        "kineto.json": _first_events(data / "kineto_resnet50.json.gz"),
        "nccl.json": _first_events(data / "h100_nccl.json.gz"),
    }
    folder = Path(tempfile.mkdtemp(prefix="strategy-lab-fuzz-"))
    answers = {}
    for name, content in found.items():
        (folder / name).write_bytes(content)
        import_profile(folder / name, folder / f"run-{name}" / "run")
        answers[name] = content, answer_of(folder / f"run-{name}" / "run", with_tables=False)
    return answers


def _first_events(file: Path, most: int = 3000) -> bytes:
    """A trace with fewer events, so that a case takes less time."""
    trace = json.loads(gzip.decompress(file.read_bytes()))
    events = trace["traceEvents"]
    trace["traceEvents"] = [e for e in events if e.get("ph") == "M"][:500] + [
        e for e in events if e.get("ph") != "M"
    ][:most]
    return json.dumps(trace).encode()


def _made_xplane() -> bytes:
    ops = [
        (f"op{at % 7}", at * 1000_000, 700_000, {"correlation_id": at, "bytes": at * 8})
        for at in range(300)
    ]
    steps = [
        (str(number), number * 30_000_000, 29_000_000, {"group_id": number, "step_num": number})
        for number in range(10)
    ]
    return xspace(
        [
            started(1_790_000_000_000_000_000),
            MadePlane(
                "/device:GPU:0",
                [MadeLine("Steps", steps), MadeLine("Stream #1(Compute)", ops)],
                {"device_type_string": "H100"},
            ),
            MadePlane("/host:CPU", [MadeLine("python", steps), MadeLine("tf_main", ops, 2)]),
        ],
        hosts=["host-0"],
    )


def _made_trace() -> dict[str, Any]:
    names = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "XLA Ops"}},
        {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "/host:CPU"}},
    ]
    ops = [
        {"ph": "X", "name": f"op{at % 5}", "pid": 1, "tid": 1, "ts": at * 10.0, "dur": 8.0,
         "cat": "kernel", "args": {"bytes": at}}
        for at in range(200)
    ]  # fmt: skip
    steps = [
        {"ph": "X", "name": f"train {at}", "pid": 2, "tid": 1, "ts": at * 200.0, "dur": 190.0,
         "args": {"step_num": at}}
        for at in range(10)
    ]  # fmt: skip
    return {"traceEvents": names + ops + steps, "displayTimeUnit": "ms"}


def damage_xplane(folder: Path, chance: random.Random) -> str:
    name = chance.choice([name for name in profiles() if name.endswith(".pb")])
    content, before = profiles()[name]
    how = chance.choice(("flip", "cut", "hole", "noise", "repeat", "zeros behind", "gz", "field"))
    data = bytearray(content)
    at = chance.randrange(len(data))
    match how:
        case "flip":
            for _ in range(chance.choice((1, 1, 5))):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case "cut":
            del data[at:]
        case "hole":
            data[at : at + 200] = bytes(len(data[at : at + 200]))
        case "noise":
            data[at : at + 40] = chance.randbytes(40)
        case "repeat":
            data[at:at] = data[at // 2 : at]
        case "zeros behind":
            data += bytes(chance.choice((1, 1000, 3_000_000)))
        case "field":
            data[at:at] = chance.choice(
                (b"\xff" * 11, b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", b"\x08")
            )
    return _import(folder, name, data, content, before, how, chance)


def damage_trace(folder: Path, chance: random.Random) -> str:
    name = chance.choice([name for name in profiles() if name.endswith(".json")])
    content, before = profiles()[name]
    how = chance.choice(("odd value", "odd value", "cut", "flip", "gz", "noise", "nest", "text"))
    data = bytearray(content)
    at = chance.randrange(len(data))
    match how:
        case "odd value":
            trace = json.loads(content)
            holder = chance.choice((trace, *trace["traceEvents"]))
            for _ in range(chance.choice((1, 3))):
                make_odd(holder, chance)
            data = bytearray(json.dumps(trace).encode())
        case "cut":
            del data[at:]
        case "flip":
            data[at] ^= 1 << chance.randrange(8)
        case "noise":
            data[at : at + 10] = chance.randbytes(10)
        case "nest":
            data[at:at] = b"[" * 5000
        case "text":
            data = bytearray(chance.choice(list(TEXTS.values())).encode("utf-8", "surrogatepass"))
    return _import(folder, name, data, content, before, how, chance)


def _import(
    folder: Path,
    name: str,
    data: bytearray,
    content: bytes,
    before: Answer,
    how: str,
    chance: random.Random,
) -> str:
    file = folder / name
    packed_how = ""
    if how == "gz":
        packed = bytearray(gzip.compress(content, mtime=0))
        packed_how = chance.choice(("cut", "flip", "twice", "more", "bomb"))
        match packed_how:
            case "cut":
                del packed[chance.randrange(len(packed)) :]
            case "flip":
                packed[chance.randrange(12, len(packed))] ^= 1 << chance.randrange(8)
            case "twice":
                packed = bytearray(gzip.compress(packed))
            case "more":
                packed += chance.randbytes(50)
            case _:
                packed += gzip.compress(bytes(200 << 20), compresslevel=1)
        file, data = folder / f"{name}.gz", packed
    file.write_bytes(data)
    what = f"{name}: {how} {packed_how}"
    with told_by(what):
        run = import_profile(file, folder / "out" / "run")
        after = answer_of(run, with_tables=False)
        # A wrong number or name in a file without checksums cannot be known.
        if how in ("cut", "gz", "zeros behind", "nest", "text"):
            judge(before, after)
    return what


KINDS = {"imports-xplane": damage_xplane, "imports-trace": damage_trace}
