"""Beside a run stands what it was asked, its emulated links and restarts included."""

from __future__ import annotations

from strategy_app.forms.spec_summary import requested_fields
from strategy_profiles.spec.run_spec import RunSpec


def test_the_summary_names_what_was_set_and_no_defaults() -> None:
    plain = requested_fields(RunSpec().to_json())
    assert plain["strategy"] == "mirrored"
    assert "workers" not in plain
    spec = RunSpec().with_changes(
        {
            "strategy": "multi-worker-mirrored",
            "workers": 2,
            "devices": "cpu:1",
            "network.delay_ms": 5.0,
            "network.rate_mbit": 100.0,
            "cluster.restarts": 2,
        }
    )
    requested = requested_fields(spec.to_json())
    assert requested.items() >= {
        ("workers", 2),
        ("network delay ms", 5.0),
        ("network rate mbit", 100.0),
        ("cluster restarts", 2),
    }
    assert len(requested) == len(plain) + 4


def test_a_spec_from_elsewhere_has_what_it_has() -> None:
    assert requested_fields({"strategy": "mirrored", "network": {"odd": 1}}) == {
        "strategy": "mirrored"
    }
