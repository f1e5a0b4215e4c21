"""The processes of a run with several: role and exit of each, and the recovery after a loss."""

from __future__ import annotations

from strategy_lab.profiles.analysis.clocks import worker_clocks
from strategy_lab.profiles.analysis.losses import loss
from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import Cell, Section, name, table
from strategy_lab.profiles.reporting.units import MISSING
from strategy_lab.profiles.run.process_history import Process, read_processes


def processes(facts: RunFacts) -> Section | None:
    """Return the section, or None for a run of one process."""
    found = read_processes(facts.profile.sources).current()
    if len(found) < 2:
        return None
    heads = ("Process", "State", "Pid", "Address", "Generation", "Its clock", "Its end")
    clocks = {item.worker: item.sentence for item in worker_clocks(facts.profile)}
    rows = [_row(process, clocks.get(process.worker)) for process in found]
    body = join(table("State at the last event of the run", heads, rows), _story(facts))
    return Section("processes", "Processes", body)


def _row(process: Process, clock: str | None) -> tuple[Cell | str, ...]:
    where = " on ".join(filter(None, (process.address, process.host)))
    return (
        name(process.title),
        process.state,
        MISSING if process.pid is None else str(process.pid),
        where or MISSING,
        str(process.generation),
        name(clock or MISSING),
        name(process.reason or MISSING),
    )


def _story(facts: RunFacts) -> Markup | None:
    found = loss(facts.profile)
    if found is None:
        return None
    lines = [tag("li", sentence) for sentence in found.sentences]
    return join(tag("h3", f"After {found.title} was lost"), tag("ol", *lines))
