"""Names and numbers as the pages say them."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.text import (
    as_sentence,
    bound,
    run_name,
    sentence_as_markdown,
    workload_name,
)


def test_a_line_never_ends_between_a_number_and_its_unit() -> None:
    said = bound("a step takes <b>13.8 ms</b>. Of it, 6.5 % input; 16 replicas send 95.6 kB.")
    assert "13.8\u00a0ms" in said
    assert "6.5\u00a0% input" in said
    assert "95.6\u00a0kB" in said
    assert "16 replicas" in said


def test_nor_does_a_line_of_markdown() -> None:
    said = sentence_as_markdown("dense/kernel has 2.12 MB, 88 % of it")
    assert said == "dense\\/kernel has 2\\.12\u00a0MB, 88\u00a0\\% of it"


def test_an_error_without_a_full_stop_has_one_before_the_next_sentence() -> None:
    assert as_sentence("loss is NaN") == "loss is NaN."
    assert [as_sentence(text) for text in ("Stop.", "Really?", "")] == ["Stop.", "Really?", ""]


@pytest.mark.parametrize("name", ["digits-cnn", "/home/somebody/models/digits-cnn"])
def test_a_workload_is_named_without_its_folders(name: str) -> None:
    assert workload_name(name) == "digits-cnn"


def test_a_long_name_of_a_run_leaves_room_for_what_was_asked(tmp_path: Path) -> None:
    spec = {"strategy": "tpu", "devices": "auto", "workers": 2, "workload": "/a/b/" + "w" * 99}
    title = RunEntry("r" * 200, tmp_path, 0, spec).title
    assert "tpu, 2 hosts, www" in title
    assert len(title) < 120


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\u202egnp.exe", r"a\u202egnp.exe"),
        ("a b", "a b"),
        ("a\nb", r"a\nb"),
        ("\u200b", r"\u200b"),
        ("läuft-1", "läuft-1"),
    ],
)
def test_a_name_of_a_run_shows_what_cannot_be_seen(tmp_path: Path, name: str, shown: str) -> None:
    assert run_name(name) == shown
    spec = {"strategy": "tpu", "devices": "auto", "workload": "x"}
    assert RunEntry(name, tmp_path, 0, spec).title == f"{shown} · tpu, x"


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("`Conv2D` of `a_1`: *all*", "`Conv2D` of `a_1`\\: \\*all\\*"),
        ("`a*b` and one ` more", "`a*b` and one \\` more"),
        ("`` and `c`", "\\`\\` and `c`"),
        ("""`m.compile(loss="mse", on=True)`""", """`m.compile(loss="mse", on=True)`"""),
    ],
)
def test_names_between_backticks_are_code(sentence: str, shown: str) -> None:
    assert sentence_as_markdown(sentence) == shown
