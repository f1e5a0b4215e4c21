"""Wrong requests: command lines, spec files, cursors, names, SQL. Nothing is ever started."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from pathlib import Path

from strategy_app.live.hub import run_folder
from strategy_core.cli._run_request import add_spec_arguments, build_spec
from strategy_core.cli.main import _Parser, main
from strategy_core.cluster.discovery.resolve import resolve
from strategy_core.planning import validation
from strategy_profiles.analysis.compare.limits import parse_limit
from strategy_profiles.errors import LabError
from strategy_profiles.run.tail import Cursor
from strategy_profiles.spec.run_spec import RunSpec, load_spec
from strategy_profiles.tables import sql_process
from strategy_profiles.tables.store import load
from tests.fuzz.values import near_value, wrong_value

_PATHS = (
    *RunSpec().to_json(),
    "capture.window_steps",
    "capture.every_step",
    "tpu.topology",
    "network.rate_mbit",
    "cluster.restarts",
    "workload_options.units",
    "steps.x",
    "nope",
    "",
    ".",
    "a" * 300,
)
_TEXTS = (
    "",
    "x",
    "2020-13-45",
    "!!int x",
    "!!binary x",
    "!!python/object/apply:os.system [ls]",
    "[" * 90_000,
    "{" * 500,
    "9" * 5000,
    "0x" + "f" * 5000,
    "1e999",
    ".nan",
    "-.inf",
    "&a [*a]",
    "&a {x: *a}",
    "a: &a [x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]",
    "*a",
    "{<<: [&a {x: 1}, *a]}",
    "? [1]\n: 2",
    "\x00",
    "\ud800",
    "\u202e",
    "delay:replica=0,ms=3",
    "delay:replica=x,ms=",
    "cpu:2",
    "gpu:0,gpu:0",
    "cpu:" + "9" * 4301,
    "~nosuchuser/x.csv",
    "~",
    "/dev/zero",
    "/",
    "x" * 300 + ".py",
    "/" + "x/" * 3000 + "y.csv",
    "null\0.py",
    "1:1",
    "999..9:",
    "-5",
    "²",
    "١",
    "true",
    "[]",
    "{}",
    "null",
    "[1, 2, 3, 4]",
    "%YAML 9.9\n---\nx",
    "- - - - - - x",
    "'",
    '"\\ud800"',
    "<<: 3",
    "!<x> y",
)


LONGEST_SENTENCE = 2000


def request(rng: random.Random, run: Path, scratch: Path) -> tuple[str, Callable[[], None]]:
    """What is asked, in words, and the asking; it answers, or raises LabError."""
    makers = (_flags, _flags, _flags, _spec_file, _spec_file, _cursor, _name, _limit, _cluster)
    makers += (_reading_verb, _sql)
    maker = rng.choice(makers)
    return maker(rng, run, scratch)


def _text(rng: random.Random) -> str:
    text = rng.choice(_TEXTS)
    if rng.random() < 0.3:
        text = text[: rng.randrange(len(text) + 1)] + rng.choice(_TEXTS)[:2000]
    if rng.random() < 0.1:
        text = "".join(chr(rng.randrange(1, 0x3000)) for _ in range(rng.randrange(30)))
    return text


def _flags(rng: random.Random, _run: Path, _scratch: Path) -> tuple[str, Callable[[], None]]:
    arguments = []
    for _ in range(rng.randint(1, 4)):
        path, text = rng.choice(_PATHS), _text(rng)
        flag = "--" + path.replace("_", "-")
        arguments += rng.choice(
            (
                ["--set", f"{path}={text}"],
                ["--set", text],
                ["--reconfigure", f"{rng.choice(('1', '5', text))}:{path}={text}"],
                ["--reconfigure", text],
                ["--inject", text],
                [f"{flag}={text}"],
            )
        )

    def ask() -> None:
        parser = _Parser()
        add_spec_arguments(parser)
        namespace: argparse.Namespace = parser.parse_args(arguments)
        if "/dev/" not in str(namespace.spec):
            spec = build_spec(namespace)
            validation.check(spec)
            json.dumps(spec.to_json(), allow_nan=False)

    return f"run {arguments!r}", ask


def _spec_file(rng: random.Random, _run: Path, scratch: Path) -> tuple[str, Callable[[], None]]:
    document = RunSpec().to_json()
    path = rng.choice(list(document))
    document[path] = near_value(document[path], rng) if rng.random() < 0.3 else wrong_value(rng)
    form = rng.random()
    text = json.dumps(document)
    if form < 0.3:
        text = f"steps: 3\n{path}: {_text(rng)}\n"
    elif form < 0.5:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(_TEXTS)[:3000] + text[at + rng.randrange(3) :]
    file = scratch / rng.choice(("spec.json", "spec.yaml"))
    file.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    return f"{file.name} with {path}: {text[:80]!r}", lambda: _load(file)


def _load(file: Path) -> None:
    json.dumps(load_spec(file).to_json(), allow_nan=False)


def _cursor(rng: random.Random, _run: Path, _scratch: Path) -> tuple[str, Callable[[], None]]:
    text = f"{_text(rng)}:{_text(rng)}"
    return f"cursor {text[:80]!r}", lambda: _done(Cursor.decode(text))


def _name(rng: random.Random, run: Path, _scratch: Path) -> tuple[str, Callable[[], None]]:
    text = _text(rng)
    return f"run id {text[:80]!r}", lambda: _done(run_folder(run.parent, text))


def _limit(rng: random.Random, _run: Path, _scratch: Path) -> tuple[str, Callable[[], None]]:
    text = f"step_time_ms:+{_text(rng)}%" if rng.random() < 0.5 else _text(rng)
    return f"limit {text[:80]!r}", lambda: _done(parse_limit(text))


def _cluster(rng: random.Random, _run: Path, _scratch: Path) -> tuple[str, Callable[[], None]]:
    text = _text(rng)
    document = {"cluster": {"worker": wrong_value(rng)}, "task": {"type": "worker", "index": 0}}
    whole = {"cluster": {"worker": ["a:1", text]}, "task": wrong_value(rng)}
    told = rng.choice((text, json.dumps(document), json.dumps(whole)))
    where = rng.choice(("TF_CONFIG", "a:1,b:2", text))
    if where.startswith(("slurm", "kubernetes", "gce", "/dev/")):
        where = "TF_CONFIG"
    said = f"cluster {where[:40]!r} TF_CONFIG {told[:60]!r}"
    return said, lambda: _done(resolve(where, index=0, environment={"TF_CONFIG": told}))


def _reading_verb(rng: random.Random, run: Path, scratch: Path) -> tuple[str, Callable[[], None]]:
    text = _text(rng)
    lines = (
        ["summary", text],
        ["compare", str(run), text],
        ["compare", str(run), str(run), "--segment-a", text],
        ["compare", str(run), str(run), "--fail-on", f"{text}:+1%"],
        ["export", str(run), "--format", "json", "-o", str(scratch / "x") + text],
        ["export", str(run), "--format", text, "-o", str(scratch / "export")],
        ["collect", text, "-o", str(scratch / "collected")],
        [text],
    )
    line = rng.choice(lines)
    if line == [text] and not text.isprintable():
        line = ["summary", text]
    if line[0].startswith("-") or not line[0]:  # opens the lab
        line = ["summary", text]
    return f"strategy-lab {line!r}"[:200], lambda: _main(line)


def _sql(rng: random.Random, run: Path, _scratch: Path) -> tuple[str, Callable[[], None]]:
    costly = (
        "select repeat('x', 2000000000)",
        "select list(range) from range(100000000)",
        "select " + "(" * 5000 + "1" + ")" * 5000,
        "select " + " + ".join(["1"] * 20_000),
        "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t",
    )
    queries = (
        "select * from steps a, steps b, steps c",
        "select * from read_csv('/etc/passwd')",
        "select 1; drop table steps",
        "copy steps to '/tmp/x'",
        "select cast('x' as integer)",
        "select " + _text(rng)[:2000],
        _text(rng)[:2000],
    )
    # A costly query runs until its time limit: few of them leave time for other cases.
    query = rng.choice(costly if rng.random() < 0.05 else queries)
    # As the page asks: on a terminal, Ctrl-C ends what the user typed.
    profile = load(run)
    return f"sql {query[:80]!r}", lambda: _done(
        sql_process.ask(profile, query, timeout_s=5.0, most_rows=1000)
    )


def _main(line: list[str]) -> None:
    try:
        code = main(line)
    except SystemExit as left:
        code = int(left.code or 0)
    if code not in (0, 1, 2):
        raise AssertionError(f"exit code {code}")


def _done(_answer: object) -> None:
    """An answer is enough."""


def ask(asking: Callable[[], None]) -> None:
    """Ask; raises LabError, whose sentence is short, for a refusal."""
    try:
        asking()
    except LabError as error:
        if len(str(error)) > LONGEST_SENTENCE:
            raise AssertionError(f"a sentence of {len(str(error))} characters") from None
        raise
