"""Names of lines."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from strategy_core.runtime.source_place import source_place

CELL = "/tmp/ipykernel_7/2417196637.py"


def test_a_line_of_a_file_has_its_name_without_folders() -> None:
    assert source_place("/home/me/train.py", 12) == "train.py:12"


@pytest.mark.parametrize("is_running", [True, False])
def test_a_line_of_a_cell_is_named_as_in_a_traceback(
    is_running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IPython names its own cells alone; imported without running, it has no shell."""
    compiler = SimpleNamespace(
        format_code_name=lambda path: ("Cell", "In[3]") if path == CELL else None
    )
    shell = SimpleNamespace(compile=compiler) if is_running else None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert source_place(CELL, 3) == ("cell In[3], line 3" if is_running else "2417196637.py:3")
    assert source_place("/home/me/train.py", 12) == "train.py:12"
