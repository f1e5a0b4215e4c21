"""Which addresses are the lab's own, what makes a token, and what is off without one."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from strategy_app.access.policy import (
    Access,
    choose_token,
    cookie_name,
    parse_hosts,
)
from strategy_app.server.banner import addresses, banner, warn_of_folder, who_may
from strategy_core.processes.running_labs import TOKEN_VARIABLE
from strategy_profiles.errors import SpecError

TOKEN = "0123456789-0123456789"


@pytest.mark.parametrize(
    ("access", "own", "foreign"),
    [
        (Access(), ["127.0.0.1:8501", "localhost:8501", "LOCALHOST:8501"], ["10.0.0.7:8501"]),
        (Access("::1"), ["[::1]:8501", "localhost:8501"], ["::1:8501", "127.0.0.1:8501"]),
        (Access("0:0:0::1"), ["[::1]:8501"], ["[0:0:0::1]:8501"]),
        (Access(allowed=parse_hosts(["[2001:DB8:0::5]:9"])), ["[2001:db8::5]:9"], ["[::5]:9"]),
        (Access("localhost"), ["localhost:8501"], ["localhost:80"]),
        (Access("lab.local"), ["lab.local:8501", "10.0.0.7:8501"], ["localhost:8501"]),
        (Access("10.0.0.7"), ["10.0.0.7:8501"], ["localhost:8501", "10.0.0.8:8501"]),
        (
            Access("0.0.0.0"),
            ["127.0.0.1:8501", "10.0.0.7:8501", f"{socket.gethostname()}:8501"],
            ["10.0.0.8:8501", "rebound.example:8501", "10.0.0.7:9000"],
        ),
        (Access("127.0.0.1", 80), ["127.0.0.1", "127.0.0.1:80"], ["127.0.0.1:443"]),
        (
            Access(allowed=("lab.example:443", "localhost:9000", "tunnel.example")),
            ["lab.example", "lab.example:443", "localhost:9000", "tunnel.example:8501"],
            ["lab.example:8501", "tunnel.example:80", "other.example"],
        ),
    ],
)
def test_a_lab_has_the_addresses_under_which_it_listens(
    access: Access, own: list[str], foreign: list[str]
) -> None:
    own_address = "10.0.0.7"
    assert [name for name in own if not access.is_own_host(name, own_address)] == []
    assert [name for name in foreign if access.is_own_host(name, own_address)] == []


def test_an_ipv4_connection_to_an_ipv6_socket_counts_by_its_ipv4_address() -> None:
    assert Access("::").is_own_host("10.0.0.7:8501", "::ffff:10.0.0.7")


def test_a_proxy_that_was_named_may_speak_https_to_the_browser() -> None:
    access = Access(allowed=("lab.example",))
    assert access.is_own_origin("https://lab.example", "lab.example", secure=False)
    assert not access.is_own_origin("https://other.example", "lab.example", secure=False)
    assert not access.is_own_origin("https://127.0.0.1:8501", "127.0.0.1:8501", secure=False)
    assert access.is_own_origin("https://127.0.0.1:8501", "127.0.0.1:8501", secure=True)


@pytest.mark.parametrize("name", ["http://lab", "*.example", "a:b", "a:0", "a:70000", "", "a b"])
def test_an_invalid_host_name_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(SpecError, match="is not a host name"):
        parse_hosts([name])


def test_the_token_is_random_or_the_one_of_the_environment() -> None:
    assert choose_token({}) != choose_token({})
    assert len(choose_token({})) >= 40
    assert choose_token({TOKEN_VARIABLE: TOKEN}) == TOKEN
    for weak in ("short", "with a space in it", "ü" * 20):
        with pytest.raises(SpecError, match="16 to 256"):
            choose_token({TOKEN_VARIABLE: weak})


def test_two_labs_of_one_host_keep_a_cookie_each() -> None:
    assert cookie_name("127.0.0.1:8501") != cookie_name("127.0.0.1:8502")
    assert cookie_name("[::1]:8501") == "strategy-lab-8501"
    assert cookie_name("lab.example") == "strategy-lab-80"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_own_code_needs_no_token_where_only_this_machine_can_connect(host: str) -> None:
    assert Access(host).why_no_own_code is None


def test_own_code_is_off_for_a_network_without_a_token() -> None:
    assert Access("0.0.0.0", token=TOKEN).why_no_own_code is None
    assert "without a token" in str(Access("0.0.0.0").why_no_own_code)
    assert Access("lab.local").why_no_own_code is not None


def test_the_start_prints_an_address_to_open_and_who_may(tmp_path: Path) -> None:
    said = banner(Access(token=TOKEN), tmp_path)
    assert f"http://127.0.0.1:8501/?token={TOKEN}" in said
    everywhere = banner(Access("0.0.0.0", token=TOKEN), tmp_path)
    assert f"http://127.0.0.1:8501/?token={TOKEN}" in everywhere
    assert "--allow-host" in everywhere
    assert addresses(Access("::1", token=None)) == ["http://[::1]:8501"]


def test_the_start_says_that_others_can_write_the_runs_folder(tmp_path: Path) -> None:
    assert warn_of_folder(tmp_path) is None
    tmp_path.chmod(0o1777)
    assert warn_of_folder(tmp_path) is None
    tmp_path.chmod(0o777)
    assert "Every user of this machine" in str(warn_of_folder(tmp_path))


def test_without_a_token_one_sentence_says_what_that_gives_away() -> None:
    assert "run code as you" in who_may(Access())
    assert "every user and program of this machine" in who_may(Access())
    assert "every machine that reaches this port" in who_may(Access("0.0.0.0"))
