"""What tests/doors and tests/installing ask of this leaf: the files that it opens, its commands."""

from __future__ import annotations

from pathlib import Path

_BOUNDED = "of a file or text whose kind and size were checked"
OPENS = {
    "strategy_imports/found_files.py": _BOUNDED,
    "strategy_imports/unpacked.py": "this is a guard",
    "strategy_imports/write_run.py": "what this process, or one that it started, has written",
    "strategy_imports/xplane_file.py": _BOUNDED,
}
WRITING = (["import", "TRACE", "-o", "RUNS/imports"],)
READING = (f"import {Path(__file__).parent / 'data' / 'tpu_psum.xplane.pb'} -o imported",)
