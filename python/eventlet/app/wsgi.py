import logging
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from app import files, views
from app.responses import Problem

logger = logging.getLogger(__name__)

ROUTES = {
    "/index": views.index,
    "/json": views.hello,
    "/mongo": views.mongo,
    "/agents": views.agents,
    "/files/": files.file,
    "/gridfs/": files.gridfs,
    "/sleep": views.sleep,
    "/slow_api": views.slow_api,
}


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    view = ROUTES.get(path) or ROUTES.get(path[: path.rfind("/") + 1])
    try:
        if view is None:
            raise Problem(404)
        if method not in ("GET", "HEAD"):
            raise Problem(405, ("Allow", "GET, HEAD"))
        body = view(environ, start_response)
    except Problem as problem:
        body = problem(environ, start_response)
    except Exception:
        logger.exception("%s %s", method, path)
        body = Problem(500)(environ, start_response)
    return body if method != "HEAD" else []
