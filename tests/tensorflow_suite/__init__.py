"""TensorFlow's own TPU tests, run on emulated cores.

    python -m tests.tensorflow_suite --source PATH [--only FILE ...] [--json PATH]

`PATH` is a checkout of TensorFlow at the installed version; its test files are read from there and
are no part of this repository. Each file runs in a process of its own with emulated cores. The
command prints a table: tests run, passed, not applicable with the reason, and failed, by file.
"""
