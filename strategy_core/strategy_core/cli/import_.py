"""`strategy-lab import`: a profile that was recorded elsewhere, as a run."""

from __future__ import annotations

import argparse
from pathlib import Path

import strategy_profiles
from strategy_core.cli._options import add_output

HELP = (
    "open a profile recorded elsewhere: XPlane files, a TensorBoard log directory, a Chrome trace"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=Path,
        metavar="PATH",
        help="an .xplane.pb file, a folder plugins/profile/TIME or the log directory above it (the "
        "newest session), or a trace.json; each may be packed with gzip",
    )
    add_output(parser, "the new run folder (default: runs/ and the name of the session)")


def run(args: argparse.Namespace) -> int:
    """Return the exit code: 0, also if only a part of the profile can be read, which is said."""
    from strategy_core.cli._summary_text import print_summary
    from strategy_profiles.imports.import_run import import_profile

    imported = import_profile(args.path, args.output)
    profile = strategy_profiles.load(imported.folder)
    print_summary(profile, profile.summary())
    print(f"\nImported as {imported.folder}")
    return 0
