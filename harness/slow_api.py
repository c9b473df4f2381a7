"""The slow upstream that ``/slow_api`` calls.

``GET /?call=I&ms=MS`` answers ``{"call":I,"token":"…"}`` after MS milliseconds.
``GET /stats?id=ID`` returns the number of calls with that ``X-Request-Id``, and how many were in
flight at once. ``PUT /faults?id=ID&fault=F`` makes them fail in one of the ways of :data:`FAULTS`.
"""

import asyncio
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass

from aiohttp import web

import spec

# Answer with 500, a redirect, text that is not JSON, an array, a truncated body; or never
FAULTS = ("status", "redirect", "text", "array", "truncated", "hang")


@dataclass
class Stats:
    """The calls of one request: how many, how many are in flight, and the most at once."""

    calls: int = 0
    in_flight: int = 0
    most_in_flight: int = 0


class _Api:
    def __init__(self) -> None:
        self.stats: defaultdict[str, Stats] = defaultdict(Stats)
        self.faults: dict[str, str] = {}

    async def call(self, request: web.Request) -> web.StreamResponse:
        call, ms = int(request.query["call"]), int(request.query["ms"])
        request_id = request.headers.get("X-Request-Id", "")
        stats = self.stats[request_id]
        stats.calls += 1
        stats.in_flight += 1
        stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
        try:
            await asyncio.sleep(ms / 1000)
        finally:
            stats.in_flight -= 1
        body = spec.json_body(spec.upstream_result(call)).decode()
        match self.faults.get(request_id):
            case "status":
                return web.json_response(text=body, status=500)
            case "redirect":
                raise web.HTTPFound("/stats")
            case "text":
                return web.Response(text="not JSON")
            case "array":
                return web.json_response(text=f"[{body}]")
            case "truncated":
                response = web.StreamResponse(headers={"Content-Length": str(len(body))})
                await response.prepare(request)
                await response.write(body[:9].encode())
                assert request.transport is not None
                request.transport.close()
                return response
            case "hang":
                await asyncio.sleep(60)
        return web.json_response(text=body)

    async def get_stats(self, request: web.Request) -> web.Response:
        return web.json_response(asdict(self.stats[request.query.get("id", "")]))

    async def set_fault(self, request: web.Request) -> web.Response:
        if request.query["fault"] not in FAULTS:
            raise web.HTTPBadRequest(text=f"fault must be one of {', '.join(FAULTS)}")
        self.faults[request.query["id"]] = request.query["fault"]
        return web.Response(status=204)


def main(port: int) -> None:
    """Serve until stopped by a signal."""
    api = _Api()
    app = web.Application()
    app.add_routes(
        [
            web.get("/", api.call),
            web.get("/stats", api.get_stats),
            web.put("/faults", api.set_fault),
        ]
    )
    web.run_app(
        app,
        host="127.0.0.1",
        port=port,
        print=None,
        access_log=None,
        backlog=4096,
        handler_cancellation=True,  # a call that its client gives up is not in flight any more
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
