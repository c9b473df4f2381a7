import orjson
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from app.databases import AWAY


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer errors with problem details (RFC 9457), and log the cause of each 5xx."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        problem, cause = error, error.__cause__
    except (ValidationError, web.RequestPayloadError, ConnectionResetError) as error:
        problem, cause = web.HTTPBadRequest(), error
    except AWAY as error:
        problem, cause = web.HTTPServiceUnavailable(), error
    except Exception:
        request.app.logger.exception("%r", request.path)
        problem, cause = web.HTTPInternalServerError(), None
    if cause and problem.status >= 500:
        request.app.logger.error("%r: %s: %r", request.path, type(cause).__name__, str(cause))
    body = {"type": "about:blank", "title": problem.reason, "status": problem.status}
    if isinstance(cause, ValidationError):
        body["errors"] = cause.errors(include_url=False, include_input=False)
    headers = {**problem.headers, "Content-Type": "application/problem+json"}
    return web.Response(body=orjson.dumps(body), status=problem.status, headers=headers)
