"""What tests/fuzz tries of this leaf: damaged profiles, and whether another answer has a note."""

from __future__ import annotations

import functools
import gzip
import json
import random
import tempfile
from pathlib import Path

from strategy_profiles.importers import import_profile
from tests.doors.hostile import TEXTS
from tests.fuzz.cases import Answer, answer_of, judge, make_odd, told_by
from tests.plugins.imports import damage
from tests.plugins.imports.made import gpu_profile


@functools.cache
def profiles() -> dict[str, tuple[bytes, Answer]]:
    """The bytes of profiles, by name, and what their import says."""
    data = Path(__file__).parent / "data"
    samples = {
        "made.xplane.pb": gpu_profile(num_steps=40),
        "gpu.xplane.pb": (data / "gpu_gemm.xplane.pb").read_bytes(),
        "tpu.xplane.pb": (data / "tpu_psum.xplane.pb").read_bytes(),
        "made.trace.json": damage.TRACE,
        "kineto.json": _first_events(data / "kineto_resnet50.json.gz"),
        "nccl.json": _first_events(data / "h100_nccl.json.gz"),
    }
    folder = Path(tempfile.mkdtemp(prefix="strategy-lab-fuzz-"))
    answers = {}
    for name, content in samples.items():
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


def damage_profile(folder: Path, chance: random.Random) -> str:
    name = chance.choice(list(profiles()))
    content, before = profiles()[name]
    of_traces = ("odd value", "odd value", "nest", "text") if name.endswith(".json") else ()
    how = chance.choice(("cut", "zeros behind", "gz", "field", *of_traces))
    file, data, packed_how = folder / name, bytearray(content), ""
    at = chance.randrange(len(data))
    match how:
        case "cut":
            del data[at:]
        case "zeros behind":
            data += bytes(chance.choice((1, 1000, 3_000_000)))
        case "gz":
            packed_how = chance.choice(("cut", "flip", "twice", "more", "bomb"))
            file, data = folder / f"{name}.gz", _packed(content, packed_how, chance)
        case "field":
            data[at:at] = chance.choice(
                (b"\xff" * 11, b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", b"\x08")
            )
        case "odd value":
            trace = json.loads(content)
            holder = chance.choice((trace, *trace["traceEvents"]))
            for _ in range(chance.choice((1, 3))):
                make_odd(holder, chance)
            data = bytearray(json.dumps(trace).encode())
        case "nest":
            data[at:at] = b"[" * 5000
        case "text":
            data = bytearray(chance.choice(list(TEXTS.values())).encode("utf-8", "surrogatepass"))
    file.write_bytes(data)
    what = f"{name}: {how} {packed_how}"
    with told_by(what):
        run = import_profile(file, folder / "out" / "run")
        after = answer_of(run, with_tables=False)
        # A wrong number or name in a file without checksums cannot be known.
        if how not in ("field", "odd value"):
            judge(before, after)
    return what


def _packed(content: bytes, how: str, chance: random.Random) -> bytearray:
    packed = bytearray(gzip.compress(content, mtime=0))
    match how:
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
    return packed


def damage_bytes(folder: Path, chance: random.Random) -> str:
    name, data = chance.choice(damage.originals())
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        data = damage.damaged(data, chance.choice(damage.originals())[1], chance)
    what = f"{name} of {len(data)} bytes"
    with told_by(what):
        damage.judge(name, data, folder)
    return what


KINDS = {"imports-bytes": damage_bytes, "imports-files": damage_profile}
