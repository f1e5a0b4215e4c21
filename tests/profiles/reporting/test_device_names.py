"""Device names are as short as they can be, and never two alike."""

from __future__ import annotations

from strategy_profiles.reporting.device_names import folded, short_names

LOCAL = "/job:localhost/replica:0/task:0/device:CPU:1"
REMOTE = "/job:worker/replica:0/task:1/device:GPU:0"


def test_the_job_of_a_single_task_is_left_out_of_device_names() -> None:
    assert short_names([LOCAL]) == {LOCAL: "CPU:1"}


def test_the_jobs_of_several_tasks_are_in_device_names() -> None:
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


def test_devices_of_a_profile_have_the_name_of_their_host_if_there_are_several() -> None:
    names = ["a_6009/device:GPU:0", "a_6009/host:CPU", "/device:TPU:3", "/host:CPU", "a/b/host:CPU"]
    assert [*short_names(names).values()] == [
        "a_6009 GPU:0",
        "a_6009 host",
        "TPU:3",
        "host",
        names[-1],
    ]


def test_devices_that_count_up_are_written_as_one() -> None:
    cores = [f"CPU:{number}" for number in range(16)]
    assert folded(cores) == ["CPU:0 to CPU:15"]
    assert folded(["host", *cores, "GPU:0", "GPU:1"]) == [
        "host",
        "CPU:0 to CPU:15",
        "GPU:0",
        "GPU:1",
    ]
    assert folded(f"worker {number} CPU:0" for number in range(16)) == [
        "worker 0 CPU:0 to worker 15 CPU:0"
    ]
    assert folded(f"worker {number // 3} CPU:{number % 3}" for number in range(6)) == [
        "worker 0 CPU:0 to worker 0 CPU:2",
        "worker 1 CPU:0 to worker 1 CPU:2",
    ]


def test_devices_that_do_not_count_up_stay_as_they_are() -> None:
    names = ["CPU:0", "CPU:1", "CPU:3", "CPU:2", "odd", "odd", "9" * 5000, "CPU:08", "CPU:9"]
    assert folded(names) == names
    assert folded([]) == []
