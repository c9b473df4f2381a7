import os
from collections.abc import Iterable
from io import BytesIO
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "refservers.settings")

django = get_wsgi_application()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Tell Django how long a chunked body is: it reads none of unknown length (ticket 35838)."""
    if "CONTENT_LENGTH" not in environ and environ.get("wsgi.input_terminated"):
        body = environ["wsgi.input"].read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}
    return django(environ, start_response)
