from http import HTTPStatus
from typing import Any

import orjson
import tornado

from app.databases import AWAY


class BaseHandler(tornado.web.RequestHandler):
    def write_json(self, data: object, content_type: str = "application/json") -> None:
        self.set_header("Content-Type", content_type)
        self.write(orjson.dumps(data))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer errors with problem details (RFC 9457)."""
        _, error, _ = kwargs.get("exc_info", (None, None, None))
        status = HTTPStatus(503 if isinstance(error, AWAY) else status_code)
        self.set_status(status)
        problem = {"type": "about:blank", "title": status.phrase, "status": status}
        detail = {"detail": error.get_message()} if status == 400 else {}
        self.write_json(problem | detail, "application/problem+json")


class NotFoundHandler(BaseHandler):
    def prepare(self) -> None:
        raise tornado.web.HTTPError(404)
