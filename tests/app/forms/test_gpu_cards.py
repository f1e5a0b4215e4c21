"""Cards are asked in a child process: without TensorFlow, and for a few seconds at most."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from strategy_app.forms import device_picker

_MADE = """
import sys, types
class Made:
    def __getattr__(self, name):
        return lambda *_: ANSWERS.get(name)
model = "with TensorFlow" if "tensorflow" in sys.modules else "NVIDIA A"
bus = types.SimpleNamespace(busId="00000000:1B:00.0")
ANSWERS = {"nvmlDeviceGetCount": 1, "nvmlDeviceGetName": model, "nvmlDeviceGetPciInfo": bus}
sys.modules[__name__] = Made()
"""


@pytest.fixture
def pynvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a made `pynvml` that a child process imports."""
    device_picker.states_of_cards.clear()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "pynvml.py"


def test_cards_are_described_without_tensorflow(pynvml: Path) -> None:
    pynvml.write_text(_MADE)
    assert device_picker.states_of_cards() == ("NVIDIA A, bus 00000000:1B:00.0",)


def test_a_library_that_hangs_or_ends_the_process_says_nothing(
    pynvml: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pynvml.write_text("import os; os._exit(1)")
    assert device_picker.states_of_cards() == ()
    device_picker.states_of_cards.clear()
    pynvml.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(device_picker, "_CARDS_WITHIN_S", 0.5)
    began = time.monotonic()
    assert device_picker.states_of_cards() == ()
    assert time.monotonic() - began < 10
