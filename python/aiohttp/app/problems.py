import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from app.databases import AWAY


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer errors with problem details (RFC 9457)."""
    try:
        return await handler(request)
    except web.HTTPError as error:
        problem = error
    except AWAY as error:
        request.app.logger.error("%s: %r", request.path, error)
        problem = web.HTTPServiceUnavailable()
    except Exception:
        request.app.logger.exception("%s", request.path)
        problem = web.HTTPInternalServerError()
    body = {"type": "about:blank", "title": problem.reason, "status": problem.status}
    if isinstance(problem, web.HTTPBadRequest):
        body["detail"] = problem.text
    headers = {**problem.headers, "Content-Type": "application/problem+json"}
    return web.Response(body=orjson.dumps(body), status=problem.status, headers=headers)
