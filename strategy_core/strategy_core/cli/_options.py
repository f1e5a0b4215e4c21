"""Options that several verbs have."""

from __future__ import annotations

import argparse
from pathlib import Path

DEFAULT_RUNS = Path("runs")


def add_output(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add `-o`: the run folder to write."""
    parser.add_argument("-o", "--output", type=Path, metavar="RUN", help=help_text)


def add_runs(parser: argparse.ArgumentParser, help_text: str = "folder of run folders") -> None:
    """Add `--runs`: a folder of run folders; the help names the default."""
    parser.add_argument(
        "--runs",
        type=Path,
        default=DEFAULT_RUNS,
        metavar="DIR",
        help=f"{help_text} (default: %(default)s)",
    )


def add_set(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add `--set`, repeatable: fields of a RunSpec (see `_run_request.read_changes`)."""
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=help_text)
