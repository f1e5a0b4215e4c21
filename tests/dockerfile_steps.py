"""Run the steps of the Dockerfile without Docker: a Debian root of its own, entered with chroot.

    sudo python -m tests.dockerfile_steps ROOT [--keep]

Needs root and Debian's `debootstrap`. FROM becomes `debootstrap`; ENV, ARG, WORKDIR, COPY, RUN
and USER do what they say; then CMD is started inside the root and HEALTHCHECK is asked until it
answers. What it cannot show: layers, VOLUME, and how Docker itself isolates. Exits with 0 when
healthy.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
HOST_FILES = ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt")
"""Network settings of this machine that a container would get from Docker."""


@dataclass(frozen=True)
class Instruction:
    name: str
    text: str


@dataclass
class Image:
    """What the instructions so far have made of the root."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "root"
    health: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def argv(self, command: list[str]) -> list[str]:
        settings = [f"{key}={value}" for key, value in self.environment.items()]
        inner = f"cd {shlex.quote(self.folder)} && exec {shlex.join(command)}"
        return [
            *("chroot", f"--userspec={self.user}", str(self.root)),
            *("env", "HOME=/home/lab" if self.user != "root" else "HOME=/root", *settings),
            *("/bin/sh", "-c", inner),
        ]


def read_instructions(text: str) -> list[Instruction]:
    """The instructions of a Dockerfile, continuation lines joined, comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    pairs = [line.strip().split(None, 1) for line in joined.splitlines() if line.strip()]
    return [Instruction(name, text) for name, text in pairs]


def apply(image: Image, step: Instruction) -> None:
    """Carry out one instruction on the root; an unknown one is an error, never passed over."""
    match step.name:
        case "FROM":
            suite = step.text.removeprefix("debian:").removesuffix("-slim")
            run(["debootstrap", "--variant=minbase", suite, str(image.root)])
        case "ARG" | "ENV":
            for setting in shlex.split(step.text):
                key, value = setting.split("=", 1)
                path = image.environment.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
                image.environment[key] = value.replace("$PATH", path)
        case "WORKDIR":
            image.folder = step.text
            (image.root / step.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
        case "COPY":
            *sources, target = step.text.split()
            for source in sources:
                place = image.root / image.folder.lstrip("/")
                copy(REPOSITORY / source, place / (source if target == "./" else target))
        case "RUN":
            for name in HOST_FILES:  # before each: a package may bring its own
                copy(Path("/") / name, image.root / name)
            run(image.argv(["/bin/sh", "-c", step.text]))
        case "USER":
            image.user = step.text
        case "HEALTHCHECK":
            image.health = json.loads(step.text.split("CMD", 1)[1])
        case "ENTRYPOINT":
            image.entry = json.loads(step.text)
        case "CMD":
            image.command = json.loads(step.text)
        case "VOLUME" | "EXPOSE":
            pass
        case _:
            raise SystemExit(f"The instruction {step.name} is unknown to this script.")


def is_healthy(image: Image, seconds: float = 60) -> bool:
    """Start the command in the root, ask the health check until it says yes, stop it again."""
    server = subprocess.Popen(image.argv(image.entry + image.command), start_new_session=True)
    try:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and server.poll() is None:
            if run(image.argv(image.health), check=False) == 0:
                return True
            time.sleep(0.5)
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)


def run(argv: list[str], *, check: bool = True) -> int:
    """Run to the end; silent where a failure is an answer and no accident."""
    quiet = None if check else subprocess.DEVNULL
    return subprocess.run(argv, check=check, stdout=quiet, stderr=quiet).returncode


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignore)
    else:
        shutil.copy2(source, target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--keep", action="store_true", help="leave the root for a look around")
    arguments = parser.parse_args()
    if arguments.root.exists():
        raise SystemExit(f"{arguments.root} exists. Name a new folder.")
    image = Image(arguments.root.resolve())
    mounts = [image.root / name for name in ("proc", "dev")]
    try:
        for step in read_instructions((REPOSITORY / "Dockerfile").read_text()):
            print(f"--- {step.name} {step.text}", flush=True)
            apply(image, step)
            if step.name == "FROM":
                run(["mount", "--bind", "/proc", str(mounts[0])])
                run(["mount", "--bind", "/dev", str(mounts[1])])
        healthy = is_healthy(image)
        print("healthy" if healthy else "NOT healthy")
        return 0 if healthy else 1
    finally:
        for mount in mounts:
            run(["umount", "--lazy", str(mount)], check=False)
        if not arguments.keep and not any(mount.is_mount() for mount in mounts):
            shutil.rmtree(image.root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
