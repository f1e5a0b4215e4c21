"""What a workload's own file raises is one sentence with its line and what to do."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from strategy_core.runtime.user_errors import explained
from strategy_profiles.errors import SpecError

pytestmark = pytest.mark.tf


def test_a_summary_without_tensorboard_names_its_line_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as if it was not installed
    program = tmp_path / "own.py"
    program.write_text("import tensorflow as tf\n\ntf.summary.scalar('loss', 1.0, step=0)\n")
    with pytest.raises(SpecError) as raised, explained(program, "The file", "Mend the file"):
        runpy.run_path(str(program))
    said = str(raised.value)
    assert said.startswith("The file raised ")
    assert "TensorBoard is not installed" in said
    assert "(line 3)" in said
    assert "pip install tensorboard" in said
    assert "Mend the file" not in said
