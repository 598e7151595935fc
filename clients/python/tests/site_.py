"""A site on this machine that keeps a log of its visits."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Visit:
    at: float  # seconds
    path: str
    agent: str
    status: int


class Site:
    """answer: returns the status of a visit and its Retry-After, from the number of earlier visits, its path and its User-Agent.

    together: so many visits are answered only when all of them have come.
    """

    def __init__(self, answer: Callable[[int, str, str], tuple[int, str | None]], together: int = 1) -> None:
        self.log: list[Visit] = []
        lock = threading.Lock()
        site = self
        begun = threading.Barrier(together)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                agent = self.headers.get("User-Agent", "")
                with lock:
                    before = len(site.log)
                    status, after = answer(before, self.path, agent)
                    site.log.append(Visit(time.monotonic(), self.path, agent, status))
                if before < together:
                    begun.wait()
                body = b"<title>a page</title>"
                self.send_response(status)
                if after is not None:
                    self.send_header("Retry-After", after)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
