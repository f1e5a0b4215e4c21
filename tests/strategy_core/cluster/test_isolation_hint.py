"""A download that fails inside a cluster's own network says what to do."""

from __future__ import annotations

import socket

import pytest

from strategy_core.cluster.network import isolation_hint

DOWNLOAD = "URLError: <urlopen error [Errno -3] Temporary failure in name resolution>"


def on_interfaces(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(names, 1)))


def test_in_an_isolated_network_the_hint_names_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    on_interfaces(monkeypatch, "lo", "lab0")
    text = isolation_hint.with_advice(DOWNLOAD)
    assert text.startswith(DOWNLOAD)
    assert "network.contain=false" in text
    assert isolation_hint.with_advice("ValueError: no such layer") == "ValueError: no such layer"


def test_without_isolation_the_error_has_no_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    on_interfaces(monkeypatch, "lo", "eth0")
    assert isolation_hint.with_advice(DOWNLOAD) == DOWNLOAD
