from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from app import create_app

app = create_app()


def decode_path(wsgi_app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Take the path as it was asked for: nginx has one without its empty and dot segments."""

    def decoding_app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ["PATH_INFO"] = unquote(environ["REQUEST_URI"].partition("?")[0], "latin-1")
        return wsgi_app(environ, start_response)

    return decoding_app


app.wsgi_app = decode_path(app.wsgi_app)
