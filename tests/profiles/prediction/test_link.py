"""Descriptions of links: those that come with the lab, and what a wrong file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.prediction.link import read_link, ready_links

TEXT = 'name = "x"\nbandwidth_gbps = 2.5\nbandwidth_source = "measured"\n'


@pytest.mark.parametrize("name", ready_links())
def test_every_ready_link_names_its_sources(name: str) -> None:
    link = read_link(name)
    assert "https://" in link.bandwidth_source
    assert link.latency_us is None or "https://" in link.latency_source


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(TEXT)
    assert read_link(str(path)).bandwidth_gbps == 2.5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TEXT + "latency_us = 3\n", "latency_us needs latency_source"),
        (TEXT + "device_times_as_fast = 2\n", "device_times_as_fast needs device_source"),
        (TEXT.replace("2.5", "-1"), "bandwidth_gbps: Input should be greater than 0"),
        (TEXT + "speed = 3\n", "speed: Extra inputs"),
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
