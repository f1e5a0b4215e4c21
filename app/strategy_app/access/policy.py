"""Who may use the lab: its token, and the names and port under which a browser may address it."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from strategy_core.processes.running_labs import TOKEN_VARIABLE
from strategy_profiles.errors import SpecError

MIN_TOKEN_LENGTH, MAX_TOKEN_LENGTH = 16, 256
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_DEFAULT_PORTS = (80, 443)
"""A browser leaves these out of Host and Origin."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one server, fixed when it starts.

    `token` is None for a lab that was started with --no-token. `allowed` holds further values of
    the Host header, as `--allow-host` names them: a name with or without a port.
    """

    host: str = "127.0.0.1"
    port: int = 8501
    token: str | None = None
    allowed: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @property
    def why_no_own_code(self) -> str | None:
        """Why users may not run files or programs of their own; None if they may."""
        if self.token is not None or self.is_loopback:
            return None
        return (
            f"This lab listens on {self.host} without a token, so anyone who reaches the port "
            "could run code on this machine. To use your own programs and data, start the lab "
            "without --no-token, or on 127.0.0.1."
        )

    def hosts(self, local_address: str | None = None) -> frozenset[str]:
        """The Host headers that are this lab's own; every other one is refused.

        A name that an attacker's DNS points at this machine (DNS rebinding) is not among them.
        `local_address` is the address of this machine at which the connection arrived. It is a
        number, so no DNS is involved, and it covers machines with several addresses.
        """
        names = {bracketed(self.host)}
        if self.is_loopback:
            names.add("localhost")
        elif is_any_address(self.host):
            names = {"127.0.0.1", "localhost", "[::1]", socket.gethostname().lower()}
        if local_address is not None and not self.is_loopback:
            names.add(bracketed(_without_mapping(local_address)))
        own = {f"{name}:{self.port}" for name in names}
        if self.port in _DEFAULT_PORTS:
            own |= names
        return frozenset(own) | self._allowed_hosts()

    def _allowed_hosts(self) -> frozenset[str]:
        own = set(self.allowed)
        for given in self.allowed:
            name, port = _split(given)
            if port is None:
                own.add(f"{name}:{self.port}")
            elif port in _DEFAULT_PORTS:
                own.add(name)
        return frozenset(own)

    def is_own_host(self, host: str, local_address: str | None = None) -> bool:
        """Whether a Host header names this lab, port included."""
        return host.lower() in self.hosts(local_address)

    def is_own_origin(self, origin: str, host: str, *, secure: bool) -> bool:
        """Whether an Origin header is a page of the address that the request itself names.

        `host` has passed `is_own_host`; `secure` is whether the request came by https. A proxy in
        front of the lab, for which --allow-host was given, may speak https to the browser.
        """
        host = host.lower()
        if origin.lower() == f"https://{host}":
            return secure or host in self._allowed_hosts()
        return origin.lower() == f"http://{host}" and not secure

    def is_token(self, given: str) -> bool:
        """Compare in constant time. False where the lab has no token."""
        return self.token is not None and _equal(given, self.token)

    def is_cookie(self, given: str, uid: int | None) -> bool:
        """Whether the cookie's value was made from this lab's token for this user."""
        return self.token is not None and _equal(given, self.cookie_value(uid))

    def cookie_value(self, uid: int | None) -> str:
        """What the cookie holds: made from the token, which it does not reveal.

        It is of use to the user who came in with the token alone (`strategy_app.access.peer`).
        """
        key = (self.token or "").encode()
        return hmac.new(key, f"cookie of user {uid}".encode(), hashlib.sha256).hexdigest()


def cookie_name(host: str) -> str:
    """The cookie's name for a Host header. A browser shares cookies between the ports of a host,
    so the name holds the port: two labs keep one each."""
    return f"strategy-lab-{_split(host)[1] or 80}"


def choose_token(environment: Mapping[str, str]) -> str:
    """The token of the environment, or a new random one; raises SpecError for a weak one."""
    given = environment.get(TOKEN_VARIABLE)
    if not given:
        return secrets.token_urlsafe(32)
    is_long_enough = MIN_TOKEN_LENGTH <= len(given) <= MAX_TOKEN_LENGTH
    if not is_long_enough or not _TOKEN.fullmatch(given):
        raise SpecError(
            f"{TOKEN_VARIABLE} cannot be used as a token: it needs {MIN_TOKEN_LENGTH} to "
            f"{MAX_TOKEN_LENGTH} characters out of A-Z a-z 0-9 . _ ~ -",
            advice="Leave it unset for a random one, or set it to what `python3 -c 'import "
            "secrets; print(secrets.token_urlsafe())'` prints",
            field="token",
        )
    return given


def parse_hosts(given: Iterable[str]) -> tuple[str, ...]:
    """The values of --allow-host; raises SpecError for one that is no name with a port."""
    for text in given:
        port = _split(text)[1] if _HOST.fullmatch(text) else 0
        if port is not None and not 0 < port < 65536:
            raise SpecError(
                f"--allow-host {text} is not a host name or address, with or without a port",
                advice="Give what the browser's address shows between http:// and the next /, "
                "for example lab.example or 192.0.2.7:9000",
                field="allow_host",
            )
    return tuple(_as_browsers_send(text) for text in given)


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_any_address(host: str) -> bool:
    """Whether listening there means listening on every address of this machine."""
    try:
        return ipaddress.ip_address(host or "0.0.0.0").is_unspecified
    except ValueError:
        return False


def bracketed(name: str) -> str:
    """A name or address as browsers write it in URLs and Host headers."""
    with suppress(ValueError):
        name = ipaddress.IPv6Address(name).compressed
    return f"[{name}]" if ":" in name else name.lower()


def _without_mapping(address: str) -> str:
    """An IPv4 address that arrived at an IPv6 socket (::ffff:192.0.2.7), as IPv4."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip)


def _split(host: str) -> tuple[str, int | None]:
    """Name and port of a Host header. The port is None if there is none, 0 if it is no port."""
    try:
        parts = urlsplit(f"//{host}")
        return host.removesuffix(f":{parts.port}") if parts.port else host, parts.port
    except ValueError:
        return host, 0


def _as_browsers_send(host: str) -> str:
    address, bracket, port = host.removeprefix("[").partition("]")
    return f"{bracketed(address)}{port}" if bracket else host.lower()


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
