"""How wrong the clock between two processes is, where the truth is known: 0 on one host.

    python -m benchmarks.clock [--quick]

The reference answers from a process of its own. First both are at rest, then each has a thread
that never lets go of the interpreter, on a machine whose every core is taken. Beside the lab's
bursts stands a plain exchange, one message there and back. Then a clock is planted that lags by
50 ms and drifts, and what following costs is measured at the pace of a run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.measuring.record import record_figure
from strategy_core.cluster.telemetry import clock_exchange as wire
from strategy_core.cluster.telemetry.clock import EVERY_S, ClockFollower, ClockServer
from strategy_profiles.clocks.fit import ClockLine, fit_line
from strategy_profiles.run.events import ClockMeasured

TOKEN = wire.token_of("benchmark")
LIMIT_US = 200.0
PLANTED_MS = 50.0
PLANTED_PPM = 500.0
LIMIT_CPU = 0.001
_SPAWN = multiprocessing.get_context("spawn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    seconds = 3.0 if parser.parse_args().quick else 30.0
    for is_busy in (False, True):
        with reference(is_busy) as port, load(is_busy):
            bursts, plain = measure(port, seconds), plain_errors_us(port, int(10 * seconds))
        print_errors("both busy" if is_busy else "both at rest", bursts, plain)
    with reference(False) as port:
        print_planted(port, seconds)
        print_cost(port, seconds)


def measure(
    port: int, seconds: float, clock: Callable[[], int] = time.time_ns
) -> list[ClockMeasured]:
    """What a follower tells, ten times a second."""
    follower = ClockFollower("127.0.0.1", port, TOKEN, clock=clock, every_s=0.1)
    time.sleep(seconds)
    follower.close()
    events = [event for event in follower.take_events() if isinstance(event, ClockMeasured)]
    return [event for event in events if event.offset_ns is not None]


def plain_errors_us(port: int, count: int) -> list[float]:
    """Offsets by one exchange each, its times read by Python."""
    errors = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(5)
        for number in range(count):
            sent_ns = time.time_ns()
            sock.send(wire.pack(TOKEN, number))
            answer = wire.unpack(sock.recv(2 * wire.SIZE), TOKEN)
            returned_ns = time.time_ns()
            assert answer is not None
            exchange = wire.Exchange(sent_ns, answer[1], answer[2], returned_ns)
            errors.append(abs(exchange.offset_ns) / 1e3)
            time.sleep(0.002)
    return errors


def print_errors(title: str, bursts: list[ClockMeasured], plain: list[float]) -> None:
    errors = [abs(event.offset_ns or 0) / 1e3 for event in bursts]
    doubts = [(event.uncertainty_ns or 0) / 1e3 for event in bursts]
    is_honest = all(error <= doubt for error, doubt in zip(errors, doubts, strict=True))
    line = line_of(bursts)
    verdict = "within" if abs(line.offset_ns) / 1e3 <= LIMIT_US else "BEYOND"
    print(f"{title}: {len(bursts)} bursts, truth 0")
    print(f"  of a burst:  {spread(errors)}, stated uncertainty {spread(doubts)}")
    print(f"  error within the stated uncertainty, every time: {'yes' if is_honest else 'NO'}")
    print(
        f"  of the line: {abs(line.offset_ns) / 1e3:.1f} us, stated uncertainty "
        f"{line.uncertainty_ns / 1e3:.1f} us; {verdict} {LIMIT_US:.0f} us"
    )
    record_figure(f"error, {title}", abs(line.offset_ns) / 1e3, "us")
    ratio = statistics.fmean(plain) / max(statistics.fmean(errors), 1e-3)
    print(f"  a plain exchange: {spread(plain)}; on average {ratio:.1f}x as wrong")


def print_planted(port: int, seconds: float) -> None:
    began_ns = time.time_ns()

    def behind() -> int:
        now_ns = time.time_ns()
        return now_ns - round(PLANTED_MS * 1e6 + PLANTED_PPM * 1e-6 * (now_ns - began_ns))

    line = line_of(measure(port, seconds, behind))
    since_ns = line.middle_ns + PLANTED_MS * 1e6 - began_ns
    truth_ns = PLANTED_MS * 1e6 + PLANTED_PPM * 1e-6 * since_ns
    wrong = abs(line.offset_ns / truth_ns - 1) * 100
    drift = abs((line.drift or 0.0) * 1e6 / PLANTED_PPM - 1) * 100
    print(
        f"planted {PLANTED_MS:.0f} ms and {PLANTED_PPM:.0f} ppm: offset found within {wrong:.4f} %"
    )
    record_figure("planted offset", wrong, "%")
    record_figure("planted drift", drift, "%")
    print(f"  drift found within {drift:.2f} % (limit of both: 5 %)")


def print_cost(port: int, seconds: float) -> None:
    """Processor time of a process that does nothing but follow, less one that does nothing."""
    spent = {}
    for is_following in (True, False):
        ours, theirs = _SPAWN.Pipe()
        child = _SPAWN.Process(
            target=_spend, args=(theirs, port if is_following else None, seconds)
        )
        child.start()
        spent[is_following] = ours.recv()
        child.join()
    share = (spent[True] - spent[False]) / seconds
    verdict = "within" if share <= LIMIT_CPU else "BEYOND"
    print(f"following every {EVERY_S:.0f} s takes {share:.3%} of a core; {verdict} {LIMIT_CPU:.1%}")


def line_of(bursts: list[ClockMeasured]) -> ClockLine:
    columns = [(e.measured_ns, e.offset_ns, e.uncertainty_ns) for e in bursts]
    return fit_line(*np.array(columns, np.int64).T)


def spread(values: list[float]) -> str:
    low, middle, high = np.percentile(values, [10, 50, 90])
    return f"{middle:.1f} us ({low:.1f} to {high:.1f}, worst {max(values):.1f})"


@contextmanager
def reference(is_busy: bool) -> Iterator[int]:
    """A process that answers; gives its port."""
    ours, theirs = _SPAWN.Pipe()
    child = _SPAWN.Process(target=_answer, args=(theirs, is_busy), daemon=True)
    child.start()
    try:
        yield ours.recv()
    finally:
        child.kill()
        child.join()


@contextmanager
def load(is_busy: bool) -> Iterator[None]:
    """Every core taken, and this process's interpreter too."""
    count = os.cpu_count() or 1
    children = [_SPAWN.Process(target=_spin, daemon=True) for _ in range(count if is_busy else 0)]
    over = threading.Event()
    for child in children:
        child.start()
    if is_busy:
        threading.Thread(target=_spin, args=(over,), daemon=True).start()
    try:
        yield
    finally:
        over.set()
        for child in children:
            child.kill()
            child.join()


def _answer(pipe: Connection, is_busy: bool) -> None:
    server = ClockServer("127.0.0.1", 0, TOKEN)
    pipe.send(server.port)
    if is_busy:
        _spin()
    while True:
        time.sleep(60)


def _spend(pipe: Connection, port: int | None, seconds: float) -> None:
    follower = ClockFollower("127.0.0.1", port, TOKEN) if port is not None else None
    time.sleep(0.5)
    before = time.process_time()
    time.sleep(seconds)
    pipe.send(time.process_time() - before)
    if follower is not None:
        follower.close()


def _spin(over: threading.Event | None = None) -> None:
    while over is None or not over.is_set():
        sum(range(1000))


if __name__ == "__main__":
    main()
