import logging
from http import HTTPStatus

import orjson
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

logger = logging.getLogger(__name__)


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer errors with problem details (RFC 9457)."""
    try:
        return await handler(request)
    except web.HTTPMethodNotAllowed:
        return problem(405, {hdrs.ALLOW: "GET, HEAD"})
    except web.HTTPServiceUnavailable:
        return problem(503, {hdrs.RETRY_AFTER: "1"})
    except web.HTTPBadRequest as error:
        return problem(400, detail=error.text)
    except web.HTTPException as error:
        return problem(error.status)
    except ConnectionError:
        raise  # the client has gone
    except Exception:
        logger.exception("%s %s", request.method, request.path)
        return problem(500)


def problem(
    status: int, headers: dict[str, str] | None = None, detail: str | None = None
) -> web.Response:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if detail:
        body["detail"] = detail
    return web.Response(
        status=status,
        headers=headers,
        body=orjson.dumps(body),
        content_type="application/problem+json",
    )
