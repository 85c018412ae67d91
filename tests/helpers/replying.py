"""A server of this process that replies over UDP, in a thread."""

from __future__ import annotations

import contextlib
import socket
import threading

from tracetime.hosts.servers import UdpServer

LIMIT_S = 60


class Server:
    """Replies until it is closed; another may then have its address."""

    def __init__(self, address: str = "127.0.0.1:0") -> None:
        self._server = UdpServer(address)
        self.address = self._server.address
        self.is_open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self.is_open:
            with contextlib.suppress(ConnectionError):
                self._server.serve_one()

    def close(self) -> None:
        self.is_open = False
        host, port = self.address.rsplit(":", 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            # It waits for a datagram.
            sock.sendto(b"the end", (host, int(port)))
        self._thread.join(LIMIT_S)
        self._server.close()


def until_it_is_there(address: str, path: object) -> tuple[str, ...]:
    """A command for `record` that waits for a peer's first exchange in the file."""
    return ("--", "sh", "-c", f"until grep -q {address} {path}; do sleep 0.02; done")
