"""What the lab cannot do with the installed TensorFlow and Keras, because a private name is gone.

A private name that moves costs the feature that needs it, and no other: each use goes through here
and says what its loss means. The worker writes these sentences to the run as warnings.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from strategy_profiles.errors import LabError

_costs: dict[str, str] = {}
_told: set[str] = set()


def private(path: str, cost: str) -> Any:
    """The object at `path`, `package.module:name`; None if it is gone, and `cost` is kept.

    `package.module:` is the module itself.
    """
    value = _find(path)
    if value is None:
        lost(path, cost)
    return value


def required(path: str, feature: str) -> Any:
    """The object at `path`; raises LabError if it is gone, because `feature` cannot do without."""
    value = _find(path)
    if value is None:
        raise unavailable(feature, path)
    return value


def has(owner: Any, name: str, cost: str) -> bool:
    """Whether an object has a private attribute; if not, `cost` is kept."""
    if hasattr(owner, name):
        return True
    kind = owner if isinstance(owner, type) else type(owner)
    lost(f"{kind.__module__}.{kind.__qualname__}.{name}", cost)
    return False


def lost(name: str, cost: str) -> None:
    """Keep what the loss of a private name means, once."""
    _costs.setdefault(name, cost)


def new_losses() -> list[str]:
    """A sentence for each private name found to be gone since the last call in this process."""
    new = [name for name in _costs if name not in _told]
    _told.update(new)
    return [f"{versions()} has no {name}: {_costs[name]}." for name in new]


def unavailable(feature: str, name: str) -> LabError:
    """The error for a feature that this TensorFlow cannot give at all."""
    return LabError(
        f"{feature} needs {name}, which {versions()} does not have",
        advice="Install a TensorFlow that the README lists",
    )


def versions() -> str:
    """`TensorFlow 2.21.0 with Keras 3.15.0`."""
    import keras
    import tensorflow as tf

    return f"TensorFlow {tf.__version__} with Keras {keras.__version__}"


def _find(path: str) -> Any:
    module, _, names = path.partition(":")
    try:
        value = import_module(module)
        for name in filter(None, names.split(".")):
            value = getattr(value, name)
    except (ImportError, AttributeError):
        return None
    return value
