"""Cases: damaged and made-up inputs by seed, and the judge of each answer (see `tests.fuzz`)."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pyarrow as pa
import yaml

import strategy_profiles
from strategy_core.cli.main import main as command_line
from strategy_core.cli.main import verb_parsers
from strategy_core.planning import validation
from strategy_profiles.errors import LabError
from strategy_profiles.run.line_checksum import sealed
from strategy_profiles.spec.run_spec import RunSpec, load_spec, parse_spec
from strategy_profiles.tables.schema import TABLES
from tests.doors.hostile import TEXTS, make_files
from tests.fuzz.parquet_mutations import mutate_parquet
from tests.fuzz.runs import write_runs
from tests.fuzz.targets import CHEAP, EXPENSIVE, TARGETS

ROOT = Path(__file__).parents[2]
MOST_MEMORY_BYTES = 8 << 30
ODD_NUMBERS = (
    0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, 1e308, -1e308, 5e-324, 1.5,
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    *ODD_NUMBERS, None, True, "", "x" * 5000, "9" * 5000, "\u202e<script>", [], {}, [[]], [None],
    {"a": {"b": []}}, "nan", "-0", "/device:GPU:" + "9" * 20, "replica_" + "9" * 20 + "/x",
)  # fmt: skip


class SilentError(AssertionError):
    """Another answer, and nothing that says why."""


@dataclass(frozen=True)
class Fault:
    """A case that the judge does not accept."""

    kind: str
    number: int
    what: str
    """What was done to the input."""
    at_fault: str

    def __str__(self) -> str:
        return f"{self.kind} {self.number} ({self.what}): {self.at_fault}"


@dataclass(frozen=True)
class Answer:
    """What the readers of a run say."""

    document: dict[str, Any]
    """The summary without its notes."""
    notes: frozenset[str]
    tables: dict[str, Any]


# ---- runs


def answer_of(run: Path, *, with_tables: bool = True) -> Answer:
    profile = strategy_profiles.load(run)
    document = profile.summary(gains=True)
    tables = {name: profile.table(name) for name in TABLES} if with_tables else {}
    document = json.loads(json.dumps(profile.summary(gains=True), allow_nan=False))
    notes: set[str] = set(profile.notes)
    return Answer(_without_notes(document, notes), frozenset(notes), tables)


_OF_A_PLACE = ("notes", "path", "run")
"""What a summary says of the folder; notes are compared on their own."""


def _without_notes(value: Any, notes: set[str]) -> Any:
    if isinstance(value, dict):
        if isinstance(said := value.get("notes"), list):
            notes.update(map(str, said))
        return {k: _without_notes(v, notes) for k, v in value.items() if k not in _OF_A_PLACE}
    return [_without_notes(each, notes) for each in value] if isinstance(value, list) else value


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two documents differ, as dotted paths with both values."""
    if type(one) is not type(other) and not {type(one), type(other)} <= {int, float}:
        yield f"{path}: {str(one)[:80]} -> {str(other)[:80]}"
    elif isinstance(one, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list):
        if len(one) != len(other):
            yield f"{path}: {len(one)} -> {len(other)} entries"
        for at, (a, b) in enumerate(zip(one, other, strict=False)):
            yield from differences(a, b, f"{path}[{at}]")
    elif one != other:
        yield f"{path}: {str(one)[:80]} -> {str(other)[:80]}"


def judge(before: Answer, after: Answer) -> None:
    """Raise SilentError if the answers differ, and no note of the second one says why."""
    if after.notes - before.notes:
        return
    status = [each.document.get("status_message") for each in (before, after)]
    if status[0] != status[1]:
        return
    changes = list(differences(before.document, after.document))
    changes += [
        f"table {name}: {table.num_rows} -> {after.tables[name].num_rows} rows"
        for name, table in before.tables.items()
        if not table.equals(after.tables[name])
    ]
    if changes:
        raise SilentError("; ".join(changes[:4]))


@functools.cache
def bases() -> dict[str, tuple[Path, Answer]]:
    """The undamaged runs and what is said of them."""
    runs = write_runs(Path(tempfile.mkdtemp(prefix="strategy-lab-fuzz-")))
    return {name: (run, answer_of(run)) for name, run in runs.items()}


def damage_run(folder: Path, chance: random.Random) -> str:
    """Take a copy of a run, damage one to three of its files, read it again."""
    name = chance.choice(list(bases()))
    original, before = bases()[name]
    run = folder / "run"
    shutil.copytree(original, run, symlinks=True)
    done, is_judged = [], True
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        files = sorted(path for path in run.rglob("*") if _is_small_file(path))
        if not files:
            break
        file = chance.choice(files)
        how = chance.choice(list(FILE_DAMAGE))
        is_known = FILE_DAMAGE[how](file, chance)
        is_judged &= is_known if is_known is not None else name in HAVE_CHECKSUMS
        done.append(f"{how} {file.relative_to(run)}")
    what = f"{name}: {', '.join(done)}"
    with told_by(what):
        after = answer_of(run)
        if is_judged:
            judge(before, after)
    for reader in (chance.choice(CHEAP), chance.choice(EXPENSIVE) if chance.random() < 0.3 else ""):
        with told_by(f"{what}; then {reader}"):
            if reader:
                TARGETS[reader](run, original)
    return what


def _is_small_file(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size < 1 << 28


class CaseError(Exception):
    """Carries what was done beside the error."""

    def __init__(self, what: str, error: BaseException) -> None:
        self.what, self.error = what, error
        super().__init__(what)


@contextlib.contextmanager
def told_by(what: str) -> Iterator[None]:
    """A refusal in a sentence is an answer; every other error becomes a CaseError."""
    try:
        yield
    except LabError as error:
        if "\n" in str(error) or len(str(error)) > 1500:
            raise CaseError(what, AssertionError(f"no sentence: {str(error)[:300]}")) from error
    except CaseError:
        raise
    except BaseException as error:
        raise CaseError(what, error) from error


# ---- damage to files


def _flip(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 1, 3, 20))):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def _truncate(file: Path, chance: random.Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: chance.randrange(len(data) + 1)])


def _hole(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    begin = chance.randrange(len(data) + 1)
    size = chance.choice((1, 8, 100, 4096))
    data[begin : begin + size] = bytes(len(data[begin : begin + size]))
    file.write_bytes(data)


def _noise(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    begin = chance.randrange(len(data) + 1)
    size = chance.choice((4, 64, 1000))
    data[begin : begin + size] = chance.randbytes(size)
    file.write_bytes(data)


def _append(file: Path, chance: random.Random) -> None:
    more = (b"\0" * 5000, chance.randbytes(300), b"\n\n{}\n[]\n", b"[" * 100_000, file.read_bytes())
    file.write_bytes(file.read_bytes() + chance.choice(more))


def _repeat_part(file: Path, chance: random.Random) -> None:
    data = file.read_bytes()
    begin = chance.randrange(len(data) + 1)
    end = chance.randrange(begin, len(data) + 1)
    file.write_bytes(data[:end] + data[begin:])


def _remove(file: Path, _chance: random.Random) -> None:
    file.unlink()


def _other_kind(file: Path, chance: random.Random) -> None:
    file.unlink()
    match chance.choice(("pipe", "folder", "device", "loop", "outside", "large")):
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "device":
            file.symlink_to("/dev/zero")
        case "loop":
            file.symlink_to(file.name)
        case "outside":
            file.symlink_to("/etc/hostname")
        case _:
            file.touch()
            os.truncate(file, 3 << 30)


def _lines(file: Path, chance: random.Random) -> None:
    """Lines in another order, twice, or gone."""
    lines = file.read_bytes().splitlines(keepends=True)
    match chance.choice(("shuffle", "swap", "drop", "double")):
        case "shuffle":
            chance.shuffle(lines)
        case "swap" if len(lines) > 1:
            a, b = chance.sample(range(len(lines)), 2)
            lines[a], lines[b] = lines[b], lines[a]
        case "drop" if lines:
            del lines[chance.randrange(len(lines))]
        case _ if lines:
            lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    file.write_bytes(b"".join(lines))


def _of_another(file: Path, chance: random.Random) -> bool:
    """The file of the same name of another run."""
    others = [run for run, _ in bases().values()]
    other_files = [path for run in others for path in run.rglob(file.name) if path.is_file()]
    shutil.copyfile(chance.choice(sorted(other_files)), file)
    return False


def _swap(file: Path, chance: random.Random) -> None:
    others = sorted(path for path in file.parent.iterdir() if path.is_file())
    other = chance.choice(others)
    one, two = file.read_bytes(), other.read_bytes()
    file.write_bytes(two)
    other.write_bytes(one)


def _rename(file: Path, chance: random.Random) -> bool:
    name = chance.choice(
        ("x", file.name.upper(), f"{file.name}~", "worker-0-0", "a" * 255, "\udcff\n", "-rf")
    )
    with contextlib.suppress(OSError):
        file.rename(file.with_name(name))
    return False


def _column(file: Path, chance: random.Random) -> bool | None:
    """Another type, value, number or name in a table; noise in another file."""
    if file.suffix != ".parquet":
        _noise(file, chance)
        return None
    with contextlib.suppress(pa.ArrowException, OSError):  # damaged before
        return mutate_parquet(file, chance, has_checksums=False).is_detectable
    return None


def _odd_field(file: Path, chance: random.Random) -> bool:
    """A line, or the whole of a JSON file, with a strange value, sealed again."""
    data = file.read_bytes()
    try:
        if file.suffix == ".jsonl":
            lines = data.splitlines()
            at = chance.randrange(len(lines))
            value = json.loads(lines[at])
            value.pop("line_crc32", None)
            make_odd(value, chance)
            lines[at] = sealed(msgspec.json.encode(value))
            file.write_bytes(b"\n".join(lines) + b"\n")
        else:
            value = json.loads(data)
            value.pop("values_crc32", None)
            make_odd(value, chance)
            file.write_text(json.dumps(value))
    except (ValueError, TypeError, AttributeError, msgspec.MsgspecError, UnicodeError):
        _flip(file, chance)
    return False


def make_odd(value: Any, chance: random.Random) -> None:
    """Replace, remove or add one value somewhere within."""
    places = list(_places(value))
    if not places:
        return
    holder, key = chance.choice(places)
    match chance.choice(("replace", "replace", "replace", "remove", "nest")):
        case "replace":
            holder[key] = copy.deepcopy(chance.choice(ODD_VALUES))
        case "remove":
            del holder[key]
        case _:
            holder[key] = {"a": [holder[key]] * chance.choice((1, 50))}


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items: Any = ()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, item in items:
        yield value, key
        yield from _places(item)


FILE_DAMAGE: dict[str, Callable[[Path, random.Random], bool | None]] = {
    "bits flipped in": _flip,
    "cut": _truncate,
    "a hole in": _hole,
    "noise in": _noise,
    "more behind": _append,
    "a part twice in": _repeat_part,
    "removed": _remove,
    "another kind of file for": _other_kind,
    "lines of": _lines,
    "another run's": _of_another,
    "contents exchanged with": _swap,
    "another name for": _rename,
    "an odd value in": _odd_field,
    "a column of": _column,
}
"""Each returns whether its damage can be known; None: if the run has checksums."""
HAVE_CHECKSUMS = ("mirrored", "tpu", "long", "recorded")
"""Runs of a version that writes them. Of the others some damage cannot be known."""


# ---- specs


def damage_spec(folder: Path, chance: random.Random) -> str:
    document = RunSpec().to_json()
    if chance.random() < 0.5:
        document["inject"] = [{"kind": "delay", "replica": 0, "ms": 3.0, "worker": 0}]
        document["reconfigure"] = [{"step": 5, "changes": {"global_batch_size": 64}}]
    document = {k: v for k, v in document.items() if chance.random() < 0.6}
    for _ in range(chance.choice((1, 1, 2, 4))):
        make_odd(document, chance)
    as_yaml = chance.random() < 0.5
    try:
        text = yaml.safe_dump(document) if as_yaml else json.dumps(document)
    except (yaml.YAMLError, ValueError):
        text = json.dumps(document)
    kept = True
    if chance.random() < 0.3:
        at = chance.randrange(len(text) + 1)
        text = (
            text[:at]
            + chance.choice(
                (
                    "\t",
                    "&a *a",
                    "!!python/object:os.system x",
                    "\0",
                    "[" * 200,
                    "'",
                    "\ud800",
                    ": :",
                    "9" * 9000,
                )
            )
            + text[at:]
        )
        kept = False
    file = folder / chance.choice(("spec.yaml", "spec.json"))
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    what = f"spec {text[:300]!r}"
    with told_by(what):
        spec = load_spec(file)
        if kept:
            wrong = list(_changed(document, spec.to_json()))
            if wrong:
                raise SilentError("; ".join(wrong[:3]))
        assert parse_spec(spec.to_json()) == spec
        validation.check(spec)
    return what


def _changed(wanted: Any, got: Any, path: str = "") -> Iterator[str]:
    """Values of a spec that are not those that were wanted."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key, value in wanted.items():
            yield from _changed(value, got.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for at, (one, other) in enumerate(zip(wanted, got, strict=True)):
            yield from _changed(one, other, f"{path}[{at}]")
    elif isinstance(wanted, bool) != isinstance(got, bool) or wanted != got:
        yield f"{path}: {str(wanted)[:60]!r} became {str(got)[:60]!r}"


# ---- arguments


def damage_arguments(folder: Path, chance: random.Random) -> str:
    verbs = verb_parsers()
    verb = chance.choice(list(verbs))
    values = _values()
    argv = [verb]
    for action in verbs[verb]._actions:
        likely = 0.9 if not action.option_strings else 0.15
        if chance.random() > likely or action.dest in ("help", "install", "uninstall"):
            continue
        count = 0 if action.nargs == 0 else chance.choice((1, 1, 1, 2))
        choices = [str(each) for each in action.choices or ()]
        given = [chance.choice(choices or values) for _ in range(count)]
        argv += [*action.option_strings[-1:], *given]
    if chance.random() < 0.2:
        argv.insert(chance.randrange(len(argv) + 1), chance.choice(values))
    what = " ".join(each if len(each) < 60 else f"{each[:30]}..." for each in argv)
    with told_by(what), contextlib.chdir(folder):
        run_command(argv)
    return what


@functools.cache
def _values() -> list[str]:
    hostile = make_files(Path(tempfile.mkdtemp(prefix="strategy-lab-fuzz-")) / "files")
    runs = [str(run) for run, _ in bases().values()]
    words = (
        "1", "0", "-1", "2", "cpu:2", "cpu:0", "mirrored", "steps=3", "capture.every_step=true",
        "delay:replica=1,ms=5", "5:steps=7", "select 1", "select * from steps", "loss:+5%", "auto",
        "nvlink4", "ring", "4,8", "Conv2D=2", "127.0.0.1:1", "out/new", ".", "..",
        "/", "~", "-", "--",
    )  # fmt: skip
    return [*TEXTS.values(), *map(str, hostile.values()), *runs * 4, *words * 2]


class StartedError(LabError):
    """A process would start: this is an answer."""


def run_command(argv: list[str]) -> None:
    """Run one command line here; raises AssertionError if it fails otherwise than by a sentence."""

    def start(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise StartedError("A process would start")

    out, err = io.StringIO(), io.StringIO()
    before = os.execve, os.fork, subprocess.Popen.__init__
    os.execve, os.fork, subprocess.Popen.__init__ = start, start, start  # type: ignore[assignment, method-assign]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command_line(argv)
    except SystemExit as error:  # --help, --version
        code = int(error.code or 0)
    finally:
        os.execve, os.fork, subprocess.Popen.__init__ = before  # type: ignore[method-assign]
    said, printed = err.getvalue(), out.getvalue()
    assert "Traceback" not in said + printed, said[-1500:]
    assert code in (0, 1, 2), code
    if code == 2 and (said or not printed):  # a check prints why it cannot tell
        assert said.splitlines()[-1].startswith("strategy-lab: "), said[-1500:]
        assert len(said.splitlines()[-1]) < 1500, len(said)
