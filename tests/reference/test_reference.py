"""Reference pages are made from the code, and everything on them has a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from strategy_core.cli.main import verb_parsers
from strategy_profiles.reporting import glossary
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.tables.reference import ROWS
from strategy_profiles.tables.schema import COLUMNS
from tests.reference import advice, cli, run_folder, run_spec, tables
from tests.reference import glossary as glossary_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "made"),
    [
        ("advice.md", advice.reference),
        ("cli.md", cli.reference),
        ("glossary.md", glossary_page.page),
        ("run-folder.md", run_folder.reference),
        ("run-spec.md", run_spec.reference),
        ("tables.md", tables.reference),
    ],
)
def test_a_reference_page_is_that_of_the_code(page: str, made: Callable[[], str]) -> None:
    assert (DOCS / page).read_text("utf-8") == made(), "run `make reference`"


@pytest.mark.parametrize("verb", verb_parsers())
def test_every_option_of_the_command_line_says_what_it_does(verb: str) -> None:
    assert {written for written, text in cli.options(verb_parsers()[verb]) if not text} == set()


@pytest.mark.parametrize("title", run_folder.structs())
def test_every_field_of_an_event_says_what_it_means(title: str) -> None:
    texts = run_folder.described(run_folder.structs()[title])
    assert {name for name, text in texts.items() if not text} == set()


@pytest.mark.parametrize("table", COLUMNS)
def test_every_column_of_a_table_says_what_it_means(table: str) -> None:
    assert {column.name for column in COLUMNS[table] if not column.about} == set()
    assert table in ROWS


@pytest.mark.parametrize("model", run_spec.sections().values())
def test_every_field_of_a_spec_says_what_it_means(model: type[BaseModel]) -> None:
    assert {path for path, _, text in run_spec.fields(model) if not text} == set()


def test_words_that_the_page_explains_are_in_the_glossary() -> None:
    texts = [path.read_text("utf-8") for path in (DOCS.parent / "app").rglob("*.py")]
    used = {word for text in texts for word in re.findall(r"TERMS\[[\"']([^\"']+)[\"']\]", text)}
    assert used >= {"replica", "worker", "step", "segment", "global batch", "capture window"}
    assert used <= set(glossary.TERMS)


def test_the_live_view_explains_by_keys_that_there_are() -> None:
    scripts = [
        path.read_text("utf-8")
        for path in (DOCS.parent / "app/strategy_app/frontend/live").glob("*.js")
    ]
    pattern = r"\bdefinitions(?:\.(\w+)|\[\"([^\"]+)\"\])"
    used = {a or b for script in scripts for a, b in re.findall(pattern, script)}
    assert used >= {"capture window", "collective", "marks", "served_step"}
    assert used <= set(glossary.TERMS) | set(DEFINITIONS)
    assert not set(glossary.TERMS) & set(DEFINITIONS)


def test_words_of_the_glossary_are_sentences_in_the_order_of_the_alphabet() -> None:
    assert sorted(glossary.TERMS, key=str.casefold) == list(glossary.TERMS)
    assert all(text.endswith(".") for text in glossary.TERMS.values())
