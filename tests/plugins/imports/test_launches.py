"""A device's step begins with what the host launched in the step."""

from __future__ import annotations

from pathlib import Path

from tests.made_xplane import MadeLine, MadePlane, started, xspace
from tests.plugins.imports.made import MS, START_NS, opened


def test_a_tpu_core_works_for_the_step_that_enqueued_its_program(tmp_path: Path) -> None:
    ids = [2**64 - 5, 2**63 + 1, 17]  # hashes
    begins = [step * 10 * MS for step in range(3)]
    late = 12 * MS
    ops = [("%fusion = f32[8] fusion()", begin + late, 6 * MS, {}) for begin in begins]
    modules = [
        ("jit_step(77)", begin + late, 7 * MS, {"_c": number})
        for begin, number in zip(begins, ids, strict=True)
    ]
    core = MadePlane(
        "/device:TPU:0", [MadeLine("XLA Modules", modules, 1), MadeLine("XLA Ops", ops, 2)]
    )
    marks = [("train", begin, 9 * MS, {"step_num": i}) for i, begin in enumerate(begins)]
    calls = [
        ("DoEnqueueProgram", begin + MS, MS, {"_p": number})
        for begin, number in zip(begins, ids, strict=True)
    ]
    host = MadePlane("/host:CPU", [MadeLine("python", marks, 1), MadeLine("enqueue", calls, 2)])
    run = opened(tmp_path, xspace([core, host, started(START_NS)]))
    rows = run.table("replica_steps").to_pylist()
    assert [row["start_ns"] - START_NS for row in rows] == [
        (begin + late) // 1000 for begin in begins
    ]
    assert [row["compute_ms"] for row in rows] == [6.0, 6.0, 6.0]
