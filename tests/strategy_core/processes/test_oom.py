"""What the kernel counted about memory, from the files of both kinds of cgroups."""

from __future__ import annotations

from pathlib import Path

from strategy_core.processes.oom import MemoryReading, oom_evidence, read_memory


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_memory_of_a_cgroup_of_version_2_is_read(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/lab\n",
            "proc/vmstat": "nr_free_pages 7\noom_kill 4\n",
            "sys/fs/cgroup/lab/memory.events": "low 0\noom 2\noom_kill 3\n",
            "sys/fs/cgroup/lab/memory.max": "1073741824\n",
        },
    )
    assert read_memory(root) == MemoryReading(3, 4, 2**30)


def test_memory_of_a_cgroup_of_version_1_without_a_limit_is_read(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/docker/abc\n0::/\n",
            "sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\noom_kill 1\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2**63 - 4096}\n",
        },
    )
    assert read_memory(root) == MemoryReading(1, None, None)


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert read_memory(tmp_path) == MemoryReading()
    is_oom, note = oom_evidence(MemoryReading(), MemoryReading(), peak_bytes=None)
    assert not is_oom
    assert "does not report" in note


def test_the_note_says_how_sure_it_is_that_memory_ran_out() -> None:
    before = MemoryReading(cgroup_oom_kills=1, machine_oom_kills=5)
    mine = MemoryReading(cgroup_oom_kills=2, machine_oom_kills=6, limit_bytes=2**30)
    is_oom, note = oom_evidence(before, mine, peak_bytes=2**30)
    assert is_oom
    assert note.endswith(
        "in this container. The worker was last seen using 1.0 GiB of the 1.0 GiB allowed."
    )
    somebodys = MemoryReading(cgroup_oom_kills=1, machine_oom_kills=6)
    assert oom_evidence(before, somebodys, None) == (
        True,
        "The kernel counted an out-of-memory kill on this machine, probably this one.",
    )
    assert oom_evidence(before, before, None) == (
        False,
        "The kernel counted no out-of-memory kill.",
    )


def test_this_machine_can_be_read() -> None:
    read_memory()
