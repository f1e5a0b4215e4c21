"""The user at the other end of a connection within this machine."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from strategy_app.access.peer import uid_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")


@pytest.mark.parametrize(
    ("listens", "calls"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1"), ("::", "::ffff:127.0.0.1")],
)
def test_the_user_of_a_connection_is_known(listens: str, calls: str) -> None:
    family = socket.AF_INET6 if ":" in listens else socket.AF_INET
    with socket.create_server(
        (listens, 0), family=family, dualstack_ipv6=listens == "::"
    ) as server:
        port = server.getsockname()[1]
        with socket.create_connection((calls, port)) as client:
            accepted, address = server.accept()
            with accepted:
                own_address = accepted.getsockname()
                assert uid_of(address[:2], own_address[:2]) == os.getuid()
                assert uid_of((address[0], address[1] ^ 1), own_address[:2]) is None
            client.close()
        assert uid_of(address[:2], own_address[:2]) is None


@pytest.mark.parametrize("client", [None, ("203.0.113.1", 80), ("", 0), ("testclient", 50000)])
def test_another_machine_s_user_is_unknown(client: tuple[str, int] | None) -> None:
    assert uid_of(client, ("127.0.0.1", 80)) is None
