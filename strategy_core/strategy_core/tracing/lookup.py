"""A hook: a descriptor in the place of a method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Method = Callable[..., Any]


def _itself(_instance: Any, method: Method) -> Method:
    return method


class Lookup:
    """A method that tells when it is looked up on an object: `given` the object and the method of
    it, it returns what the program calls.

    A subclass may do that in its own `__get__`, which is one call less.
    """

    def __init__(
        self, owner: type, name: str, given: Callable[[Any, Method], Method] = _itself
    ) -> None:
        self.__wrapped__ = owner.__dict__[name]
        self.__doc__ = getattr(self.__wrapped__, "__doc__", None)
        self._given = given
        setattr(owner, name, self)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        bound = self.__wrapped__.__get__(instance, owner)
        return bound if instance is None else self._given(instance, bound)
