"""Which argument has a function traced again, in words."""

from __future__ import annotations

import pytest

from strategy_core.recorder.tracing_watch import TracingWatch, what_changed

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
    change = what_changed(_signatures(("(4, 2)", "Literal[1.0]"), ("(3, 2)", "Literal[1.0]")))
    assert change is not None
    assert change.startswith("argument `batch` changes its shape or type (")
    assert "(3, 2)" in change


def test_only_the_tensor_that_differs_is_shown_of_nested_values() -> None:
    def batch(size: int) -> str:
        image, label = (f"TensorSpec(shape=({size}, 28), dtype=tf.float32, name=None)",
                        f"TensorSpec(shape=({size},), dtype=tf.int64, name=None)")  # fmt: skip
        nested = f"Tuple[PerReplicaSpec({image}, {image}), PerReplicaSpec({label}, {label})]"
        return f"Input Parameters:\n  batch (POSITIONAL_OR_KEYWORD): {nested}\nOutput Type:\n  None"

    change = what_changed(f"{batch(64)}\n\n{batch(58)}")
    assert (
        change == "argument `batch` changes its shape or type (float32 (64, 28), float32 (58, 28))"
    )


class _Function:
    """A `tf.function` that was traced as often as a test says."""

    def __init__(self, name: str, num_traces: int) -> None:
        self.__name__, self.num_traces = name, num_traces

    def experimental_get_tracing_count(self) -> int:
        return self.num_traces

    def pretty_printed_concrete_signatures(self) -> str:
        return ""


def test_only_what_is_traced_again_within_a_step_is_reported() -> None:
    step, evaluation, late = _Function("step", 1), _Function("evaluate", 1), _Function("late", 0)
    watch = TracingWatch()
    watch.watch([step, evaluation, late])
    watch.count()
    step.num_traces, late.num_traces = 3, 1
    assert [(each.function, each.num_traces) for each in watch.step_done(0, 5)] == [("step", 2)]
    evaluation.num_traces = 4  # between two steps
    watch.count()
    late.num_traces = 2
    assert [(each.function, each.step) for each in watch.step_done(0, 6)] == [("late", 6)]
    watch.count()
    assert watch.step_done(0, 7) == []


@pytest.mark.parametrize("text", ["", "no signature at all", _signatures(("(4, 2)", "Literal[1]"))])
def test_unknown_or_equal_signatures_give_no_reason(text: str) -> None:
    assert what_changed(text) is None
