"""Run and record real tf.distribute programs. TensorFlow lives in here and nowhere else.

`lab.record`, `lab.RecorderCallback` and `lab.trace_contexts` are loaded when they are first asked
for: importing this package imports no TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strategy_core.recorder.context_tracer import trace_contexts
    from strategy_core.recorder.fit_callback import RecorderCallback
    from strategy_core.recorder.program import record

    __version__: str

__all__ = ["RecorderCallback", "record", "trace_contexts"]

_HOMES = {
    "record": "recorder.program",
    "RecorderCallback": "recorder.fit_callback",
    "trace_contexts": "recorder.context_tracer",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext strategy_core` in a notebook: what packages define in its shell."""
    from strategy_profiles.registered import registered

    for item in registered("magics").values():
        item.load()(shell)


def _version() -> str:
    """That of pyproject.toml, as it was when the package was installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("strategy-lab")
    except PackageNotFoundError:
        return "0+unknown"  # a checkout on the path, not installed
