"""The placed graph of one segment: traced in its first step, exported and written in threads.

A segment that reuses the step functions of earlier segments is not traced again; their graphs are
copied.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from strategy_core.private_tf import tracing as private_tf
from strategy_core.recorder import placement
from strategy_core.recorder.op_lines import op_lines
from strategy_core.runtime import gc_control
from strategy_profiles.capture.graph import copy_graphs, replica_of, write_graph
from strategy_profiles.errors import RunFolderError
from strategy_profiles.reporting import units
from strategy_profiles.run.events import PlacementRecorded
from strategy_profiles.run.layout import WorkerFolder

Variables = Iterable[Any] | Callable[[], Iterable[Any]]


class GraphTrace:
    """Traces from the opening of a segment until its first step is done, then writes the graph."""

    def __init__(
        self,
        folder: WorkerFolder,
        segment: int,
        replica_devices: Sequence[str],
        variables: Variables = (),
        core_devices: Sequence[Sequence[str]] = (),
        same_as: Sequence[int] = (),
        left_to: str | None = None,
        collected: Callable[[], Any] | None = None,
    ) -> None:
        self.segment = segment
        self.replica_devices = list(replica_devices)
        self.core_devices = [list(devices) for devices in core_devices]
        self._same_as = same_as
        """Earlier segments with the same step functions; their graphs are copied."""
        self._left_to = left_to
        """Who collects the graphs instead, as a sentence: the runtime gives them out once."""
        self._collected = collected
        """Returns the RunMetadata of the first step, if the caller collects it."""
        self.graphs: Callable[[], Sequence[Any]] = tuple
        """Returns the live graphs in which the program made its ops, for their lines."""
        self._variables = variables
        self._folder = folder
        self._scratch = folder.path / f".trace-{segment:03d}"
        self._thread: threading.Thread | None = None
        self._outcome: PlacementRecorded | None = None
        self._costs_ms: deque[float] = deque()
        """Processor times that other threads have spent on the export and the writing."""
        self.is_tracing = True
        """True until the first step is done."""
        self._is_exporting = False
        if self._is_collecting:
            placement.begin_trace()

    @property
    def _is_collecting(self) -> bool:
        is_left = self._left_to is not None or self._collected is not None
        return self.is_tracing and not self._same_as and not is_left

    @property
    def replica_of(self) -> dict[str, int]:
        """The replica number of each device."""
        return replica_of(self.replica_devices, self.core_devices)

    @property
    def graph_file(self) -> str | None:
        """Path of the written graph, or None if it is not written yet."""
        path = self._folder.graph(self.segment)
        return str(path) if path.exists() else None

    def first_step_done(self) -> None:
        """Export the trace in a thread, and prepare the writer thread, which `write` starts.

        Copies the graphs of segments `same_as` if the step functions are not new. Without a graph
        and variables, the outcome is the reason.
        """
        is_collecting, self.is_tracing = self._is_collecting, False
        if self._same_as:
            self._begin(self._copy, self._same_as)
            return
        held = self._variables() if callable(self._variables) else self._variables
        variables = placement.variable_rows(held)
        if is_collecting:
            self._is_exporting = True
            private_tf.end_graph_collection_beside(lambda: self._export(variables))
        else:
            metadata = None if self._collected is None else self._collected()
            self._exported(metadata, variables)

    def _export(self, variables: list[placement.Row]) -> None:
        try:
            self._exported(placement.end_trace(self._scratch), variables)
        except Exception as error:  # recorded as the reason; training goes on
            self._outcome = self._none(f"The graph could not be exported: {error}")
        finally:
            self._costs_ms.append(time.thread_time() * 1e3)
            self._is_exporting = False

    def _exported(self, metadata: Any, variables: list[placement.Row]) -> None:
        if metadata is None and not variables:
            self._outcome = self._none(
                self._left_to
                or "TensorFlow gave no graph of the first recorded step: its functions had run "
                "before, or are compiled by XLA (jit_compile)"
            )
            return
        # A coordinator has variables but no graph: its workers instantiate the functions.
        self._begin(self._write, metadata, variables)

    def abandon(self) -> None:
        """Stop tracing without an export, because the first step did not happen."""
        if self._is_collecting:
            placement.abandon_trace()
        self.is_tracing = False

    def leave_to(self, who: str) -> bool:
        """Stop collecting graphs, which the program is about to do itself.

        Returns whether this trace goes without a graph because of it.
        """
        private_tf.wait_for_graphs()
        if not self._is_collecting:
            return False
        placement.abandon_trace()
        self._left_to = who
        return True

    def write(self) -> None:
        """Start writing the exported graph in its own thread. Later calls do nothing.

        Writing holds Python's lock for milliseconds at a time, which makes concurrent steps longer
        (28 instead of 4 ms with digits-mlp). So the caller waits for the end of the first capture
        window if steps are short.
        """
        if self._thread is not None and self._thread.ident is None:
            self._thread.start()

    def outcome(self, wait: bool = False) -> PlacementRecorded | None:
        """Return the event to record, once.

        Returns None if the result is not ready or was returned before. With `wait`, starts the
        writing if needed and waits for it.
        """
        if wait:
            private_tf.wait_for_graphs()
            self.write()
        if wait and self._thread is not None:
            self._thread.join()
        outcome, self._outcome = self._outcome, None
        return outcome

    def take_cost_ms(self) -> float:
        """Processor time of export and writing since the last call, in ms."""
        return sum(self._costs_ms.popleft() for _ in range(len(self._costs_ms)))

    @property
    def is_reported(self) -> bool:
        """Whether the result is final and `outcome` has returned it."""
        return self.is_settled and self._outcome is None

    @property
    def is_settled(self) -> bool:
        """Whether the result is final: the graph is written, or cannot be."""
        if self.is_tracing or self._is_exporting:
            return False
        if self._thread is None:
            return True
        return self._thread.ident is not None and not self._thread.is_alive()

    def _begin(self, write: Callable[..., None], *args: Any) -> None:
        def timed() -> None:
            # the graph's objects are all alive until the end: a collection would find nothing
            with gc_control.postponed():
                write(*args)
            self._costs_ms.append(time.thread_time() * 1e3)

        self._thread = threading.Thread(target=timed, daemon=True)

    def _copy(self, before: Sequence[int]) -> None:
        path = self._folder.placement(self.segment)
        try:
            sources = [self._folder.placement(segment) for segment in before]
            count = placement.copy_placements(sources, self.segment, path)
            graphs = [self._folder.graph(segment) for segment in before]
            shared = copy_graphs(graphs, self._folder.graph(self.segment))
            self._outcome = self._recorded(path, count, shared_names=shared)
        except (OSError, ValueError, RunFolderError) as error:
            named = units.listed([f"segment {segment}" for segment in before])
            why = f"Its step is that of {named}, and a graph is not on record: {error}"
            self._outcome = self._none(why)

    def _write(self, metadata: Any, variables: list[placement.Row]) -> None:
        try:
            nodes = [] if metadata is None else placement.read_nodes(metadata)
            if nodes:
                write_graph(nodes, self._folder.graph(self.segment))
            path = self._folder.placement(self.segment)
            lines = op_lines(nodes, self.graphs())
            count = placement.write_placement(
                nodes, lines, variables, self.replica_of, self.segment, self._folder.worker, path
            )
            compiled = placement.count_compiled(metadata) if nodes else None
            self._outcome = self._recorded(path, count, compiled)
        except Exception as error:  # recorded as the reason; training goes on
            self._outcome = self._none(f"{type(error).__name__}: {error}")

    def _recorded(
        self,
        path: Path,
        num_rows: int,
        num_compiled: int | None = None,
        shared_names: Sequence[str] = (),
    ) -> PlacementRecorded:
        crc32 = zlib.crc32(path.read_bytes())
        return PlacementRecorded(
            self.segment,
            path.name,
            num_rows,
            crc32=crc32,
            num_compiled=num_compiled,
            shared_names=list(shared_names),
        )

    def _none(self, reason: str) -> PlacementRecorded:
        return PlacementRecorded(self.segment, None, 0, reason)
