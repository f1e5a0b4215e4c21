"""A package that the lab does not know adds to it by entry points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import strategy_profiles
from strategy_core.planning import strategy_catalog
from strategy_profiles.exports import formats, write
from strategy_profiles.registered import every_entry, registered
from tests import lab_access
from tests.app.looking import open_page, text_of
from tests.server_process import server_process
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S

VERB = """
HELP = "says what it was given"
def add_arguments(parser): parser.add_argument("word")
def run(args):
    print(args.word)
    return 1
"""
EXPORTS = """
from strategy_profiles.exports import Destination, Format
FORMAT = Format("names", "Names", "The run's name.", ".txt", "text/plain",
                lambda profile, path: path.write_text(profile.name))
DESTINATION = Destination("shelf", "Shelf", "its name, to a shelf",
                          lambda profile, address: f"{profile.name} at {address}")
"""
IMPORTS = """
from strategy_profiles.importers import Importer
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Finished, StepDone
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import create_run_file

def write(path, run):
    create_run_file(run, recorded_by="import")
    log = EventLog(worker_folder(run, 0).events)
    walls = [float(word) for word in path.read_text().split()]
    for step, wall in enumerate(walls):
        log.write(StepDone(0, step, 10**18 + step * 10**9, wall, None, None, False))
    log.write(Finished("finished", len(walls)))
    log.close()

WALLS = Importer("a file .walls of milliseconds", write, (".walls",))
GREEDY = Importer("what the lab opens", write, ("", ".json"))
"""
RULE = '''
"""Runs have names."""
from strategy_profiles.analysis.facts import finding, over_all_steps

KEY = "named"
ROWS = ("loop/steps",)
NO_GAIN = "A name takes no time."

def find(facts):
    cost = over_all_steps(facts, 0.5 * facts.account.loop_ms, "derived")
    yield finding(facts, KEY, "Half of the loop has a name.", "Take it away.", cost)
'''
FAILING_RULE = """
KEY, NO_GAIN = "fails", "None."

def find(facts):
    return iter([facts.no_such_fact])
"""
BROKEN = "import a_module_that_is_not_there\n"


class Packages:
    """A folder as site-packages is one, and a lab that finds it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, package: str, entries: str, **modules: str) -> None:
        (self.folder / package).mkdir(parents=True)
        for name, source in {"__init__": "", **modules}.items():
            (self.folder / package / f"{name}.py").write_text(source)
        info = self.folder / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entries)

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        path = filter(None, [str(self.folder), inherited.get("PYTHONPATH")])
        return {**inherited, "PYTHONPATH": os.pathsep.join(path)}

    def lab(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "strategy_core", *map(str, arguments)],
            env=self.environment(os.environ) | {"COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
            timeout=MAX_WAIT_S,
        )


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages(tmp_path / "packages")


def test_a_verb_is_listed_without_an_import_and_runs(packages: Packages) -> None:
    entries = "[strategy_lab.verbs]\necho-word = stranger.inner.verb\n"
    packages.add("stranger", entries)
    inner = packages.folder / "stranger" / "inner"
    inner.mkdir()
    (inner / "__init__.py").write_text("print('imported')\n")
    (inner / "verb.py").write_text(VERB)
    help_text = packages.lab("--help").stdout
    assert "echo-word says what it was given" in " ".join(help_text.split())
    assert "imported" not in help_text
    done = packages.lab("echo-word", "hello")
    assert (done.returncode, done.stdout) == (1, "imported\nhello\n")


def test_exports_are_choices_and_write(packages: Packages, tmp_path: Path) -> None:
    entries = (
        "[strategy_lab.exports]\nnames = stranger.out:FORMAT\nshelf = stranger.out:DESTINATION\n"
    )
    packages.add("stranger", entries, out=EXPORTS)
    run = write_run(tmp_path / "mine", steps=20, windows=0)
    target = tmp_path / "name.txt"
    assert packages.lab("export", run, "--format", "names", "-o", target).returncode == 0
    assert target.read_text() == "mine"
    assert packages.lab("export", run, "--format", "shelf", "-o", "top").stdout == "mine at top\n"


def test_a_rule_is_ranked_with_those_of_the_lab_and_one_that_fails_says_so(
    packages: Packages, tmp_path: Path
) -> None:
    names = ("named", "fails", "none")
    entries = "".join(f"{name} = stranger.{name}\n" for name in names)
    packages.add(
        "stranger",
        f"[strategy_lab.rules]\n{entries}",
        named=RULE,
        fails=FAILING_RULE,
        none="KEY = 1\n",
    )
    run = write_run(tmp_path / "mine", steps=100, idle_ms=15.0)
    found = json.loads(packages.lab("summary", run, "--json").stdout)["segments"][0]["findings"]
    sentences = [item["sentence"] for item in found]
    assert sentences[0] == "Half of the loop has a name."
    assert any("AttributeError" in each and "the package stranger" in each for each in sentences)


def test_an_importer_opens_its_own_files_and_not_those_of_the_lab(
    packages: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = "walls = stranger.files:WALLS\ngreedy = stranger.files:GREEDY\n"
    packages.add("stranger", f"[strategy_lab.imports]\n{entries}", files=IMPORTS)
    (tmp_path / "mine.walls").write_text("10 20 30")
    (tmp_path / "trace.json").write_text("10 20 30")
    said = packages.lab("import", "--help").stdout
    assert "a file .walls of milliseconds" in " ".join(said.split())
    monkeypatch.chdir(tmp_path)
    done = packages.lab("import", "mine.walls")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Imported as runs/mine")
    steps = strategy_profiles.load(tmp_path / "runs" / "mine").table("steps")
    assert steps["wall_ms"].to_pylist() == [10.0, 20.0, 30.0]
    done = packages.lab("import", "trace.json")
    assert (done.returncode, "Nothing in trace.json can be read" in done.stderr) == (2, True)


def test_a_package_that_cannot_be_imported_keeps_nothing_else_from_working(
    packages: Packages, tmp_path: Path
) -> None:
    entries = (
        "[strategy_lab.exports]\nlost = stranger.out:FORMAT\nodd = stranger.odd:FORMAT\n"
        "[strategy_lab.verbs]\nlost = stranger.out\n"
    )
    packages.add("stranger", entries, out=BROKEN, odd="FORMAT = 'text'\n")
    run = write_run(tmp_path / "mine", steps=20, windows=0)
    done = packages.lab("export", run, "--format", "csv", "-o", tmp_path / "tables")
    assert (done.returncode, done.stderr) == (0, "")
    command_of_reason = {
        "stranger.odd:FORMAT is no Format or Destination": ("export", run, "--format", "odd"),
        "No module named 'a_module_that_is_not_there'": ("export", run, "--format", "lost"),
        "strategy_lab.verbs, but stranger.out cannot be loaded": ("lost",),
    }
    for reason, command in command_of_reason.items():
        options = ("-o", tmp_path / "out") if len(command) > 1 else ()
        done = packages.lab(*command, *options)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "The package stranger adds" in done.stderr
        assert reason in done.stderr


def test_a_package_replaces_no_verb_and_no_format_of_the_lab(
    packages: Packages, tmp_path: Path
) -> None:
    exports = "[strategy_lab.exports]\ncsv = stranger.out:FORMAT\n"
    entries = f"[strategy_lab.verbs]\nsummary = stranger.verb\n{exports}"
    packages.add("stranger", entries, verb=VERB, out=EXPORTS.replace('"names"', '"csv"'))
    run = write_run(tmp_path / "mine", steps=20, windows=0)
    assert packages.lab("summary", run, "--json").stdout.startswith("{")
    assert packages.lab("export", run, "--format", "csv", "-o", tmp_path / "t").returncode == 0
    assert (tmp_path / "t").is_dir()


def test_of_two_packages_with_one_name_the_first_of_the_alphabet_counts(
    packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages.add("zoo", "[strategy_lab.exports]\nsame = zoo:FORMAT\n")
    packages.add("ant", "[strategy_lab.exports]\n# a remark\nsame = ant:FORMAT [extra]\n")
    monkeypatch.syspath_prepend(packages.folder)
    assert registered("exports")["same"].value == "ant:FORMAT"


def test_what_is_read_is_what_importlib_reads() -> None:
    groups = [name for name in metadata.entry_points().groups if name.startswith("strategy_lab.")]
    expected = {
        (group, item.name, item.value)
        for group in groups
        for item in metadata.entry_points(group=group)
    }
    entries = {
        (f"strategy_lab.{it.group}", it.name, it.value) for it in every_entry(tuple(sys.path))
    }
    assert entries == expected
    assert ("strategy_lab.exports", "otlp", "strategy_otlp.export:DESTINATION") in entries


ROUTES = """
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from strategy_app.added_routes import Routes
from strategy_app.server.state import lab
from strategy_profiles.ui_options import UiOption
ROUTES = Routes((
    Route("/shelf", lambda request: PlainTextResponse(str(lab().options))),
    Route("/healthz", lambda request: PlainTextResponse("replaced")),
))
SIZE = UiOption("--shelf-size", int, "how many books")
PORT = UiOption("--port", int, "another port")
"""


@pytest.mark.run
def test_routes_are_behind_the_gate_and_know_the_options(
    packages: Packages, tmp_path: Path
) -> None:
    entries = "[strategy_lab.routes]\nshelf = stranger.routes:ROUTES\nlost = stranger.gone\n"
    entries += (
        "[strategy_lab.ui_options]\nsize = stranger.routes:SIZE\nport = stranger.routes:PORT\n"
    )
    packages.add("stranger", entries, routes=ROUTES)
    assert "how many books" in packages.lab("ui", "--help").stdout
    environment = packages.environment(lab_access.environment())
    arguments = ("--runs", str(tmp_path / "runs"), "--shelf-size", "7")
    with server_process(tmp_path / "log", *arguments, environment=environment) as server:
        request = urllib.request.Request(f"{server.url}/shelf", headers=lab_access.HEADERS)
        with urllib.request.urlopen(request) as answer:
            assert answer.read() == b"{'shelf_size': 7}"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{server.url}/shelf")
        with urllib.request.urlopen(f"{server.url}/healthz") as answer:
            assert answer.read() != b"replaced"


PAGES = """
import streamlit as st
from strategy_app.added_pages import Page
NOTES = Page("Notes", lambda: st.write("What the stranger noted"))
def draw():
    from strategy_app.widgets.places import show_head
    show_head("trials")
    st.write("What the stranger tried")
TRIALS = Page("Trials", draw, place="Experiment")
LAB = Page("Not the lab", lambda: st.write("replaced"))
"""


SECTIONS = """
import streamlit as st
from strategy_app.added_sections import BelowFinding, Section
PLACED = Section("placement", lambda opened, segment: st.write(f"{opened.profile.name}, {segment}"))
ELSEWHERE = Section("overview", lambda opened, segment: st.write("Not here"))
BELOW = BelowFinding(lambda opened, finding: st.write(f"{opened.profile.name}: {finding.key}"))
"""


def test_a_section_is_on_its_page_and_one_that_is_broken_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = Packages(tmp_path / "packages")
    entries = "one = annex.sections:PLACED\ntwo = annex.sections:ELSEWHERE\n"
    entries += "lost = annex.gone\n"
    packages.add("annex", f"[strategy_lab.sections]\n{entries}", sections=SECTIONS)
    monkeypatch.syspath_prepend(packages.folder)
    write_run(tmp_path / "placed-run", steps=20, windows=1)
    text = text_of(open_page("placement", tmp_path, run="placed-run"))
    assert "placed-run, 0" in text
    assert "Not here" not in text


def test_a_part_below_a_finding_is_on_the_page_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = Packages(tmp_path / "packages")
    packages.add(
        "annex", "[strategy_lab.sections]\none = annex.sections:BELOW\n", sections=SECTIONS
    )
    monkeypatch.syspath_prepend(packages.folder)
    write_run(tmp_path / "late", replicas=2, steps=60, straggler=(1, 30.0))
    assert "late: straggler" in text_of(open_page("overview", tmp_path, run="late"))


QUESTIONS = """
from strategy_profiles.added_questions import Question
from strategy_profiles.answers.answer import Answer, Missing

def shelf(profile, facts):
    return Answer("shelf", parts=(Missing("shelf", "Shelf", f"{profile.name} has no shelf"),))

SHELF = Question("Shelf", shelf)
OTHER = Question("Attic", shelf, fits=lambda segment: segment.strategy == "attic")
"""
FIELDS = """
import streamlit as st
from strategy_app.forms.added_fields import StrategyFields

def pick(document, field_errors):
    field_errors.below("seed")
    st.write(f"A seed for {document['devices']}")
    return {}

SEED = StrategyFields(pick)
"""


def test_an_answer_is_in_the_summary_where_it_fits(
    packages: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = "shelf = asker.asks:SHELF\nattic = asker.asks:OTHER\nlost = asker.gone\n"
    packages.add("asker", f"[strategy_lab.questions]\n{entries}", asks=QUESTIONS)
    run = write_run(tmp_path / "mine", steps=20, windows=0)
    assert packages.lab("summary", run).stdout.count("mine has no shelf") == 1
    monkeypatch.syspath_prepend(packages.folder)
    if "html" in formats():
        text = write(strategy_profiles.load(run), "html", tmp_path / "a.html").read_text("utf-8")
        assert text.count('<section id="shelf"') == 1
        assert '<section id="attic"' not in text


def test_the_form_of_a_new_run_has_the_fields_of_the_strategy_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = Packages(tmp_path / "packages")
    packages.add("annex2", "[strategy_lab.fields]\nmirrored = annex2.seeds:SEED\n", seeds=FIELDS)
    monkeypatch.syspath_prepend(packages.folder)
    assert "A seed for cpu" in text_of(open_page("lab", tmp_path, strategy="mirrored"))
    assert "A seed for" not in text_of(open_page("lab", tmp_path, strategy="default"))


@pytest.mark.run
@pytest.mark.browser
def test_a_page_is_in_its_place_and_one_that_is_broken_says_why(
    packages: Packages, tmp_path: Path, browser: Browser
) -> None:
    entries = "notes = stranger.pages:NOTES\ntrials = stranger.pages:TRIALS\n"
    entries += "lab = stranger.pages:LAB\nlost = stranger.gone\n"
    packages.add("stranger", f"[strategy_lab.pages]\n{entries}", pages=PAGES)
    environment = packages.environment(lab_access.environment())
    with server_process(
        tmp_path / "log", "--runs", str(tmp_path / "runs"), environment=environment
    ) as server:
        context = browser.new_context()
        context.add_cookies([lab_access.cookie(server.url)])
        page = context.new_page()
        page.goto(server.url)
        page.get_by_role("link", name="Notes").click()
        expect(page.get_by_text("What the stranger noted")).to_be_visible()
        expect(page).to_have_url(f"{server.url}/notes")
        page.goto(f"{server.url}/notes")  # as a link that someone was sent
        expect(page.get_by_text("What the stranger noted")).to_be_visible()
        expect(page.get_by_text("Not the lab")).to_have_count(0)
        page.get_by_role("link", name="Experiment").click()
        page.get_by_role("link", name="Trials").click()
        expect(page.get_by_text("What the stranger tried")).to_be_visible()
        expect(page.get_by_role("link", name="Compare")).to_be_visible()
        page.goto(f"{server.url}/lost")
        expect(page.get_by_text("The package stranger adds lost")).to_be_visible()
        context.close()


STRATEGY = '''
"""What it does."""
TITLE = "RingOfOne"
NEEDS = "a card"
LINK = "https://x"
PLACE = 9
raise SystemExit("run")
'''


def test_a_strategy_is_read_from_its_file_which_is_not_run(
    packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = "[strategy_lab.strategies]\nring-of-one = stranger.ring\nlost = stranger.gone\n"
    packages.add("stranger", f"{entries}mirrored = stranger.ring\n", ring=STRATEGY.lstrip())
    monkeypatch.syspath_prepend(packages.folder)
    strategy_catalog.rows.cache_clear()
    try:
        rows = {row.name: row for row in strategy_catalog.rows()}
    finally:
        monkeypatch.undo()
        strategy_catalog.rows.cache_clear()
    assert (rows["ring-of-one"].module, rows["ring-of-one"].title) == ("stranger.ring", "RingOfOne")
    assert rows["mirrored"].module == "strategy_core.strategies.mirrored"
    assert "lost" not in rows
