from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import uwsgi
from app import create_app
from flask import Response

app = create_app()


@app.after_request
def date(response: Response) -> Response:
    response.date = datetime.now(UTC)  # uWSGI adds none
    return response


def strict(wsgi_app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Refuse a request line that is none, which uWSGI passes on, and decode the path."""

    def strict_app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ.get("SERVER_PROTOCOL") not in ("HTTP/1.0", "HTTP/1.1"):
            uwsgi.disconnect()
            return []
        # uWSGI leaves out a "%" that encodes nothing
        environ["PATH_INFO"] = unquote(environ["REQUEST_URI"].partition("?")[0], "latin-1")
        return wsgi_app(environ, start_response)

    return strict_app


app.wsgi_app = strict(app.wsgi_app)
