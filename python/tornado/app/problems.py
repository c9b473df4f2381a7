from http.client import responses
from typing import Any

import orjson
import tornado
from pydantic import ValidationError

from app.databases import AWAY


class BaseHandler(tornado.web.RequestHandler):
    @property
    def query(self) -> dict[str, str]:
        """The query for Pydantic; get_argument would remove control characters."""
        arguments = self.request.query_arguments
        return {name: values[-1].decode(errors="replace") for name, values in arguments.items()}

    def write_json(self, data: object, content_type: str = "application/json") -> None:
        self.set_header("Content-Type", content_type)
        self.write(orjson.dumps(data, default=str))  # str writes an ObjectId

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer errors with problem details (RFC 9457)."""
        _, error, _ = kwargs.get("exc_info", (None, None, None))
        members = {}
        if isinstance(error, ValidationError):
            status_code = 400
            members["errors"] = error.errors(include_url=False, include_input=False)
        elif isinstance(error, AWAY):
            status_code = 503
        self.set_status(status_code)
        title = responses.get(status_code, "Unknown")
        problem = {"type": "about:blank", "title": title, "status": status_code}
        self.write_json(problem | members, "application/problem+json")

    def log_exception(self, typ: Any, value: BaseException | None, tb: Any) -> None:
        """Log a database that is away in one line, and no error of a client's."""
        if isinstance(value, AWAY):
            value = tornado.web.HTTPError(503, "%s: %r", type(value).__name__, str(value))
        if not isinstance(value, ValidationError):
            super().log_exception(typ, value, tb)


class NotFoundHandler(BaseHandler):
    def prepare(self) -> None:
        raise tornado.web.HTTPError(404)
