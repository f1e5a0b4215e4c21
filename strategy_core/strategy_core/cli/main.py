"""Find the verb, parse its arguments, run it, turn what happened into an exit code.

0 done, 1 the check or the run failed, 2 the request was wrong (one line on stderr), 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import ast
import errno
import gc
import importlib
import importlib.util
import os
import pkgutil
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

import strategy_core.cli
from strategy_core.cli._commands import no_commands
from strategy_core.tracing.settings import WAIT_VARIABLE
from strategy_profiles.errors import LabError, shortened
from strategy_profiles.guards import RefusedFileError

PROGRAM = "strategy-lab"
DEFAULT_VERB = "ui"
READING = ("baseline", "compare", "gate", "import", "recover", "sql", "summary")
"""Verbs whose process reads runs and starts no program."""
_NOT_VERBS = {"main"}
_HELP = re.compile(r"^HELP = (\(.*?^\)|.*?$)", re.MULTILINE | re.DOTALL)
_VERSION_HELP = "show program's version number and exit"
_REFUSED_PATHS = {errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES}


class Verb(Protocol):
    """What a verb's module offers; a private module (`_name.py`) is not a verb."""

    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class _NoPandas:
    """Finds modules before all others do, and says that there is no pandas."""

    @staticmethod
    def find_spec(name: str, _path: object, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("This command runs without pandas", name=name)


def entry_point() -> NoReturn:
    """The command `strategy-lab`."""
    if sys.argv[1:2] and sys.argv[1] in READING:
        _start_quickly()
    sys.exit(main(sys.argv[1:]))


def _start_quickly() -> None:
    """Leave out what a short run's answer does not need and would take half of its time."""
    # PyArrow imports pandas for its first array, where it is installed.
    sys.meta_path.insert(0, _NoPandas)
    # What is imported stays: there is nothing to collect.
    gc.set_threshold(50_000)
    # NumPy's library of linear algebra starts a thread per core otherwise.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    with no_commands(is_json=False):
        return _main(argv)


def _main(argv: Sequence[str]) -> int:
    os.environ.pop(WAIT_VARIABLE, None)  # meant for programs, not for the lab's own processes
    modules = verb_modules()
    try:
        args = _parse(list(argv), modules)
        with no_commands(is_json=bool(getattr(args, "json", False))):
            return cast(int, args.run(args))
    except LabError as error:
        print(f"{PROGRAM}: {_one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader of our output left, e.g. `| head`: nothing is wrong, and nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except RuntimeError as error:
        if not str(error).startswith("Symlink loop"):  # of `Path.resolve`, before Python 3.13
            raise
        print(f"{PROGRAM}: {shortened(str(error), 200)}. Name another file.", file=sys.stderr)
        return 2
    except OSError as error:
        # A path that the system refuses, such as a name of 300 letters; of the lab's own files
        # each verb says more itself.
        if error.errno not in _REFUSED_PATHS and not isinstance(error, RefusedFileError):
            raise
        refused = shortened(str(error.filename or ""), 80)
        print(f"{PROGRAM}: {error.strerror}: {refused}. Name another file.", file=sys.stderr)
        return 2


def verb_modules() -> dict[str, str]:
    """Each verb and the name of its module, found in this package's folder."""
    found = pkgutil.iter_modules(strategy_core.cli.__path__)
    return {
        item.name.rstrip("_").replace("_", "-"): item.name
        for item in found
        if item.name not in _NOT_VERBS and not item.name.startswith("_")
    }


def verb_parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of every verb."""
    modules = verb_modules()
    return _verbs(_program(), modules)


def _parse(argv: list[str], modules: dict[str, str]) -> argparse.Namespace:
    if not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help", "--version")):
        argv = [DEFAULT_VERB, *argv]
    parser = _program()
    # Importing only the verb that was asked for keeps every command's start quick.
    if argv[0] not in modules:
        _list_verbs(parser, modules)
        return parser.parse_args(argv)  # --help, --version or no verb: each ends here
    verbs = _verbs(parser, {argv[0]: modules[argv[0]]})
    args, unknown = parser.parse_known_args(argv)
    if unknown:  # parse_args would point to the help of all verbs
        verbs[argv[0]].error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def _program() -> argparse.ArgumentParser:
    parser = _Parser(prog=PROGRAM, description="An interactive lab and profiler for tf.distribute.")
    parser.add_argument("--version", action=_Version, nargs=0, help=_VERSION_HELP)
    return parser


class _Version(argparse.Action):
    """The version, looked up when it is asked for: reading it takes longer than all else here."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(f"{PROGRAM} {strategy_core.__version__}")
        parser.exit()


def _list_verbs(parser: argparse.ArgumentParser, modules: dict[str, str]) -> None:
    """Add the verbs with their help alone, and import none of them."""
    subcommands = parser.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    for name, module in modules.items():
        subcommands.add_parser(name, help=_help_of(module))


def _help_of(module: str) -> str:
    """The verb's `HELP`, read from its source."""
    spec = importlib.util.find_spec(f"strategy_core.cli.{module}")
    source = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
    found = _HELP.search(source)
    return str(ast.literal_eval(found[1])) if found else ""


def _verbs(
    parser: argparse.ArgumentParser, modules: dict[str, str]
) -> dict[str, argparse.ArgumentParser]:
    """Add a subcommand per verb, and return their parsers by name.

    `modules` names each verb's module in this package, which follows the protocol `Verb`. The
    parsed arguments carry the module's `run` as `args.run`.
    """
    subcommands = parser.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    parsers: dict[str, argparse.ArgumentParser] = {}
    for name, module in modules.items():
        verb = cast(Verb, importlib.import_module(f"strategy_core.cli.{module}"))
        parsers[name] = subcommands.add_parser(name, help=verb.HELP, description=verb.HELP)
        verb.add_arguments(parsers[name])
        parsers[name].set_defaults(run=verb.run)
    return parsers


class _Parser(argparse.ArgumentParser):
    """Argument errors as the lab's own: one line."""

    def error(self, message: str) -> NoReturn:
        raise LabError(shortened(message, 400), advice=f"See {self.prog} --help")


def _one_line(error: LabError) -> str:
    return " ".join(str(error).split())
