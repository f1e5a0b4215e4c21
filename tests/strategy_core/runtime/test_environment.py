"""What a run records of the process that trains."""

from __future__ import annotations

import pytest

from strategy_profiles.run.event_parts import Threads

pytestmark = pytest.mark.tf


@pytest.mark.parametrize(
    ("set_by_program", "variables", "expected"),
    [
        ((0, 0), {}, Threads(0, 0)),
        ((3, 1), {"TF_NUM_INTEROP_THREADS": "2"}, Threads(3, 1)),
        ((0, 0), {"TF_NUM_INTEROP_THREADS": "2", "TF_NUM_INTRAOP_THREADS": "4"}, Threads(2, 4)),
        ((0, 0), {"TF_NUM_INTEROP_THREADS": "two"}, Threads(0, 0)),
        ((-1, 0), {}, Threads(1, 0)),
    ],
)
def test_thread_pools_are_those_of_the_program_then_of_the_environment(
    set_by_program: tuple[int, int],
    variables: dict[str, str],
    expected: Threads,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tensorflow as tf

    from strategy_core.runtime.environment import threads

    for pool, size in zip(("inter", "intra"), set_by_program, strict=True):
        getter = f"get_{pool}_op_parallelism_threads"
        monkeypatch.setattr(tf.config.threading, getter, lambda size=size: size)
    for name in ("TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert threads() == expected
