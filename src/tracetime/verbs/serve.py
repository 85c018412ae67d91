"""The verb `open`: one file for the Perfetto UI to fetch, over HTTP from this machine to itself.

What the UI asks for is in its own tools/open_trace_in_ui and ui/src/frontend (index.ts: the Content
Security Policy; trace_url_handler.ts: the fetch).
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
import stat
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes, urlsplit

from tracetime.atomic_file import protect
from tracetime.errors import UsageError

UI: Final = "https://ui.perfetto.dev"

PORT: Final = 9001
"""The one port of this machine that the UI's Content Security Policy lets it fetch from."""

_HOST: Final = "127.0.0.1"
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_SILENCE_S: Final = 60
_TOKEN_BYTES: Final = 16


class Serving:
    """A file that is being served.

    Attributes:
        url: of the file.
        link: to open in a browser: the UI, with the address of the file to fetch.
    """

    def __init__(self, url: str, link: str, fetched: threading.Event) -> None:
        self.url = url
        self.link = link
        self._fetched = fetched

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until all of the file has been sent in answer to one request; False if too long."""
        return self._fetched.wait(timeout_s)


@contextmanager
def serving(
    path: str | os.PathLike[str],
    *,
    content: IO[bytes] | None = None,
    inserted: Iterable[tuple[int, bytes]] = (),
    end: int | None = None,
    ui: str = UI,
    port: int | None = None,
) -> Iterator[Serving]:
    """Serve one file, and nothing else, on 127.0.0.1 for as long as the block lasts.

    Args:
        path: of the file, whatever it is: the UI opens more than we read.
        content: an open file to serve in its place, under its name; it is closed at the end.
        inserted: what the UI gets before a byte of the file, or after its last, in order; the file
            stays as it is.
        end: so many bytes of the file are served; None for all.
        ui: address of the UI; only its origin may read the answers.
        port: another than `PORT`, 0 for any free one; a UI with the usual policy cannot fetch
            from it.

    Raises:
        UsageError: no such file, an empty one or none that can be served; no address of a UI; the
            port is in use.
    """
    port = PORT if port is None else port
    parts = urlsplit(ui)
    written = ui.isascii() and ui.isprintable() and " " not in ui
    with _open(path) if content is None else content as file:
        if parts.scheme not in ("http", "https") or not parts.netloc or not written:
            raise UsageError(f"{ui!r} is no address of a UI: write it as {UI}")
        try:
            server = _Server(
                (_HOST, port),
                _Content(file, inserted, end),
                os.fsencode(Path(path).name),
                f"{parts.scheme}://{parts.netloc}",
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise UsageError(f"cannot serve on port {port}: {error.strerror}") from error
            raise UsageError(
                f"port {port} is in use, and the UI fetches from no other: stop what has it "
                "(another `tracetime open`, or trace_processor --httpd)"
            ) from error
        with server:
            thread = threading.Thread(
                target=server.serve_forever, args=(0.1,), name="trace server", daemon=True
            )
            thread.start()
            url = f"http://{_HOST}:{server.server_port}/{quote_from_bytes(server.where)}"
            # Quoted once more: the UI takes its own address apart before it fetches this one.
            link = f"{ui.rstrip('/')}/#!/?url={quote(url, safe=':/')}"
            try:
                yield Serving(url, link, server.fetched)
            finally:
                server.shutdown()
                thread.join()


def _open(path: str | os.PathLike[str]) -> IO[bytes]:
    try:
        # Not to wait for a pipe's writer; a regular file does not mind.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        file = open(number, "rb", buffering=0)  # noqa: PTH123, SIM115
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {os.fspath(path)!r}: {reason}") from error
    protect(file)
    facts = os.fstat(file.fileno())
    if not stat.S_ISREG(facts.st_mode) or not facts.st_size:
        file.close()
        what = "it is empty" if stat.S_ISREG(facts.st_mode) else "it is not a file"
        raise UsageError(f"cannot serve {os.fspath(path)!r}: {what}")
    return file


class _Content:
    """The bytes to serve: the file's up to its byte `end`, with others in between."""

    def __init__(
        self, file: IO[bytes], inserted: Iterable[tuple[int, bytes]], end: int | None
    ) -> None:
        self._file = file
        # Where pieces begin: of the file, from that byte on, or other bytes.
        self._begins: list[int] = []
        self._pieces: list[int | bytes] = []
        self.size = reached = 0
        size = os.fstat(file.fileno()).st_size
        end = size if end is None else min(size, end)
        for at, content in (*inserted, (end, b"")):
            self._add(reached, at - reached)
            self._add(content, len(content))
            reached = at

    def _add(self, piece: int | bytes, n: int) -> None:
        if n > 0:
            self._begins.append(self.size)
            self._pieces.append(piece)
            self.size += n

    def send(self, to: socket.socket, first: int, n: int) -> int:
        """Send n bytes from `first` on; returns how many there were."""
        at, end = first, first + n
        k = bisect_right(self._begins, first) - 1
        while at < end:
            piece, begin = self._pieces[k], self._begins[k]
            k += 1
            until = min(end, self._begins[k] if k < len(self._begins) else self.size)
            if isinstance(piece, bytes):
                to.sendall(memoryview(piece)[at - begin : until - begin])
            elif to.sendfile(self._file, piece + at - begin, until - at) < until - at:
                break
            at = until
        return at - first


class _Server(ThreadingHTTPServer):
    """A server of one file, which stays open: changes at its path later do not matter."""

    def __init__(
        self, address: tuple[str, int], content: _Content, name: bytes, origin: str
    ) -> None:
        self.content = content
        # Nobody who was not given the link can fetch the file: not another user of this machine,
        # nor a page that guesses its name. A slash of its own the name cannot have.
        self.where = f"{secrets.token_urlsafe(_TOKEN_BYTES)}/".encode() + name
        self.origin = origin
        self.fetched = threading.Event()
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing about a browser that goes away in the middle."""


class _Handler(BaseHTTPRequestHandler):
    """The handler of one request."""

    server: _Server
    server_version = "tracetime"
    sys_version = ""
    timeout = _SILENCE_S
    _sent_all = False

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_OPTIONS(self) -> None:
        """Answer a browser's question whether the UI may fetch from this machine."""
        if not self._is_the_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.NO_CONTENT)
        self.send_header("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
        self.send_header("Access-Control-Allow-Headers", "Range, Cache-Control, Content-Type")
        self.send_header("Access-Control-Allow-Private-Network", "true")
        self.end_headers()

    def do_POST(self) -> None:
        """Answer the UI, which asks /status for a trace_processor, that there is none."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def _is_the_file(self) -> bool:
        # Another name for this machine is another page's: by DNS it could make itself our origin.
        host = self.headers.get("Host", "")
        port = self.server.server_port
        if host not in (f"{_HOST}:{port}", f"localhost:{port}"):
            return False
        # A browser keeps the answer from another page, but to have sent it would end the serving.
        if self.headers.get("Origin", self.server.origin) != self.server.origin:
            return False
        path = self.path.partition("?")[0]
        requested = unquote_to_bytes(path.removeprefix("/"))
        return path[:1] == "/" and secrets.compare_digest(requested, self.server.where)

    def _answer(self, *, body: bool) -> None:
        if not self._is_the_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        size = self.server.content.size
        span = self._span(size)
        if span is None:
            self.send_response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            self.send_header("Content-Range", f"bytes */{size}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        first, last, partial = span
        self.send_response(HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Accept-Ranges", "bytes")
        if partial:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        if body:
            sent = self.server.content.send(self.connection, first, last - first + 1)
            self._sent_all = sent == size

    def _span(self, size: int) -> tuple[int, int, bool] | None:
        """The first and last byte, and whether a range was requested; None for a range outside.

        A header that is not a single range is ignored, as RFC 9110, section 14.2 allows.
        """
        match = _RANGE.fullmatch(self.headers.get("Range", "").strip())
        if match is None or match[1] == match[2] == "" or "If-Range" in self.headers:
            return 0, size - 1, False
        if not match[1]:
            length = min(int(match[2]), size)
            return (size - length, size - 1, True) if length else None
        first, last = int(match[1]), int(match[2] or size - 1)
        if first > last and match[2]:
            return 0, size - 1, False
        return (first, min(last, size - 1), True) if first < size else None

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", self.server.origin)
        self.send_header("Access-Control-Expose-Headers", "Content-Range, Accept-Ranges")
        self.send_header("Vary", "Origin")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def finish(self) -> None:
        super().finish()
        if self._sent_all:
            self.server.fetched.set()

    def log_message(self, format: str, *args: Any) -> None:
        """Write no line for each request."""
