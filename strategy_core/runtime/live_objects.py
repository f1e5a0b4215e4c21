"""Finds the live objects of a class.

Not by `gc.get_objects`: it holds every object for a moment, also a tuple that C code of another
thread is filling. Filling it then fails, and TensorFlow raises an error in the program ("Error
while creating shape").
"""

from __future__ import annotations

import gc
from typing import Any


def instances(kind: type) -> list[Any]:
    """The live objects of a class written in Python, or of a class that inherits from it.

    Each object refers to its class, and only objects that do so are looked at.
    """
    kinds = _with_subclasses(kind)
    numbers = set(map(id, kinds))  # a metaclass may have no hash
    # Not isinstance: it asks an object for its class, and a dead weakref.proxy raises then.
    return [each for each in gc.get_referrers(*kinds) if id(type(each)) in numbers]


def _with_subclasses(kind: type) -> list[type]:
    found = [kind]
    for each in found:  # grows meanwhile
        inherit: list[type] = type.__subclasses__(each)
        found += [other for other in inherit if other not in found]
    return found
