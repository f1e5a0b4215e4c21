"""What a thread is doing, and at which line of the program."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import pytest

from strategy_core.processes.import_path import with_own_code
from strategy_core.recorder.python_sampler import PythonSampler, place_of
from strategy_profiles.run import event_log
from tests.timeouts import MAX_WAIT_S

# Frames come and go and collections are frequent, also in the sampler's thread. There each one lets
# the program go on for a while, as a finalizer that waits for something does.
_COLLECTING = """
import gc, threading, time
from strategy_core.recorder import python_sampler

python_sampler.EVERY_S, python_sampler.MOST_SAMPLES = 0.0005, 500

def is_sampling():
    return any(thread.name == "python-sampler" for thread in threading.enumerate())

def collected(phase, info):
    if threading.current_thread().name == "python-sampler":
        time.sleep(0.0005)

def function(num_locals):
    names = "".join(f"a{i}, " for i in range(num_locals))
    values = "depth, " * num_locals
    code = f"def run(depth, others):\\n {names} = {values}\\n kept = [object(), [depth]]\\n"
    code += " if depth: others[depth % len(others)](depth - 1, others)\\n return kept\\n"
    space = {}
    exec(code, space)
    return space["run"]

gc.callbacks.append(collected)
gc.set_threshold(10)
sampler = python_sampler.PythonSampler()
sampler.start()
number = 0
while is_sampling():
    number += 1
    others = [function(size) for size in (1 + number % 5, 3, 7, 15, 40)]
    for _ in range(100):
        others[-1](30, others)
sampler.stop()
assert len(sampler.samples()["at_ns"]) == 500
"""


def _frame() -> FrameType:
    return sys._getframe(1)


def _as_if_in(path: str, source: str, **names: Any) -> dict[str, Any]:
    space: dict[str, Any] = dict(names)
    exec(compile(source, path, "exec"), space)
    return space


def test_the_programs_own_line_is_named() -> None:
    space = _as_if_in("/work/train.py", "def step():\n    return look()\n", look=_frame)
    assert place_of(space["step"]()) == ("python", "/work/train.py", 2)


def test_time_in_a_library_counts_for_the_programs_line_that_called_it() -> None:
    library = _as_if_in(
        "/usr/lib/site-packages/pandas/core.py", "def mean():\n    return look()\n", look=_frame
    )
    space = _as_if_in("/work/train.py", "def step():\n\n    return mean()\n", mean=library["mean"])
    assert place_of(space["step"]()) == ("python", "/work/train.py", 3)


def test_what_numpy_does_for_the_program_is_the_programs_own_work() -> None:
    """Not TensorFlow's, as half of a step in np.sort once was."""
    library = _as_if_in(
        "/usr/lib/site-packages/numpy/fromnumeric.py",
        "def sort():\n    return look()\n",
        look=_frame,
    )
    space = _as_if_in("/work/train.py", "def step():\n    return sort()\n", sort=library["sort"])
    assert place_of(space["step"]()) == ("python", "/work/train.py", 2)


def test_copying_a_tensor_to_python_is_distinguished_from_other_tensorflow_calls() -> None:
    ops = "/usr/lib/site-packages/tensorflow/python/framework/ops.py"
    source = "def numpy():\n    return look()\ndef run():\n    return look()\n"
    library = _as_if_in(ops, source, look=_frame)
    for name, kind in (("numpy", "read-back"), ("run", "call")):
        space = _as_if_in("/work/train.py", "def step():\n    return f()\n", f=library[name])
        assert place_of(space["step"]()) == (kind, "/work/train.py", 2)


def test_tensorflow_outside_of_site_packages_is_no_code_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a checkout on PYTHONPATH: where it was imported from decides."""
    checkout = tmp_path / "build" / "tensorflow"
    package = ModuleType("tensorflow")
    package.__path__ = [str(checkout)]
    monkeypatch.setitem(sys.modules, "tensorflow", package)
    source = "def numpy():\n    return look()\ndef run():\n    return look()\n"
    library = _as_if_in(str(checkout / "ops.py"), source, look=_frame)
    # The program's own folder may be called so as well.
    program = str(tmp_path / "tensorflow" / "train.py")
    for name, kind in (("numpy", "read-back"), ("run", "call")):
        space = _as_if_in(program, "def step():\n    return f()\n", f=library[name])
        assert place_of(space["step"]()) == (kind, program, 2)
    space = _as_if_in(program, "def step():\n    return look()\n", look=_frame)
    assert place_of(space["step"]()) == ("python", program, 2)


def test_packages_of_debian_are_no_code_of_the_program() -> None:
    library = _as_if_in(
        "/usr/lib/python3/dist-packages/pandas/core.py",
        "def mean():\n    return look()\n",
        look=_frame,
    )
    space = _as_if_in("/work/train.py", "def step():\n\n    return mean()\n", mean=library["mean"])
    assert place_of(space["step"]()) == ("python", "/work/train.py", 3)


def test_tracing_is_recognised_at_any_depth_of_the_stack() -> None:
    graph = "/usr/lib/site-packages/tensorflow/python/framework/func_graph.py"
    body = _as_if_in("/work/train.py", "def body():\n    return look()\n", look=_frame)
    source = "def func_graph_from_py_func():\n    return body()\n"
    outer = _as_if_in(graph, source, body=body["body"])
    assert place_of(outer["func_graph_from_py_func"]()) == ("tracing", "/work/train.py", 2)


@pytest.mark.parametrize(("at", "line"), [(-1, 3), (1000, 4)], ids=["not begun", "in a line"])
def test_a_thread_between_two_lines_counts_for_the_line_before(at: int, line: int) -> None:
    """CPython gives such a frame no line number; the recorder must not end the training for it."""
    code = _as_if_in("/work/train.py", "\n\ndef step():\n    pass\n")["step"].__code__
    between: Any = SimpleNamespace(f_code=code, f_lineno=None, f_back=None, f_lasti=at)
    assert place_of(between) == ("python", "/work/train.py", line)


def test_samples_are_in_order_and_name_places_once() -> None:
    sampler = PythonSampler()
    sampler._look()
    sampler._look()
    samples = sampler.samples()
    assert samples["at_ns"] == sorted(samples["at_ns"])
    assert len(samples["at_ns"]) == len(samples["place"]) == 2
    assert all(len(place) == 3 for place in samples["places"])
    assert any(name.startswith("test_python_sampler.py:") for _, name, _ in samples["places"])


def test_pythons_switch_interval_is_restored_after_the_window() -> None:
    before = sys.getswitchinterval()
    sampler = PythonSampler()
    sampler.start()
    assert sys.getswitchinterval() <= 0.001
    sampler.stop()
    sampler.samples()
    assert sys.getswitchinterval() == before


def test_what_the_lab_reads_itself_is_not_the_programs_own_work() -> None:
    """`trace` reads the optimizer's count of updates around a call of the program."""
    ops = "/usr/lib/site-packages/tensorflow/python/framework/ops.py"
    library = _as_if_in(ops, "def numpy():\n    return look()\n", look=_frame)
    source = "def read():\n    return numpy()\n"
    recorder_step = find_spec("strategy_core.recorder.step")  # an import would load TensorFlow
    assert recorder_step is not None
    assert recorder_step.origin is not None
    for path in (recorder_step.origin, event_log.__file__):
        lab = _as_if_in(path, source, numpy=library["numpy"])
        space = _as_if_in("/work/train.py", "def step():\n    return f()\n", f=lab["read"])
        assert place_of(space["step"]()) == ("call", "/work/train.py", 2)


@pytest.mark.slow
def test_collections_of_garbage_while_the_stack_is_read_do_no_harm() -> None:
    """Python 3.11 collects while it makes the frame objects that the sampler asks for."""
    command = [sys.executable, "-c", _COLLECTING]
    ended = subprocess.run(
        command,
        check=False,
        env=with_own_code(os.environ),
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
