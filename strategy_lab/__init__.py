"""Import names of `app` and `profiles`: `strategy_lab.app` and `strategy_lab.profiles`.

A project may have an `app.py` or a `profiles/` of its own, and Python finds those first. The two
entries of this folder are links to the lab's folders; a wheel holds the files themselves.
"""

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext strategy_lab` in a notebook: the cell magic `%%strategy_lab`."""
    from strategy_core.notebook.magic import register

    register(shell)
