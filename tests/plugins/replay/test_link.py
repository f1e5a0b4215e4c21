"""Descriptions of links: those that come with the lab, and what a wrong file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_profiles.errors import LabError
from strategy_replay.scaling.link import (
    Link,
    link_of,
    link_or_problems,
    read_link,
    ready_links,
    text_of_link,
)

TEXT = 'name = "x"\nbandwidth_gbps = 2.5\nbandwidth_source = "measured"\n'


@pytest.mark.parametrize("name", ready_links())
def test_every_ready_link_names_its_sources(name: str) -> None:
    link = read_link(name)
    assert "https://" in link.bandwidth_source
    assert link.latency_us is None or "https://" in link.latency_source


def test_a_link_is_read_from_a_file_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(TEXT)
    assert read_link(str(path)).bandwidth_gbps == 2.5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TEXT + "latency_us = 3\n", "latency_us needs latency_source"),
        (TEXT + "device_times_as_fast = 2\n", "device_times_as_fast needs device_source"),
        (TEXT.replace("2.5", "-1"), "bandwidth_gbps: It must be more than 0"),
        (TEXT + "speed = 3\n", "speed: A link has no such field; it has name, bandwidth_gbps"),
        ("name = ", "does not describe a link"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(LabError, match=problem):
        read_link(str(path))


def test_a_missing_file_names_those_that_come_with_the_lab() -> None:
    with pytest.raises(LabError, match=r"No link 'carrier-pigeon'.*ethernet-25g"):
        read_link("carrier-pigeon")


@pytest.mark.parametrize("name", ready_links())
def test_a_saved_link_is_read_as_it_was(name: str) -> None:
    link = read_link(name)
    assert link_of(text_of_link(link).encode(), "saved.toml") == link


def test_any_text_survives_saving(tmp_path: Path) -> None:
    text = 'a "quoted" \\ name\n\x7f\x01 of ünïcode 😀'
    link = Link(
        name=text, bandwidth_gbps=1e16, bandwidth_source=text, latency_us=0.5, latency_source=text
    )
    path = tmp_path / "own.toml"
    path.write_text(text_of_link(link), encoding="utf-8")
    assert read_link(str(path)) == link


def test_each_wrong_field_has_its_problem() -> None:
    values = {"name": "x", "bandwidth_source": "", "latency_us": -1.0, "device_times_as_fast": 2.0}
    problems = link_or_problems(values)
    assert isinstance(problems, dict)
    assert problems.keys() == {"bandwidth_gbps", "bandwidth_source", "latency_us", "device_source"}
    assert problems["bandwidth_gbps"] == problems["bandwidth_source"] == "No value is given"
    assert problems["latency_us"] == "It must be at least 0"
