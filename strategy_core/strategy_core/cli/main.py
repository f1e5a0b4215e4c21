"""Find the verb, parse its arguments, run it, turn what happened into an exit code.

0 done, 1 the check or the run failed, 2 the request was wrong (one line on stderr), 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import errno
import gc
import os
import pkgutil
import re
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol, cast

import strategy_core.cli
from strategy_core.cli._commands import no_commands
from strategy_core.cli._plain import plain
from strategy_core.tracing.settings import WAIT_VARIABLE
from strategy_profiles.errors import LabError, shortened
from strategy_profiles.guards import RefusedFileError
from strategy_profiles.registered import LAB, Registered, registered

PROGRAM = LAB
DEFAULT_VERB = "ui"
_NOT_VERBS = {"main"}
_HELP = re.compile(r"^HELP = (\(.*?^\)|.*?$)", re.MULTILINE | re.DOTALL)
_ONLY_READS = re.compile(r"^ONLY_READS = True$", re.MULTILINE)
_VERSION_HELP = "show program's version number and exit"
_REFUSED_PATHS = {errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES}


class Verb(Protocol):
    """What a verb's module offers; a private module (`_name.py`) is not a verb.

    `ONLY_READS = True` says that its process reads runs and starts no program, so that it starts
    quickly. This line and `HELP` are read from the source, before the module is imported.
    """

    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class _NotNeeded:
    """Finds modules before all others do, and says that these are not there.

    PyArrow imports pandas and dateutil for its first array, and the clients of clouds with its
    Parquet reader: where they are installed, and it works without.
    """

    _NAMES = frozenset(
        (
            "dateutil",
            "pandas",
            "pyarrow._azurefs",
            "pyarrow._gcsfs",
            "pyarrow._hdfs",
            "pyarrow._s3fs",
        )
    )

    @staticmethod
    def find_spec(name: str, _path: object, _target: object = None) -> None:
        if name in _NotNeeded._NAMES:
            raise ModuleNotFoundError(f"This command runs without {name}", name=name)


def entry_point() -> NoReturn:
    """The command `strategy-lab`."""
    verb = _verb(sys.argv[1]) if sys.argv[1:] else None
    if verb and _ONLY_READS.search(_source_of(verb)):
        _start_quickly()
    sys.exit(main(sys.argv[1:]))


def _start_quickly() -> None:
    """Leave out what a short run's answer does not need and would take half of its time."""
    sys.meta_path.insert(0, _NotNeeded)
    # What is imported stays: there is nothing to collect, neither meanwhile nor as Python ends.
    gc.set_threshold(200_000)
    atexit.register(gc.freeze)
    # NumPy's library of linear algebra starts a thread per core otherwise.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    with no_commands(is_json=False):
        return _main(argv)


def _main(argv: Sequence[str]) -> int:
    os.environ.pop(WAIT_VARIABLE, None)  # meant for programs, not for the lab's own processes
    try:
        args = _parse(list(argv))
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
        print(
            f"{PROGRAM}: {plain(shortened(str(error), 200))}. Name another file.", file=sys.stderr
        )
        return 2
    except OSError as error:
        # A path that the system refuses, such as a name of 300 letters; of the lab's own files
        # each verb says more itself.
        if error.errno not in _REFUSED_PATHS and not isinstance(error, RefusedFileError):
            raise
        refused = plain(shortened(str(error.filename or ""), 80))
        print(f"{PROGRAM}: {error.strerror}: {refused}. Name another file.", file=sys.stderr)
        return 2


def verbs() -> dict[str, Registered]:
    """Each verb and where its module is: in this package's folder, or in a package that adds it."""
    return dict(sorted((registered("verbs") | own_verbs()).items()))


def _verb(name: str) -> Registered | None:
    return own_verbs().get(name) or verbs().get(name)


def own_verbs() -> dict[str, Registered]:
    """The verbs of this package, one per file."""
    package = strategy_core.cli
    names = (item.name for item in pkgutil.iter_modules(package.__path__))
    files = {
        name.rstrip("_").replace("_", "-"): f"{package.__name__}.{name}"
        for name in names
        if name not in _NOT_VERBS and not name.startswith("_")
    }
    return {verb: Registered(LAB, "verbs", verb, module) for verb, module in files.items()}


def verb_parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of every verb."""
    return _add_verbs(_program(), verbs())


def _parse(argv: list[str]) -> argparse.Namespace:
    if not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help", "--version")):
        argv = [DEFAULT_VERB, *argv]
    parser = _program()
    # Importing only the verb that was asked for keeps every command's start quick.
    verb = _verb(argv[0])
    if verb is None:
        _list_verbs(parser)
        return parser.parse_args(argv)  # --help, --version or no verb: each ends here
    parsers = _add_verbs(parser, {argv[0]: verb})
    args, unknown = parser.parse_known_args(argv)
    if unknown:  # parse_args would point to the help of all verbs
        parsers[argv[0]].error(f"unrecognized arguments: {' '.join(unknown)}")
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


def _list_verbs(parser: argparse.ArgumentParser) -> None:
    """Add the verbs with their help alone, and import none of them."""
    subcommands = parser.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    for name, verb in verbs().items():
        subcommands.add_parser(name, help=_help_of(verb))


def _help_of(verb: Registered) -> str:
    """The verb's `HELP`, read from its source."""
    match = _HELP.search(_source_of(verb))
    return str(ast.literal_eval(match[1])) if match else ""


def _source_of(verb: Registered) -> str:
    try:
        return verb.file().read_text("utf-8")
    except LabError:
        return ""


def _add_verbs(
    parser: argparse.ArgumentParser, added: dict[str, Registered]
) -> dict[str, argparse.ArgumentParser]:
    """Add a subcommand per verb, and return their parsers by name.

    A verb's module follows the protocol `Verb`. The parsed arguments carry its `run` as `args.run`.
    """
    subcommands = parser.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    parsers: dict[str, argparse.ArgumentParser] = {}
    for name, item in added.items():
        verb = cast(Verb, item.load())
        parsers[name] = subcommands.add_parser(name, help=verb.HELP, description=verb.HELP)
        verb.add_arguments(parsers[name])
        parsers[name].set_defaults(run=verb.run)
    return parsers


class _Parser(argparse.ArgumentParser):
    """Argument errors as the lab's own: one line."""

    def error(self, message: str) -> NoReturn:
        raise LabError(shortened(message, 400), advice=f"See {self.prog} --help")


def _one_line(error: LabError) -> str:
    return plain(" ".join(str(error).split()))
