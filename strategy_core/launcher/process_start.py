"""What one worker process is started with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from strategy_core.processes import protocol
from strategy_core.processes.namespace_handle import NamespaceHandle
from strategy_lab.profiles.run.layout import WorkerFolder, worker_folder


@dataclass(frozen=True, slots=True)
class ProcessStart:
    """Enough to start the process, and to start another one in its place."""

    command: protocol.Run
    network: NamespaceHandle | None = None
    """The namespaces that it enters; None for those of its launcher."""

    @property
    def folder(self) -> WorkerFolder:
        """The folder into which the process records."""
        return worker_folder(Path(self.command.run), self.command.worker, self.command.generation)

    def in_generation(self, generation: int) -> ProcessStart:
        """Return the arguments for a later process, which records into a folder of its own."""
        return replace(self, command=replace(self.command, generation=generation))
