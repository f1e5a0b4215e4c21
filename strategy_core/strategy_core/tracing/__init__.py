"""`strategy-lab trace`: records a program that knows nothing of the lab.

`command.py` starts the program, `site/sitecustomize.py` runs first in its process, and `startup.py`
waits for TensorFlow. From then on `hooks.py` and `keras_hooks.py` tell the `Session` what the
program does, and its `Recording` writes the run folder. How a step is recorded belongs to
`recorder`.
"""
