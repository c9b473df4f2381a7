import logging

import orjson
from pydantic import ValidationError
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Request, Response

logger = logging.getLogger(__name__)


def problem(request: Request, error: HTTPException, cause: BaseException | None) -> Response:
    """Answer with problem details (RFC 9457), and log the cause of each 5xx."""
    status = error.code or 500
    if status >= 500:
        entry = request.path, type(cause).__name__, str(cause)
        logger.error("%r: %s: %r", *entry, exc_info=status == 500)
    body = {"type": "about:blank", "title": error.name, "status": status}
    if isinstance(cause, ValidationError):
        body["errors"] = cause.errors(include_url=False, include_input=False)
    headers = {**dict(error.get_headers()), "Content-Type": "application/problem+json"}
    return Response(orjson.dumps(body), status, headers)
