"""One tailer per run for all its viewers; only runs of the runs folder can be named."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from strategy_app.live import hub as hub_module
from strategy_app.live.hub import POLL_S, Hub, interval_s, run_folder
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import StepDone
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S


@pytest.mark.parametrize(
    "name",
    ["..", ".", "", "../etc", "a/b", "/etc", ".hidden", "a\0b", "missing", "file", "x" * 300],
)
def test_only_a_folder_among_the_runs_can_be_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / ".hidden").mkdir()
    (tmp_path / "runs" / "file").write_text("")
    with pytest.raises(RunFolderError, match="in the runs folder"):
        run_folder(tmp_path / "runs", name)


def test_everybody_shares_one_follower(tmp_path: Path) -> None:
    write_run(tmp_path / "one", steps=5, windows=0)
    hub = Hub(tmp_path)
    assert hub.run("one") is hub.run("one")


def test_a_new_run_under_an_old_name_is_another_run(tmp_path: Path) -> None:
    write_run(tmp_path / "one", steps=5, windows=0)
    hub = Hub(tmp_path)
    before = hub.current("one")
    (tmp_path / "kept").mkdir()  # takes the inode that the new folder might get
    shutil.move(tmp_path / "one", tmp_path / "kept" / "one")
    write_run(tmp_path / "one", steps=3, windows=0)
    assert hub.current("one") is not before
    assert hub.current("one").last_step == 2


def test_two_viewers_of_one_run_both_get_what_is_new(tmp_path: Path) -> None:
    log = EventLog(worker_folder(tmp_path / "live", 0).events)
    hub = Hub(tmp_path, poll_s=0.001, poll_ended_s=0.001)

    async def look() -> list[list[int]]:
        viewers = [hub.stream("live"), hub.stream("live")]
        seen: list[list[int]] = [[], []]
        for number in range(3):
            log.write(StepDone(0, number, number, 1.0, None, None, False))
            if number == 1:
                hub.current("live")  # a page reads it first
            for viewer, numbers in zip(viewers, seen, strict=True):
                while number not in numbers:
                    message = json.loads(await asyncio.wait_for(anext(viewer), MAX_WAIT_S))
                    numbers += [row[1] for row in message["steps"]]
        for viewer in viewers:
            await viewer.aclose()
        return seen

    assert asyncio.run(look()) == [[0, 1, 2], [0, 1, 2]]


def test_many_viewers_together_get_at_most_333_messages_per_second() -> None:
    assert [interval_s(POLL_S, viewers) for viewers in (1, 8)] == [POLL_S, POLL_S]
    assert max(viewers / interval_s(POLL_S, viewers) for viewers in range(1, 200)) < 334


def test_following_uses_no_thread_that_other_pages_share(tmp_path: Path) -> None:
    log = EventLog(worker_folder(tmp_path / "live", 0).events)
    log.write(StepDone(0, 0, 0, 1.0, None, None, False))
    go_on = threading.Event()

    async def look() -> None:
        threads = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(threads)
        busy = asyncio.create_task(asyncio.to_thread(go_on.wait, 30))
        viewer = Hub(tmp_path).stream("live")
        message = json.loads(await asyncio.wait_for(anext(viewer), MAX_WAIT_S))
        assert [row[1] for row in message["steps"]] == [0]
        assert not busy.done()
        go_on.set()
        await viewer.aclose()

    asyncio.run(look())


def test_a_viewer_that_takes_no_messages_does_not_slow_down_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EventLog(worker_folder(tmp_path / "live", 0).events)
    log.write(StepDone(0, 0, 0, 1.0, None, None, False))
    counted: list[int] = []

    def interval(poll_s: float, num_viewers: int) -> float:
        counted.append(num_viewers)
        return poll_s

    monkeypatch.setattr(hub_module, "interval_s", interval)
    hub = Hub(tmp_path, poll_s=0.001, poll_ended_s=0.001)

    async def waits_for_news(viewer: AsyncGenerator[str, None]) -> asyncio.Task[str]:
        """It has taken all that was there, and two polls have counted it."""
        while True:
            reading = asyncio.create_task(anext(viewer))
            num_polls = len(counted)
            while len(counted) < num_polls + 2:
                await asyncio.sleep(0.001)
            if not reading.done():
                return reading

    async def look() -> None:
        viewers = [hub.stream("live") for _ in range(20)]
        for viewer in viewers:
            await anext(viewer)  # none of them is asked again, as when its connection is full
        for step in range(1, 6):
            reading = await waits_for_news(viewers[0])
            log.write(StepDone(0, step, 0, 1.0, None, None, False))
            await asyncio.wait_for(reading, MAX_WAIT_S)
        for viewer in viewers:
            await viewer.aclose()

    asyncio.run(look())
    assert max(counted) == 1


def test_a_run_recorded_again_in_the_same_inode_is_another_one(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "one", steps=5, windows=0)
    hub = Hub(tmp_path)
    before = hub.current("one")
    empty(folder)  # the folder itself stays, and its inode with it
    write_run(folder, steps=9, windows=0)
    after = hub.current("one")
    assert after is not before
    assert [row[1] for row in json.loads(after.message()[0])["steps"]] == list(range(9))
    assert before.last_step == 4


def test_viewers_of_a_run_that_is_recorded_again_start_over(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "one", steps=5, windows=0)
    hub = Hub(tmp_path, poll_s=0.001, poll_ended_s=0.001)

    async def look() -> list[dict[str, Any]]:
        viewer = hub.stream("one")
        messages = [json.loads(await asyncio.wait_for(anext(viewer), MAX_WAIT_S))]
        shutil.rmtree(folder)
        write_run(tmp_path / "another", steps=7, windows=0).rename(folder)
        while len(messages) == 1 or not messages[-1]["reset"]:
            messages.append(json.loads(await asyncio.wait_for(anext(viewer), MAX_WAIT_S)))
        await viewer.aclose()
        return messages

    first, *between, last = asyncio.run(look())
    assert len(first["steps"]) == 5
    assert not [row for message in between for row in message["steps"]]
    assert [row[1] for row in last["steps"]] == list(range(7))


def test_a_cursor_of_the_run_before_gets_all_of_the_new_one(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "one", steps=5, windows=0)
    hub = Hub(tmp_path)
    _, cursor = hub.current("one").message()
    empty(folder)
    write_run(folder, steps=9, windows=0)
    message = json.loads(hub.current("one").message(cursor)[0])
    assert message["reset"]
    assert len(message["steps"]) == 9


def test_a_deleted_run_ends_its_stream(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "one", steps=5, windows=0)
    hub = Hub(tmp_path, poll_s=0.001, poll_ended_s=0.001)

    async def look() -> None:
        viewer = hub.stream("one")
        await asyncio.wait_for(anext(viewer), MAX_WAIT_S)
        shutil.rmtree(folder)
        while True:
            await asyncio.wait_for(anext(viewer), MAX_WAIT_S)

    with pytest.raises(RunFolderError, match="one"):
        asyncio.run(look())


def test_only_the_runs_looked_at_last_are_kept_in_memory(tmp_path: Path) -> None:
    hub = Hub(tmp_path, max_kept=2)
    for name in ("a", "b", "c"):
        write_run(tmp_path / name, steps=3, windows=0)
    first, second = hub.run("a"), hub.run("b")
    hub.run("c")
    assert hub.run("b") is second
    assert hub.run("a") is not first


def empty(folder: Path) -> None:
    """Delete everything in a folder and keep the folder."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
