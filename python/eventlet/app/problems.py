import orjson
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response


def problem(error: HTTPException) -> Response:
    """Answer with problem details (RFC 9457)."""
    body = {"type": "about:blank", "title": error.name, "status": error.code}
    if error.code == 400:
        body["detail"] = error.description
    response = error.get_response()
    response.data = orjson.dumps(body)
    response.content_type = "application/problem+json"
    return response
