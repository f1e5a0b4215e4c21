"""The network namespaces that a worker process enters when it starts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamespaceHandle:
    """Open descriptors of namespaces, which the worker inherits and enters."""

    namespaces: tuple[int, ...]

    @property
    def arguments(self) -> list[str]:
        """Command-line arguments of a worker that is started with these descriptors."""
        return ["--enter", ",".join(map(str, self.namespaces))]
