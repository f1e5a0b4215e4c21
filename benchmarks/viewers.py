"""Fifty viewers on one training run: how late they see it, and what they cost it.

    python -m benchmarks.viewers [--viewers N] [--pairs N] [--quick]

A real run (digits-cnn on two devices) trains in processes of its own while a lab serves it.
Blocks of time with and without viewers follow each other in one run; the ratio is that of their
median steps, with the interval that holds it with a confidence of 95 %. A viewer is a WebSocket
with a cursor of its own, as a browser has it; half of them leave and come back with their cursor
in every block. Then a real Chromium joins the others: an event's latency is the time from its
writing to its message at each viewer, and to the first frame that shows it. Bound: a ratio of at
most 1.02x. The viewers run on the same machine and count as cost, which people's own machines
would otherwise bear.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil
from websockets.asyncio.client import connect

from benchmarks.live_page import WATCH, server_process
from benchmarks.measuring.browser import chromium, serve_lab
from benchmarks.measuring.paired import median_ratio
from benchmarks.measuring.record import record_figure, record_ratio
from strategy_core.processes.import_path import module_command
from strategy_profiles.decoders import decoder_of
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.tables.store import load
from tests import lab_access
from tests.timeouts import MAX_WAIT_S

RUN = "trained"
SETTLE_S = 8.0
"""Warm-up of the run, and the import of the lab's spare worker."""
EDGE_S = 0.7
"""Of a block that is not counted: viewers come and go there."""
BOUND = 1.02
MAX_MESSAGE_BYTES = 1 << 26


@dataclass
class ReceivedMessages:
    """What the viewers received: rows of (time in ns, first step, last step) per message."""

    messages: list[tuple[int, int, int]] = field(default_factory=list)
    num_resets: int = 0
    num_bytes: int = 0


class Message(msgspec.Struct):
    """What is read of a message. The rows stay text: fifty viewers share one interpreter here."""

    cursor: str
    reset: bool
    steps: list[msgspec.Raw]


_decode = decoder_of(Message).decode


@dataclass(frozen=True, slots=True)
class Block:
    has_viewers: bool
    begin_ns: int
    end_ns: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=10, help="blocks with and without viewers")
    parser.add_argument("--block", type=float, default=5.0, help="length of a block, s")
    parser.add_argument("--quick", action="store_true", help="three pairs")
    options = parser.parse_args()
    pairs = 3 if options.quick else options.pairs
    with (
        tempfile.TemporaryDirectory() as scratch,
        serve_lab(Path(scratch)) as address,
        training(Path(scratch)) as run,
    ):
        time.sleep(SETTLE_S)
        server = server_process()
        alone_bytes = server.memory_info().rss
        blocks, seen, cpu = asyncio.run(in_turns(address, options.viewers, pairs, options.block))
        watched_bytes = server.memory_info().rss
        print_cost(load(run).table("steps"), blocks)
        print_latency(f"{options.viewers} viewers: event to message", run, seen)
        print(
            f"{seen.num_bytes / 1e6:.0f} MB sent, {seen.num_resets} whole histories; server CPU "
            f"{cpu[False]:.0%} of a core without viewers, {cpu[True]:.0%} with; server memory "
            f"{alone_bytes / 1e6:.0f} MB before them, {watched_bytes / 1e6:.0f} MB after",
            flush=True,
        )
        record_figure("server memory", watched_bytes / 1e6, "MB")
        record_figure("server CPU", 100 * cpu[True], "%")
        pixels, seen = with_chromium(address, options.viewers, 3 * options.block)
        print_latency(f"{options.viewers} viewers and Chromium: event to message", run, seen)
        print_pixels(run, pixels)
        print(f"server memory at the end {server.memory_info().rss / 1e6:.0f} MB", flush=True)


@contextmanager
def training(runs: Path) -> Iterator[Path]:
    """A run under way, stopped at the end; it has done its first steps."""
    run = runs / RUN
    request = ["--devices", "cpu:2", "--workload", "digits-cnn", "--steps", "1000000"]
    quiet = subprocess.DEVNULL
    command = [
        *module_command("strategy_core"),
        "run",
        "--strategy",
        "mirrored",
        *request,
        "-o",
        str(run),
    ]
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, stdin=quiet)
    try:
        deadline = time.monotonic() + MAX_WAIT_S
        while not _has_steps(run):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError("the run did not start")
            time.sleep(0.2)
        yield run
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(MAX_WAIT_S)


async def in_turns(
    address: str, num_viewers: int, pairs: int, block_s: float
) -> tuple[list[Block], ReceivedMessages, dict[bool, float]]:
    """Blocks with and without viewers, the first of each pair in turn; the server's CPU share."""
    server, blocks, seen = server_process(), [], ReceivedMessages()
    used: dict[bool, list[float]] = {True: [], False: []}
    for pair in range(pairs):
        for has_viewers in (pair % 2 == 0, pair % 2 == 1):
            begin_ns, begin_s = time.time_ns(), cpu_s(server)
            if has_viewers:
                await look(address, num_viewers, block_s, seen)
            else:
                await asyncio.sleep(block_s)
            blocks.append(Block(has_viewers, begin_ns, time.time_ns()))
            used[has_viewers].append((cpu_s(server) - begin_s) / block_s)
    return blocks, seen, {which: float(np.mean(shares)) for which, shares in used.items()}


async def look(address: str, num_viewers: int, seconds: float, seen: ReceivedMessages) -> None:
    """Have viewers watch for a while; every second one leaves half-way and comes back."""

    async def viewer(number: int) -> None:
        cursor = await watch(address, "", seconds / (2 if number % 2 else 1), seen)
        if number % 2:
            await watch(address, cursor, seconds / 2, seen)

    await asyncio.gather(*(viewer(number) for number in range(num_viewers)))


async def watch(address: str, cursor: str, seconds: float, seen: ReceivedMessages) -> str:
    """One connection; the cursor at its end."""
    url = f"{address.replace('http', 'ws', 1)}/api/runs/{RUN}/stream?cursor={cursor}"
    end = time.monotonic() + seconds
    is_back = bool(cursor)  # its first message brings what was missed meanwhile
    options: Any = {"max_size": MAX_MESSAGE_BYTES, "open_timeout": 60, "close_timeout": 1}
    async with connect(url, additional_headers=lab_access.HEADERS, **options) as socket:
        while (left := end - time.monotonic()) > 0:
            try:
                text = await asyncio.wait_for(socket.recv(), left)
            except TimeoutError:
                break
            at_ns = time.time_ns()
            message = _decode(text)
            cursor = message.cursor
            seen.num_bytes += len(text)
            seen.num_resets += message.reset
            if message.steps and not message.reset and not is_back:
                first, last = (msgspec.json.decode(message.steps[at])[1] for at in (0, -1))
                seen.messages.append((at_ns, first, last))
            is_back = False
    return cursor


def with_chromium(
    address: str, num_viewers: int, seconds: float
) -> tuple[np.ndarray, ReceivedMessages]:
    """Drawings of one Chromium among the viewers as rows of (step, ms), and what those received."""
    command = [sys.executable, "-c", _CHROMIUM, address, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as browser:
        assert browser.stdout is not None
        browser.stdout.readline()  # the page is open
        seen = ReceivedMessages()
        asyncio.run(look(address, num_viewers, seconds, seen))
        drawn = json.loads(browser.stdout.readline())
    return np.array(drawn, np.float64).reshape(-1, 2), seen


_CHROMIUM = "import sys; from benchmarks.viewers import draw; draw(sys.argv[1], float(sys.argv[2]))"


def draw(address: str, seconds: float) -> None:
    """In a process of its own: Playwright's loop and that of the viewers do not share a thread."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(lab_access.with_token(f"{address}/?run={RUN}"))
        page.locator(".live:not([data-step=''])").wait_for()
        page.evaluate(WATCH)
        print("open", flush=True)
        page.wait_for_timeout(1000 * seconds)
        print(json.dumps(page.evaluate("window.drawn")), flush=True)


def print_cost(steps: Any, blocks: list[Block]) -> None:
    """The ratio of the median step with viewers to the one without."""
    start_ns = steps.column("start_ns").to_numpy()
    wall_ms = steps.column("wall_ms").to_numpy()
    edge_ns = int(EDGE_S * 1e9)

    def median(block: Block) -> float:
        inside = (start_ns > block.begin_ns + edge_ns) & (start_ns < block.end_ns - edge_ns)
        return float(np.median(wall_ms[inside]))

    watched = [median(block) for block in blocks if block.has_viewers]
    alone = [median(block) for block in blocks if not block.has_viewers]
    ratio = median_ratio(watched, alone)
    record_ratio("step", ratio, len(alone))
    print(
        f"step {np.median(alone):.2f} ms without viewers, {np.median(watched):.2f} ms with: "
        f"{ratio}, bound {BOUND}x, {len(alone)} pairs",
        flush=True,
    )


def print_latency(title: str, run: Path, seen: ReceivedMessages) -> None:
    written = written_ns(run)
    late: list[np.ndarray] = []
    for at_ns, first, last in seen.messages:
        steps = np.arange(first, min(last + 1, len(written)))
        late.append((at_ns - written[steps]) / 1e6)
    _print_percentiles(title, np.concatenate(late) if late else np.zeros(0))


def print_pixels(run: Path, drawn: np.ndarray) -> None:
    written = written_ns(run)
    steps = np.arange(int(drawn[0, 0]) + 1, int(drawn[-1, 0]) + 1) if len(drawn) else np.arange(0)
    at = np.searchsorted(drawn[:, 0], steps, side="left")
    late_ms = drawn[at, 1] - written[steps] / 1e6
    record_figure("event to pixel", float(np.nanpercentile(late_ms, 95)), "ms")
    _print_percentiles("Chromium: event to pixel", late_ms)


def _print_percentiles(title: str, late_ms: np.ndarray) -> None:
    late_ms = late_ms[np.isfinite(late_ms)]
    if not len(late_ms):
        raise RuntimeError(f"{title}: nothing arrived")
    p50, p95, worst = np.percentile(late_ms, [50, 95, 100])
    print(
        f"{title} p50 {p50:.0f} ms, p95 {p95:.0f} ms, worst {worst:.0f} ms ({len(late_ms):,})",
        flush=True,
    )


def written_ns(run: Path) -> np.ndarray:
    """By step the time of its event, in epoch ns; NaN for one that is not there."""
    written_at: dict[int, int] = {}
    with worker_folder(run, 0).events.open() as file:
        for line in file:
            if '"kind":"step"' in line.replace(" ", "")[:200] and line.endswith("\n"):
                record = json.loads(line)
                written_at[record["step"]] = record["at_ns"]
    written = np.full(max(written_at) + 1, np.nan)
    written[list(written_at)] = list(written_at.values())
    return written


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _has_steps(run: Path) -> bool:
    try:
        return '"step"' in worker_folder(run, 0).events.read_text()
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    main()
