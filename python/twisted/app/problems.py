import orjson
from klein import Response
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.server import Request
from werkzeug.exceptions import HTTPException, InternalServerError

log = Logger()


def problem(request: Request, failure: Failure) -> Response:
    """Answer errors with problem details (RFC 9457)."""
    error = failure.value if failure.check(HTTPException) else InternalServerError()
    if error.code >= 500:
        log.failure("{request}", failure, request=request)
    body = {"type": "about:blank", "title": error.name, "status": error.code}
    if error.code == 400:
        body["detail"] = error.description
    response = error.get_response()
    response.data = orjson.dumps(body)
    response.content_type = "application/problem+json"
    return Response(response.status_code, dict(response.headers), response.data)
