"""The way into a network of its own, for a process that is started there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamespaceHandle:
    """The way into a network: descriptors of namespaces, for the process that is to enter."""

    namespaces: tuple[int, ...]

    @property
    def arguments(self) -> list[str]:
        """Command-line arguments of a worker that is started with these descriptors."""
        return ["--enter", ",".join(map(str, self.namespaces))]
