"""Installs packages beside the Python that runs it: uv does it, or pip where uv cannot.

    .venv/bin/python requirements/install.py --require-hashes -r requirements/all.lock

The arguments are those of `pip install`. uv takes a third of pip's time, but does not read pip's
settings (`pip.conf`, `PIP_*`): what they say is passed on as uv's own. pip installs, as it does
without this file, if a setting has no counterpart in uv, if uv cannot be had, or if uv fails.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

LOCKED_UV = Path(__file__).with_name("installer.lock")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
AS_VARIABLE = {
    "cache-dir": ["UV_CACHE_DIR"],
    "cert": ["SSL_CERT_FILE"],
    "client-cert": ["SSL_CLIENT_CERT"],
    "constraint": ["UV_CONSTRAINT"],
    "default-timeout": ["UV_HTTP_TIMEOUT"],
    "extra-index-url": ["UV_INDEX"],
    "find-links": ["UV_FIND_LINKS"],
    "index-url": ["UV_DEFAULT_INDEX"],
    "proxy": ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"],
    "retries": ["UV_HTTP_RETRIES"],
    "timeout": ["UV_HTTP_TIMEOUT"],
    "trusted-host": ["UV_INSECURE_HOST"],
}
"""By setting of pip, the variables of uv for the same setting."""
AS_OPTION = {"no-cache-dir": "--no-cache", "no-index": "--no-index"}
OF_PIP_ALONE = {
    *(
        "config-file",
        "disable-pip-version-check",
        "no-color",
        "no-input",
        "no-warn-script-location",
    ),
    *("progress-bar", "quiet", "require-virtualenv", "root-user-action", "verbose"),
}
"""Settings that change nothing of what is installed."""


class NoCounterpartError(Exception):
    """A setting of pip that uv cannot be told; the message is its name."""


def main(arguments: Sequence[str]) -> int:
    try:
        options, variables = for_uv(pip_settings(), os.environ)
        uv = own_uv()
        command = [uv, "pip", "install", "--quiet", "--python", sys.executable, *options]
        subprocess.run(
            [*command, *_as_uv_has_them(arguments, variables)],
            env=os.environ | variables,
            check=True,
        )
    except NoCounterpartError as setting:
        print(f"pip installs, because uv has no counterpart of its setting {setting}.", flush=True)
    except (OSError, subprocess.CalledProcessError):
        print("uv did not install this: pip tries it, which takes longer.", flush=True)
    else:
        return 0
    return subprocess.run([*PIP, "install", "--quiet", *arguments], check=False).returncode


def own_uv() -> str:
    """The path of uv in this environment; pip installs it if it is not there yet.

    Raises CalledProcessError if there is none for this machine, or it cannot be fetched.
    """
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    if not uv.exists():
        options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
        subprocess.run([*PIP, "install", *options, "-r", str(LOCKED_UV)], check=True)
    return str(uv)


def pip_settings() -> dict[str, str]:
    """What pip's files and variables set for its `install`, by the names of its options."""
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True)
    pairs = [line.partition("=") for line in listed.stdout.splitlines()]
    found = {name: str(ast.literal_eval(value)) for name, _, value in pairs if value}
    settings: dict[str, str] = {}
    for section in ("global.", "install.", ":env:."):  # the last one has the last word
        named = {name: value for name, value in found.items() if name.startswith(section)}
        settings |= {name.removeprefix(section): value for name, value in named.items()}
    return settings


def for_uv(
    settings: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The same as options and environment variables of uv.

    Raises NoCounterpartError.
    """
    options, variables = [], {}
    for name, value in settings.items():
        if name in AS_OPTION:
            options += [AS_OPTION[name]] if _is_true(value) else []
        elif name in AS_VARIABLE:
            variables |= dict.fromkeys(AS_VARIABLE[name], _for_uv(name, value))
        elif name not in OF_PIP_ALONE:
            raise NoCounterpartError(name)
    if "UV_INDEX" in variables:
        # pip takes the best version of all indexes, uv that of the first that has the package.
        options += ["--index-strategy", "unsafe-best-match"]
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # which pip reads, too
        if name in environment and "SSL_CERT_FILE" not in {*variables, *environment}:
            variables["SSL_CERT_FILE"] = environment[name]
    own = {name for name in environment if name.startswith("UV_")}  # what the user told uv
    return options, {name: value for name, value in variables.items() if name not in own}


def _as_uv_has_them(arguments: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The arguments; with constraints, which have no hashes, uv refuses `--require-hashes`.

    Instead it installs what the lock file lists and nothing else, and checks the hash of each file.
    """
    if "UV_CONSTRAINT" not in variables or "--require-hashes" not in arguments:
        return list(arguments)
    others = [argument for argument in arguments if argument != "--require-hashes"]
    return [*others, "--no-deps", "--verify-hashes"]


def _for_uv(name: str, value: str) -> str:
    if name == "cache-dir":  # beside pip's own files
        return str(Path(value) / "uv")
    return ("," if name == "find-links" else " ").join(value.split())


def _is_true(value: str) -> bool:
    return value.lower() in ("1", "true", "yes", "y", "on")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
