"""Small answers go out at once: no connection of the server waits for acknowledgements."""

from __future__ import annotations

import http.client
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from strategy_app.server.sockets import send_at_once
from tests import lab_access
from tests.server_process import server_process

ASKED = 20
DELAYED_S = 0.03
"""Linux delays an acknowledgement by 40 ms, and the body that waits for it by as long."""


def test_connections_inherit_the_option_from_a_socket_of_protocol_0() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        assert send_at_once(port) == 1
        with socket.create_connection(("127.0.0.1", port)), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_nothing_listens_on_has_no_socket() -> None:
    assert send_at_once(1) == 0


@pytest.mark.run
def test_no_body_of_the_server_waits_for_the_acknowledgement_of_its_head(tmp_path: Path) -> None:
    """The quickest of many: a busy machine makes some slow, the delay made all slow."""
    with server_process(tmp_path / "server.log", "--runs", str(tmp_path)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.url).port or 0)
        took = []
        for _ in range(ASKED):
            begun = time.perf_counter()
            connection.request("GET", "/", headers=lab_access.HEADERS)
            assert b"</html>" in connection.getresponse().read()
            took.append(time.perf_counter() - begun)
        connection.close()
    assert min(took[5:]) < DELAYED_S
