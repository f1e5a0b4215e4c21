"""Names of a run that mean something in a format, through every format: they stay text."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import strategy_profiles
from strategy_profiles.exports import download, formats, write
from strategy_profiles.reporting.formulas import STARTS
from strategy_profiles.reporting.markdown import as_text, code_block
from strategy_profiles.run.manifest import change_run_file
from strategy_profiles.tables.store import Profile
from tests.plugins.leaves import from_doors
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

NAMES = {
    "a script": "</script><script>alert(1)</script>",
    "an image": '<img src=x onerror=alert(1)>" onmouseover="alert(2)',
    "an address": "javascript:alert(1)",
    "the end of a section": "]]>--><![CDATA[",
    "a template": "{{ 7 * 7 }}{% raw %}",
    "a formula": "=cmd|' /C calc'!A0",
    "a table": "| a | ` | b ` | \\| c |",
    "a link": "![x](https://evil.example/t.png) [y](javascript:alert(1)) <https://evil.example>",
    "a person": "@someone and @an-org/a-team",
    "lines": "\r\n::add-mask::x\n\n# Title\n- entry\n\n    code",
    "another direction": "\u202egnp.exe\u2066\u061c",
    "many characters": "x" * 3_000,
}


@pytest.fixture(scope="module", params=NAMES)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """A run whose name, tag, workload, ops and reason for its end have this name."""
    return run_named(tmp_path_factory.mktemp("runs") / "run", NAMES[request.param])


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return run_named(tmp_path_factory.mktemp("runs") / "run", "name")


def run_named(run: Path, name: str) -> Profile:
    options = {"steps": 20, "windows": 1, "window_steps": 2, "ops_per_step": 4, "replicas": 2}
    write_run(run, prefix=name, ending="failed", contexts=True, **options)
    change_run_file(run, {"name": name, "tags": [name]})
    return strategy_profiles.load(run)


class Structure(HTMLParser):
    """The elements of a page, each with its attributes' names; addresses with their values."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[tuple[str, ...]] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        targets = [str(text) for name, text in attrs if name in ("href", "src", "action")]
        self.found.add((tag, *sorted(name for name, _ in attrs), *targets))


def page_of(name: str) -> Callable[[Profile], str]:
    return lambda profile: download(profile, name).data.decode()


PAGES = {name: page_of(name) for name, each in formats().items() if each.media_type == "text/html"}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_has_no_element_that_it_would_not_have_with_another_name(
    hostile: Profile, harmless: Profile, page: Callable[[Profile], str]
) -> None:
    assert Structure(page(hostile)).found <= Structure(page(harmless)).found


@pytest.mark.parametrize(
    "format", ["json", *(name for checks in from_doors("EXPORT_CHECKS") for name in checks)]
)
def test_json_has_the_names_of_ops_as_they_are(
    hostile: Profile, format: str, tmp_path: Path
) -> None:
    document = json.loads(write(hostile, format, tmp_path / "file").read_text(encoding="utf-8"))
    texts = set(texts_of(document))
    assert hostile.table("spans")["name"][0].as_py() in texts


def texts_of(document: object) -> Iterator[str]:
    if isinstance(document, dict):
        yield from document
        document = list(document.values())
    if isinstance(document, list):
        for part in document:
            yield from texts_of(part)
    elif isinstance(document, str):
        yield document


def test_no_cell_of_a_csv_file_is_a_formula(hostile: Profile, tmp_path: Path) -> None:
    for file in write(hostile, "csv", tmp_path / "csv").iterdir():
        with file.open(encoding="utf-8", newline="") as opened:
            for row in csv.reader(opened):
                assert [cell for cell in row if cell.startswith(tuple(STARTS))] == [], file.name


def test_a_download_has_a_plain_file_name(hostile: Profile) -> None:
    assert download(hostile, "csv").filename == "run-csv.zip"


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_cell_of_a_markdown_table_is_one_line_of_text(name: str) -> None:
    cell = as_text(name)
    page = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = page.parse(f"| a | b |\n| --- | --- |\n| {cell} | end |\n")
    cells = [token for token in tokens if token.type == "inline"][2:]
    assert len(cells) == 2
    kinds = {child.type for child in cells[0].children or ()}
    assert kinds <= {"text", "text_special", "html_inline"}
    markup = {child.content for child in cells[0].children or () if child.type == "html_inline"}
    assert markup <= {"<!-- -->"}
    cell_text = "".join(child.content for child in cells[0].children or () if "text" in child.type)
    assert "".join(cell_text.split()) == "".join("".join(filter(str.isprintable, name)).split())


def test_a_word_after_an_at_sign_names_no_one() -> None:
    assert "@s" not in as_text(NAMES["a person"])


def test_a_block_of_code_ends_where_its_text_ends() -> None:
    text = "strategy-lab baseline '```\n[x](y)````' -o b.json"
    (block,) = MarkdownIt().parse(code_block(text))
    assert (block.type, block.content) == ("fence", f"{text}\n")
