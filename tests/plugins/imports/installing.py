"""What tests/installing asks of this leaf: a command that reads, and needs no extra."""

from __future__ import annotations

from pathlib import Path

READING = (f"import {Path(__file__).parent / 'data' / 'tpu_psum.xplane.pb'} -o imported",)
