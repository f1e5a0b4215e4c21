"""Registers `%strategy_lab`, and runs a cell as IPython would, recorded into a run folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from IPython.core.error import UsageError
from IPython.core.magic_arguments import (
    argument,
    magic_arguments,
    parse_argstring,
)
from IPython.display import display

import strategy_profiles
from strategy_core.cli.trace import capture_of
from strategy_core.processes.free_port import free_port
from strategy_core.processes.running_labs import HOST, address_of, start_server
from strategy_core.runtime.library_files import count_as_lab
from strategy_core.tracing.ending import write_ending, write_fault
from strategy_core.tracing.faults import Faults
from strategy_core.tracing.session import Session
from strategy_core.tracing.settings import Settings
from strategy_core.tracing.startup import watch
from strategy_profiles.errors import LabError
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.run.new_name import in_folder, numbered_name

COLAB = "google.colab"

_started: dict[Path, str] = {}
"""Address by folder of runs: a second `%strategy_lab` names the same lab."""


def open_page(runs: Path) -> None:
    """Start a lab that ends with the kernel, unless one runs, and show where it is.

    In Colab its window opens through Colab's port helper. Raises LabError if no port is free.
    """
    folder = runs.resolve()
    if COLAB in sys.modules:
        _open_in_colab(folder)
        return
    address = address_of(folder) or _started.get(folder)
    if address is None:
        address = _started[folder] = start_server(folder, free_port(HOST))
    print(f"strategy-lab: the page of {runs} is at {address}")


def _open_in_colab(folder: Path) -> None:
    output = sys.modules[COLAB].output
    if folder not in _started:
        port = free_port(HOST)
        # The name under which Colab's proxy serves this port to the browser.
        name = urlsplit(output.eval_js(f"google.colab.kernel.proxyPort({port})")).netloc
        _started[folder] = start_server(folder, port, ["--allow-host", name])
    parts = urlsplit(_started[folder])
    output.serve_kernel_port_as_window(parts.port, path=f"/?{parts.query}")


Shell = Any
"""IPython's `InteractiveShell`."""


@cache
def session() -> Session:
    """The session of this process; its hooks stay until the process ends."""
    count_as_lab(Path(__file__).parent)
    made = Session(Settings("", os.getpid(), {}), Faults())
    made.idle()
    watch(made)
    return made


def register(shell: Shell) -> None:
    """Define the magic `strategy_lab` in a shell, and watch TensorFlow from here on."""
    session()
    shell.register_magic_function(_cell_magic(shell), magic_kind="cell", magic_name="strategy_lab")
    shell.register_magic_function(_line_magic(), magic_kind="line", magic_name="strategy_lab")


def _line_magic() -> Callable[[str], None]:
    @magic_arguments("strategy_lab")
    @argument("--runs", default="runs", help="the folder of runs (default: %(default)s)")
    def strategy_lab(line: str) -> None:
        """Open the page of the notebook's runs."""
        args = parse_argstring(strategy_lab, line)
        try:
            open_page(Path(args.runs))
        except LabError as wrong:
            raise UsageError(str(wrong)) from wrong

    return strategy_lab


def _cell_magic(shell: Shell) -> Callable[[str, str], None]:
    @magic_arguments("strategy_lab")
    @argument("-o", "--output", metavar="RUN", help="the run folder (default: a new one in runs/)")
    @argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what is captured: a field of RunSpec's capture by its dotted path, such as "
        "capture.every_step=true (repeatable)",
    )
    def strategy_lab(line: str, cell: str) -> None:
        """Run the cell, record its training steps, and show the run's report below it."""
        __tracebackhide__ = True  # IPython leaves this frame out of the cell's own traceback
        args = parse_argstring(strategy_lab, line)
        runs = Path("runs")
        given = Path(args.output) if args.output else None
        try:
            capture = capture_of(args.set)
            folder = in_folder(given, lambda: runs / numbered_name(runs, ["cell"]), _created)
        except LabError as wrong:
            raise UsageError(str(wrong)) from wrong
        print(f"strategy-lab: recording into {folder}")
        error, fault = _run_recorded(
            shell, cell, Settings(str(folder.resolve()), os.getpid(), capture)
        )
        if fault is not None:
            print(f"strategy-lab: {fault}")
        recorded = strategy_profiles.load(folder)
        # A cell that is interrupted, or fails in step 1,000, has recorded the steps until then.
        if error is None or recorded.segments:
            display(recorded)
        if error is not None:
            raise error

    return strategy_lab


def _created(folder: Path) -> Path:
    create_run_file(folder, recorded_by="record")
    return folder


def _run_recorded(
    shell: Shell, cell: str, settings: Settings
) -> tuple[BaseException | None, str | None]:
    """Run a cell. Returns its error, which the shell does not show, and why the recording failed.

    The caller raises the error.
    """
    recorded = session()
    recorded.record_into(settings)
    shows, cache = shell.showtraceback, shell.compile.cache
    number = len(shell.user_ns["In"]) - 1

    def cache_as_this_cell(code: str, _number: int = 0, raw_code: str | None = None) -> str:
        # While a magic runs, IPython 9 has counted on, and would name the cell as the next one.
        name: str = cache(code, number, raw_code=raw_code)
        return name

    shell.showtraceback = lambda *_args, **_kwargs: None
    shell.compile.cache = cache_as_this_cell
    try:
        result = shell.run_cell(cell)
    finally:
        shell.showtraceback, shell.compile.cache = shows, cache
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    recorded.safely(lambda: write_ending(recorded, error))
    is_broken = recorded.faults.is_off
    fault = write_fault(recorded, recorded.recording) if is_broken else None
    recorded.idle()
    return error, fault
