"""What a dying process said, cut down to what tells."""

from __future__ import annotations

from strategy_core.processes.exit_reason import stderr_summary

CRASH = """W0000 00:00:1795226161.147182    6529 dataset.cc:997] Input will not be optimized
F0000 00:00:1795226162.147182    6529 tensor.cc:855] Check failed: dtype() == expected
*** Check failure stack trace: ***
    @     0x7f769f6a3f7b  tensorflow::Tensor::CheckType()
    @     0x7f769f6a3f7c  tensorflow::Tensor::flat()
Fatal Python error: Aborted

Thread 0x00007ff478b5d6c0 (most recent call first):
  File "/lab/processes/command_reader.py", line 42 in _read

Current thread 0x00007ff4799dab80 (most recent call first):
  File "/home/me/mine.py", line 38 in build_model
  File "/lab/worker.py", line 53 in <module>

Extension modules: numpy._core._multiarray_umath, h5py._errors (total: 186)
"""
TRACEBACK = """Traceback (most recent call last):
  File "/lab/worker.py", line 12, in main
    raise ValueError("no such thing")

ValueError: no such thing
"""


def test_a_crash_in_cpp_is_summarised_with_the_programs_line() -> None:
    words = stderr_summary(CRASH)
    assert "Check failed: dtype() == expected; Fatal Python error: Aborted" in words
    assert words.endswith("in /home/me/mine.py, line 38")
    assert "Extension" not in words


def test_a_traceback_is_summarised_by_its_error() -> None:
    assert stderr_summary(TRACEBACK).endswith("ValueError: no such thing")
    assert "\n" not in stderr_summary(TRACEBACK)


def test_an_empty_stderr_has_an_empty_summary() -> None:
    assert stderr_summary("") == ""
    assert stderr_summary("\n \n") == ""


def test_a_crash_of_another_thread_has_no_place() -> None:
    assert stderr_summary("Fatal Python error: Aborted\n") == "Fatal Python error: Aborted"


def test_long_lines_are_cut() -> None:
    assert len(stderr_summary("x" * 10_000)) == 300
