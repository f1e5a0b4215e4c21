"""What `strategy-lab` prints at its start: under which address the lab is reached, and by whom."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from pathlib import Path
from urllib.parse import urlencode

import psutil

from strategy_app.access.policy import Access, bracketed, is_any_address

_NO_TOKEN = "No token (--no-token): every {who} can read and delete runs{and_code}."


def banner(access: Access, runs: Path) -> str:
    """The addresses to open, one a line, and who may use them."""
    lines = ["", "  Strategy Lab, to open in a browser:", ""]
    lines += [f"    {url}" for url in addresses(access)]
    if is_any_address(access.host):
        lines.append("")
        lines.append(
            f"  From outside a container that was started with `-p 127.0.0.1:{access.port}:"
            f"{access.port}`, open the first one. Any other name or port needs --allow-host."
        )
    lines += ["", f"  {who_may(access)}"]
    if warning := warn_of_folder(runs):
        lines.append(f"  {warning}")
    lines.append("")
    return "\n".join(lines)


def who_may(access: Access) -> str:
    """One sentence: what keeps others out, or what it gives away that there is no token."""
    if access.token is not None:
        return "Anyone with the token can run code as you: keep the address secret."
    if access.is_loopback:
        who = "user and program of this machine"
        and_code = ", and run code as you"
    else:
        who = "machine that reaches this port"
        and_code = " and start training runs here; your own programs and data are disabled"
    return _NO_TOKEN.format(who=who, and_code=and_code)


def addresses(access: Access) -> list[str]:
    """URLs with the token, the one for this machine first."""
    return [with_token(f"http://{name}:{access.port}", access) for name in _host_names(access)]


def with_token(url: str, access: Access) -> str:
    """The URL that opens the lab: the page takes the token out of it and keeps a cookie."""
    return url if access.token is None else f"{url}/?{urlencode({'token': access.token})}"


def _host_names(access: Access) -> list[str]:
    """The names of this host in a URL: the host that the server listens on, or, if it listens on
    every interface, the loopback address followed by the addresses that others can reach."""
    if not is_any_address(access.host):
        return [bracketed(access.host)]
    names = [bracketed("127.0.0.1" if ":" not in access.host else "::1")]
    reachable = [
        bracketed(each.address)
        for addresses_of_one in psutil.net_if_addrs().values()
        for each in addresses_of_one
        if each.family in (socket.AF_INET, socket.AF_INET6) and _is_reachable(each.address)
    ]
    return names + reachable


def _is_reachable(address: str) -> bool:
    """Whether other machines can open a URL with this address.

    A link-local address is left out: it needs a zone (`%eth0`), which a URL cannot have.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (ip.is_loopback or ip.is_link_local)


def warn_of_folder(runs: Path) -> str | None:
    """A sentence on who else can change the runs; None if only this user can write to the folder.

    Write access also controls running runs, which read commands from files in their folder.
    """
    status = runs.stat()
    own = status.st_uid in (os.getuid(), 0) if hasattr(os, "getuid") else True
    is_open = bool(status.st_mode & stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
    if own and not is_open:
        return None
    who = "Every user of this machine" if is_open else f"Its owner (user {status.st_uid})"
    return f"{who} can change the runs in {runs}, and stop and change those that are running."
