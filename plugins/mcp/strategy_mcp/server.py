"""The tools of the MCP server, with the texts by which an agent chooses among them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

import strategy_core.planning
from strategy_mcp.answers import MOST_ROWS, Answers, Json
from strategy_mcp.starting import Starting
from strategy_mcp.strict_server import StrictServer
from strategy_profiles.errors import LabError

INSTRUCTIONS = (
    "Recorded runs of tf.distribute training: time per replica, communication, placement. Begin "
    "with list_runs, then findings (what limits a run, with evidence). summary has the figures, "
    "sql every row. A value that could not be measured is null with a reason beside it, never 0; "
    "definitions explains every figure."
)
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
_STARTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_LONGEST_WAIT_S = 600.0
Args = ParamSpec("Args")
Run = Annotated[str, Field(description="name of a run, as list_runs gives it")]
Names = list[str] | str
"""One name is a list of one, because agents write it so."""
Wait = Annotated[float, Field(ge=0, le=_LONGEST_WAIT_S, description="longest wait, in seconds")]


def build_server(answers: Answers, starting: Starting | None = None) -> MCPServer[Any]:
    """The server with the tools that read, and with `starting` those that start runs."""
    server = StrictServer(
        "strategy-lab",
        title="Strategy Lab",
        instructions=INSTRUCTIONS,
        version=strategy_core.__version__,
        log_level="WARNING",
    )
    _add_reading(server, answers)
    if starting is not None:
        _add_starting(server, starting)
    return server


def _add_reading(server: MCPServer[Any], answers: Answers) -> None:
    def list_runs(limit: Annotated[int, Field(ge=1, le=500)] = 20) -> Json:
        """The newest runs of the runs folder: name, time, RunSpec, tags, status."""
        return answers.list_runs(limit)

    def summary(
        run: Run,
        details: Annotated[
            Names, Field(description="entries to add, as left_out names them; all for every one")
        ] = [],  # noqa: B006  never changed; pydantic copies it
    ) -> Json:
        """The figures of a run: per segment the steps, replicas, collectives, bytes, waits, loss;
        memory, notes. Times in ms, sizes in bytes. left_out names what details adds, such as
        placement; the tool findings has key_numbers and findings."""
        return answers.summary(run, _as_list(details))

    def findings(run: Run) -> Json:
        """What limits a run: per segment a headline, the key numbers and the findings, the
        costliest first, each with its cost, evidence and advice."""
        return answers.findings(run)

    def definitions(
        about: Annotated[str, Field(description="only those that mention this text")] = "",
    ) -> Json:
        """How every figure is defined (meaning, unit, formula, source), and the glossary."""
        return answers.definitions(about)

    def tables(
        table: Annotated[str, Field(description="name of a table, for its columns")] = "",
        run: Annotated[str, Field(description="name of a run, for the numbers of rows")] = "",
    ) -> Json:
        """The tables that the tool sql reads and what a row of each is; with table, its columns."""
        return answers.tables(table, run)

    def sql(run: Run, query: str, limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100) -> Json:
        """One reading statement of DuckDB SQL over the tables of a run. It has no access to
        files, network or settings. is_cut tells that there are more rows than the limit."""
        return answers.sql(run, query, limit)

    def compare(
        a: Annotated[Names, Field(min_length=1, description="run or runs of side A")],
        b: Annotated[Names, Field(min_length=1, description="run or runs of side B")],
    ) -> Json:
        """Is B faster than A, or is it noise? One run a side gives the difference of these two
        runs; several a side, recorded alternately, give a confidence interval."""
        return answers.compare(_as_list(a), _as_list(b))

    for tool in (list_runs, summary, findings, definitions, tables, sql, compare):
        server.add_tool(_explained(tool), annotations=_READS)


def _add_starting(server: MCPServer[Any], starting: Starting) -> None:
    def devices() -> Json:
        """The devices of this machine, and what the field devices of a RunSpec may ask for."""
        return starting.devices()

    def start_run(
        spec: Annotated[Json, Field(description="fields of a RunSpec: strategy, devices, steps")],
        name: Annotated[str, Field(description="name of the run; empty for a new one")] = "",
    ) -> Json:
        """Start a training run and return at once. One run at a time. The run ends with this
        server. Ask for its end with wait_for_run."""
        return starting.start(spec, name)

    def wait_for_run(run: Run, timeout_s: Wait = 60.0) -> Json:
        """Wait until a run that start_run started has ended; tells its status and last step."""
        return starting.wait(run, timeout_s)

    def stop_run(run: Run, timeout_s: Wait = 30.0) -> Json:
        """Stop a run that start_run started after its present step; its records stay."""
        return starting.stop(run, timeout_s)

    server.add_tool(_explained(devices), annotations=_READS)
    for tool in (start_run, wait_for_run, stop_run):
        server.add_tool(_explained(tool), annotations=_STARTS)


def _as_list(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else names


def _explained(tool: Callable[Args, Json]) -> Callable[Args, Json]:
    """The tool, whose LabError the agent reads as a sentence. MCP calls it in a thread."""

    @functools.wraps(tool)
    def call(*args: Args.args, **kwargs: Args.kwargs) -> Json:
        try:
            return tool(*args, **kwargs)
        except LabError as error:
            raise ToolError(str(error)) from None

    return call
