"""Finds the live objects of a class.

Not by `gc.get_objects`: it holds every object for a moment, also a tuple that C code of another
thread is filling. Filling it then fails, and TensorFlow raises an error in the program ("Error
while creating shape").
"""

from __future__ import annotations

import gc
from typing import Any


def instances(*kinds: type) -> list[Any]:
    """The live objects of classes written in Python, or of classes that inherit from them.

    Each object refers to its class, and only objects that do so are looked at.
    """
    types = _with_subclasses(kinds)
    numbers = set(map(id, types))  # a metaclass may have no hash
    # Not isinstance: it asks an object for its class, and a dead weakref.proxy raises then.
    return [each for each in gc.get_referrers(*types) if id(type(each)) in numbers]


def _with_subclasses(kinds: tuple[type, ...]) -> list[type]:
    types = list(kinds)
    for each in types:  # grows meanwhile
        inherit: list[type] = type.__subclasses__(each)
        types += [other for other in inherit if other not in types]
    return types
