"""The comparison of two sides, computed once per state of their runs.

The page Compare shows it; the server computes it as soon as that page is requested.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.comparison_picker import Side
from strategy_app.widgets.runs_folder import RunEntry
from strategy_profiles.analysis.compare.run_comparison import RunComparison, compare_sets
from strategy_profiles.tables.store import Profile


def compare(a: Side, b: Side, runs: Sequence[RunEntry]) -> RunComparison:
    """Compare the runs of two sides; raises AnalysisError if they cannot be compared.

    Args:
      runs: all runs of the folder: which others there are decides what is known of the spread.
    """
    return a.opened.ask(
        _compare_with,
        tuple(_path_and_stamp(run) for run in a.more),
        tuple(_path_and_stamp(run) for run in b.runs),
        a.segment.segment if a.segment else None,
        b.segment.segment if b.segment else None,
        tuple(entry.name for entry in runs) if not (a.more or b.more) else (),
    )


def _path_and_stamp(run: OpenRun) -> tuple[str, str]:
    return str(run.profile.path), run.stamp


def _compare_with(
    profile: Profile,
    more: tuple[tuple[str, str], ...],
    others: tuple[tuple[str, str], ...],
    segment: int | None,
    other_segment: int | None,
    _names: tuple[str, ...],
) -> RunComparison:
    """Compare the sets of a profile and of other runs, which are given by path and `stamp`.

    Stamps and `_names` are arguments for the cache: with others, it does not return the old result.
    """
    return compare_sets(
        [profile, *(open_run(Path(path)).profile for path, _ in more)],
        [open_run(Path(path)).profile for path, _ in others],
        a_segment=segment,
        b_segment=other_segment,
    )
