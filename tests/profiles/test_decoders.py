"""Types that several threads use for the first time at once.

In a process of its own: with msgspec alone it ends by SIGSEGV within a few of the tries.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MANY_AT_ONCE = """
import sys, threading
import msgspec
from strategy_profiles.decoders import converted, decoder_of

sys.setswitchinterval(1e-6)
uses = {"decoder": lambda kind: decoder_of(kind).decode(b'{"parts": [{"kind": "Part3"}]}'),
        "converted": lambda kind: converted({"parts": [{"kind": "Part3"}]}, kind)}
for _ in range(300):
    names = [(f"field{i}", int | None, None) for i in range(12)]
    parts = [msgspec.defstruct(f"Part{i}", names, tag_field="kind") for i in range(12)]
    any_part = parts[0]
    for part in parts[1:]:
        any_part |= part
    whole = msgspec.defstruct("Whole", [("parts", list[any_part])])
    threads = [threading.Thread(target=uses[sys.argv[1]], args=(whole,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize("use", ["decoder", "converted"])
def test_threads_may_use_a_type_for_the_first_time_at_once(tmp_path: Path, use: str) -> None:
    command = [sys.executable, "-c", MANY_AT_ONCE, use]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
