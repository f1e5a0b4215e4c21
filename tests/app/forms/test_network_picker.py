"""The Lab's picker of a slow network: what it asks for, and what it says where it cannot."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app.forms import network_picker
from tests.timeouts import MAX_WAIT_S

SCRIPT = """
import streamlit as st
from strategy_app.forms.field_errors import FieldErrors
from strategy_app.forms.network_picker import live_changes, pick_network
picked = pick_network(st.query_params["strategy"], FieldErrors(), key="net", applied={applied!r})
st.json(picked)
st.json(live_changes(picked))
"""


def pick(strategy: str, applied: dict[str, object] | None = None) -> AppTest:
    at = AppTest.from_string(SCRIPT.format(applied=applied), default_timeout=MAX_WAIT_S)
    at.query_params["strategy"] = strategy
    at.run()
    assert not at.exception
    return at


def picked(at: AppTest) -> object:
    import json

    return json.loads(at.json[0].value)


@pytest.fixture
def _allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_picker, "why_not_emulated", lambda: None)


@pytest.mark.usefixtures("_allowed")
def test_a_rate_and_a_delay_can_be_asked_for() -> None:
    at = pick("multi-worker-mirrored")
    assert picked(at) == network_picker.NOTHING, "nothing is emulated unless asked for"
    at.number_input(key="net_rate").set_value(100.0)
    at.number_input(key="net_delay").set_value(5.0).run()
    assert picked(at) == {"rate_mbit": 100.0, "delay_ms": 5.0, "interfaces": False}


@pytest.mark.usefixtures("_allowed")
def test_what_is_in_force_is_shown() -> None:
    at = pick("parameter-server", {"rate_mbit": 50.0, "interfaces": True, "contain": True})
    assert picked(at) == {"rate_mbit": 50.0, "delay_ms": None, "interfaces": True}


@pytest.mark.usefixtures("_allowed")
def test_a_run_of_one_process_has_no_links() -> None:
    at = pick("mirrored", {"rate_mbit": 50.0})
    assert picked(at) == network_picker.NOTHING
    assert not at.number_input


@pytest.mark.parametrize("open_to_others", [False, True])
def test_where_the_system_refuses_it_says_why(
    open_to_others: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "no namespaces" if open_to_others else None
    monkeypatch.setattr(network_picker, "why_not_emulated", lambda: "not allowed")
    monkeypatch.setattr(network_picker, "why_not_contained", lambda: why)
    at = pick("multi-worker-mirrored")
    assert "not allowed" in at.caption[0].value
    assert picked(at) == network_picker.NOTHING
    warned = [item.value for item in at.warning]
    assert [("run code as you" in text, "no namespaces" in text) for text in warned] == [
        (True, True)
    ] * open_to_others
