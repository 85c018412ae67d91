"""Record a web service under load, and ask the recording where the time went.

    python examples/web_service.py [service.pftrace]

A service of aiohttp answers 200 requests, 20 at a time. A middleware records a span for each
request; what a handler does is within it: a query (asyncio), a lock that requests wait for, and a
thumbnail that a thread draws. Log messages and the number of open requests are in the recording,
too. Each task has its own track, so requests that take turns do not mix up each other's spans.

Needs aiohttp.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
from aiohttp import web

import tracetime as tt
from tracetime.logging import Handler

REQUESTS = 200
AT_A_TIME = 20
MISSING = 7
"""Each seventh page is missing."""

log = logging.getLogger("service")

SUMMARY = """
    select name as request, count(*) as requests,
           median(dur) / 1e6 as median_ms, max(dur) / 1e6 as max_ms
    from slices where category = 'http' group by all order by request
"""

WITHIN_REQUESTS = """
    select name as "within requests", category, count(*) as times, sum(dur) / 1e6 as total_ms
    from slices where depth > 0 and dur > 0 group by all order by total_ms desc
"""


def service(rec: tt.Recorder) -> web.Application:
    """A service whose requests are spans of the recording."""
    connection = asyncio.Lock()
    open_requests = 0

    @web.middleware
    async def record(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        nonlocal open_requests
        open_requests += 1
        rec.counter("open requests", open_requests)
        route = request.match_info.route.resource
        name = f"{request.method} {route.canonical if route else 'unknown'}"
        try:
            with rec.span(name, category="http", path=request.path) as span:
                response = await handler(request)
                span.set(status=response.status)
                return response
        finally:
            open_requests -= 1
            rec.counter("open requests", open_requests)

    @rec.trace(name="query", category="database")
    async def query() -> None:
        with rec.span("wait for the connection", category="lock"):
            await connection.acquire()
        try:
            await asyncio.sleep(0.0005)
        finally:
            connection.release()

    @rec.trace(name="draw", category="cpu")
    def draw(number: int) -> str:
        return hashlib.pbkdf2_hmac("sha256", bytes([number % 256]), b"salt", 1000).hex()

    async def page(request: web.Request) -> web.Response:
        await query()
        number = int(request.match_info["number"])
        if number % MISSING == 0:
            log.warning("page %d is missing", number)
            raise web.HTTPNotFound
        return web.Response(text=f"page {number}")

    async def thumbnail(request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        with rec.span("wait for the thread", category="cpu"):
            return web.Response(text=await asyncio.to_thread(draw, number))

    app = web.Application(middlewares=[record])
    app.add_routes([web.get("/page/{number}", page), web.get("/thumbnail/{number}", thumbnail)])
    return app


async def load(rec: tt.Recorder) -> None:
    """Start the service on a free port, and send it the requests."""
    runner = web.AppRunner(service(rec))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    at_once = asyncio.Semaphore(AT_A_TIME)

    async def fetch(session: aiohttp.ClientSession, number: int) -> None:
        kind = "thumbnail" if number % 4 == 0 else "page"
        async with at_once, session.get(f"http://{host}:{port}/{kind}/{number}") as response:
            await response.read()

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(fetch(session, number) for number in range(REQUESTS)))
    await runner.cleanup()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "service.pftrace"
        with tt.record(path) as rec:
            handler = Handler(rec)
            log.addHandler(handler)
            log.propagate = False
            asyncio.run(load(rec))
            log.removeHandler(handler)
        with tt.open_trace(path) as trace:
            print(trace.sql(SUMMARY).to_pandas().to_string(index=False))
            print()
            print(trace.sql(WITHIN_REQUESTS).to_pandas().to_string(index=False))


if __name__ == "__main__":
    main()
