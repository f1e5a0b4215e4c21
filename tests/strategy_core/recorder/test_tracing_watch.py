"""Which argument has a function traced again, in words."""

from __future__ import annotations

import pytest

from strategy_core.recorder.tracing_watch import what_changed

_SIGNATURE = """Input Parameters:
  batch (POSITIONAL_OR_KEYWORD): Tuple[TensorSpec(shape={shape}, dtype=tf.float32, name=None)]
  scale (POSITIONAL_OR_KEYWORD): {scale}
  training (KEYWORD_ONLY): Literal[True]
Output Type:
  TensorSpec(shape=(), dtype=tf.float32, name=None)
Captures:
  None"""


def _signatures(*values: tuple[str, str]) -> str:
    return "\n\n".join(_SIGNATURE.format(shape=shape, scale=scale) for shape, scale in values)


def test_a_python_number_that_changes_is_named_with_its_values() -> None:
    text = _signatures(*(("(4, 2)", f"Literal[{value}]") for value in (1.0, 1.5, 2.0, 2.5)))
    expected = "argument `scale` is a Python value that changes (1.5, 2.0, 2.5)"
    assert what_changed(text) == expected


def test_a_shape_that_changes_is_named() -> None:
    told = what_changed(_signatures(("(4, 2)", "Literal[1.0]"), ("(3, 2)", "Literal[1.0]")))
    assert told is not None
    assert told.startswith("argument `batch` changes its shape or type (")
    assert "(3, 2)" in told


@pytest.mark.parametrize("text", ["", "no signature at all", _signatures(("(4, 2)", "Literal[1]"))])
def test_unknown_or_equal_signatures_give_no_reason(text: str) -> None:
    assert what_changed(text) is None
