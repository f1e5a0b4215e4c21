"""Hosts that share nothing but a cable and the installed program, on one machine.

Each is a set of namespaces of its own: network, host name, processes, mounts (a private /tmp, in
which only the program is kept where it lies there; an empty home; a boot of its own), joined by a
veth pair. What a host wrote comes out of it as an archive when its command has ended, as by `scp`.
Nothing is left once a host's first process ends, whichever process is killed: the namespaces have
no names, and the kernel ends every process in them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from strategy_core.processes.import_path import with_own_code
from tests.processes import all_below, command_of
from tests.timeouts import MAX_WAIT_S, wait_until

WIRE = "wire0"
_UNSHARE = ("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child")
_HOST = f"""
set -e
name=$1 address=$2 boot=$3 archive=$4 program=$5 python=$6; shift 6
mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs tmpfs /mnt
for kept in "$program" "$python"; do
  case "$kept" in
    /tmp/*) mkdir -p "/mnt/${{kept#/tmp/}}" && mount --bind "$kept" "/mnt/${{kept#/tmp/}}" ;;
  esac
done
mount --move /mnt /tmp && mkdir /tmp/home && cd /tmp/home && export HOME=/tmp/home
echo $boot > /tmp/boot && mount --bind /tmp/boot /proc/sys/kernel/random/boot_id
hostname $name && ip link set lo up
until ip link set {WIRE} up 2> /dev/null; do sleep 0.02; done
ip addr add $address/24 dev {WIRE}
if [ -n "$CLOCK_AHEAD_NS" ]; then
  echo "$CLOCK_SOURCE" > /tmp/clock.c
  cc -shared -fPIC -O1 "-DAHEAD_NS=${{CLOCK_AHEAD_NS}}LL" -o /tmp/clock.so /tmp/clock.c -ldl
  export LD_PRELOAD=/tmp/clock.so
fi
set +e
"$@"
code=$?
unset LD_PRELOAD
cp /proc/net/dev /tmp/home/net-dev
tar -C /tmp/home -cf - . >&$archive
exit $code
"""
_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static int (*real)(clockid_t, struct timespec *);
int clock_gettime(clockid_t id, struct timespec *t) {
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(id, t);
  if (id == CLOCK_REALTIME) {
    long long ns = t->tv_sec * 1000000000LL + t->tv_nsec + (AHEAD_NS);
    t->tv_sec = ns / 1000000000LL, t->tv_nsec = ns % 1000000000LL;
  }
  return code;
}
int gettimeofday(struct timeval *v, void *zone) {
  struct timespec t;
  int code = clock_gettime(CLOCK_REALTIME, &t);
  v->tv_sec = t.tv_sec, v->tv_usec = t.tv_nsec / 1000;
  return code;
}
time_t time(time_t *into) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (into) *into = t.tv_sec;
  return t.tv_sec;
}
"""


@functools.cache
def why_not() -> str | None:
    """Why this system has no such hosts, in its own words; None where it has."""
    if any(shutil.which(tool) is None for tool in ("unshare", "nsenter", "ip")):
        return "util-linux and iproute2 are not installed"
    moved = "mount --make-rprivate / && mount -t tmpfs tmpfs /mnt && mount --move /mnt /tmp"
    command = [*_UNSHARE, "bash", "-c", moved]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else tried.stderr.strip()


def clock_ahead(by_ns: int) -> dict[str, str]:
    """Environment of a host whose wall clock, as its programs read it, is ahead by so much.

    Needs a C compiler. The kernel's own stamps stay as they were: only programs of a clock that is
    behind do not take them for times of arrival.
    """
    return {"CLOCK_AHEAD_NS": str(by_ns), "CLOCK_SOURCE": _CLOCK}


@dataclass
class Host:
    """A started one. `process` is its way in: what it runs is below it."""

    name: str
    process: subprocess.Popen[str]
    archive: Path

    def signal(self, number: int, command: str) -> None:
        """To the one of its processes whose command line has this."""
        (found,) = [p for p in all_below(self.process.pid) if command in " ".join(command_of(p))]
        found.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of its command, once that has ended."""
        out, err = self.process.communicate(timeout=MAX_WAIT_S)
        return self.process.returncode, out, err

    def bring_home(self, folder: Path) -> Path:
        """What was in its home when its command had ended, copied to a new folder."""
        with tarfile.open(self.archive) as packed:
            packed.extractall(folder, filter="data")
        return folder


@contextlib.contextmanager
def two_hosts(
    folder: Path,
    commands: Sequence[Sequence[str]],
    environments: Sequence[dict[str, str]] = ({}, {}),
) -> Iterator[list[Host]]:
    """`host-a` at 10.77.0.1 and `host-b` at 10.77.0.2, each with its command."""
    hosts: list[Host] = []
    plugged: list[int] = []
    try:
        for number, (command, environment) in enumerate(zip(commands, environments, strict=True)):
            hosts.append(_start(folder, number, command, environment))
        plugged = _join(hosts[0].process.pid, hosts[1].process.pid)
        yield hosts
    finally:
        for end in plugged:
            os.close(end)
        for host in hosts:
            host.process.kill()
        for host in hosts:
            host.process.communicate()


def address(number: int) -> str:
    return f"10.77.0.{number + 1}"


def _start(folder: Path, number: int, command: Sequence[str], environment: dict[str, str]) -> Host:
    name = f"host-{'ab'[number]}"
    archive = folder / f"{name}.tar"
    own_environment = {**with_own_code(os.environ), **environment}
    with archive.open("wb") as packed:
        passed = packed.fileno()
        program, python = str(Path(__file__).parents[2]), sys.prefix
        about = [name, address(number), str(uuid.uuid4()), str(passed), program, python]
        process = subprocess.Popen(
            [*_UNSHARE, "bash", "-c", _HOST, "host", *about, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=own_environment,
            pass_fds=[passed],
        )
    return Host(name, process, archive)


def _join(one: int, other: int) -> list[int]:
    """A cable between the two; both are waiting for their end of it.

    Returns what keeps it plugged in at both ends, although one host may end before the other.
    """

    def inside(pid: int) -> list[int]:
        found = [process.pid for process in all_below(pid)]
        return [p for p in found if _network(p) not in (None, _network(os.getpid()))]

    wait_until(lambda: bool(inside(one) and inside(other)))
    first, second = inside(one)[0], inside(other)[0]
    ends = ("add", WIRE, "type", "veth", "peer", "name", WIRE, "netns", str(second))
    held = [os.open(f"/proc/{pid}/ns/net", os.O_RDONLY) for pid in (first, second)]
    subprocess.run(["nsenter", f"--target={first}", "--net", "ip", "link", *ends], check=True)
    return held


def _network(pid: int) -> str | None:
    """Names the network namespace of a process; None where it has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None
