from typing import Any

import orjson
from flask import Response
from flask.json.provider import JSONProvider


class OrjsonProvider(JSONProvider):
    """JSON by orjson, where Flask's own provider uses the standard library."""

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        return orjson.dumps(obj, default=str).decode()

    def loads(self, s: str | bytes, **kwargs: Any) -> Any:
        return orjson.loads(s)

    def response(self, *args: Any, **kwargs: Any) -> Response:
        body = orjson.dumps(self._prepare_response_obj(args, kwargs), default=str)
        return self._app.response_class(body, mimetype="application/json")
