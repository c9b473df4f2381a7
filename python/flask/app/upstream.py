from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import urllib3
from flask import Flask, abort, current_app

CALLS = 10_000  # in flight at most; a thread starts when a call finds none idle


def init_app(app: Flask) -> None:
    app.extensions["upstream"] = urllib3.PoolManager(maxsize=CALLS, retries=False)
    app.extensions["threads"] = ThreadPoolExecutor(CALLS)


def call_together(calls: int, ms: int, request_id: str | None) -> list[dict[str, Any]]:
    client: urllib3.PoolManager = current_app.extensions["upstream"]
    url = current_app.config["SLOW_API_URL"]
    headers = {"X-Request-Id": request_id} if request_id else None
    timeout = ms / 1000 + 5

    def call(number: int) -> dict[str, Any]:
        fields = {"call": str(number), "ms": str(ms)}
        response = client.request("GET", url, fields=fields, headers=headers, timeout=timeout)
        result = orjson.loads(response.data)
        if response.status != 200 or not isinstance(result, dict):
            raise ValueError(f"the upstream answered {response.status} {result!r}")
        return result

    try:
        return list(current_app.extensions["threads"].map(call, range(calls), timeout=timeout))
    except (TimeoutError, urllib3.exceptions.ReadTimeoutError):
        abort(504)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        current_app.logger.error("upstream: %r", error)
        abort(502)
