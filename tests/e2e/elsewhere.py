"""A web server that is not the lab: pages of another site or port, for Chromium to open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Elsewhere:
    """`pages` by path. To a lab on 127.0.0.1 it is another site by its name `localhost`, and the
    same site, which is sent the lab's cookies, by its address."""

    port: int
    pages: dict[str, str] = field(default_factory=dict)
    referrers: dict[str, str] = field(default_factory=dict)
    """The Referer header of the first visit of each path."""

    def url(self, path: str, *, host: str = "localhost") -> str:
        return f"http://{host}:{self.port}{path}"


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.referrers.setdefault(self.path, self.headers.get("referer", ""))
            body = site.pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Elsewhere(server.server_port)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
