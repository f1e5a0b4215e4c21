"""Device names are as short as they can be, and never two alike."""

from __future__ import annotations

from strategy_lab.profiles.reporting.device_names import short_names

LOCAL = "/job:localhost/replica:0/task:0/device:CPU:1"
REMOTE = "/job:worker/replica:0/task:1/device:GPU:0"


def test_one_place_is_not_named() -> None:
    assert short_names([LOCAL]) == {LOCAL: "CPU:1"}


def test_several_places_are() -> None:
    assert short_names([LOCAL, REMOTE, "odd"]) == {
        LOCAL: "localhost 0 CPU:1",
        REMOTE: "worker 1 GPU:0",
        "odd": "odd",
    }


def test_processes_are_called_as_everywhere_else() -> None:
    """TensorFlow's `chief` is the coordinator, alone of its kind; `ps` a parameter server."""
    named = short_names(
        [f"/job:{job}/task:{n}/device:CPU:0" for job, n in (("chief", 0), ("ps", 1))]
    )
    assert [*named.values()] == ["coordinator CPU:0", "parameter server 1 CPU:0"]
