import logging

from werkzeug.exceptions import HTTPException, InternalServerError, ServiceUnavailable
from werkzeug.routing import Map, RequestRedirect, Rule
from werkzeug.wrappers import Request, Response

from app import views
from app.databases import AWAY
from app.problems import problem

logger = logging.getLogger(__name__)

URLS = Map(
    [
        Rule("/index", methods=["GET"], endpoint=views.index),
        Rule("/json", methods=["GET"], endpoint=views.hello),
        Rule("/mongo", methods=["GET"], endpoint=views.mongo),
        Rule("/agents", methods=["GET"], endpoint=views.agents),
        Rule("/files/<name>", methods=["GET"], endpoint=views.files),
        Rule("/gridfs/<name>", methods=["GET"], endpoint=views.gridfs),
        Rule("/sleep", methods=["GET"], endpoint=views.sleep),
        Rule("/slow_api", methods=["GET"], endpoint=views.slow_api),
    ]
)


@Request.application
def application(request: Request) -> Response:
    try:
        view, arguments = URLS.bind_to_environ(request.environ).match()
        return view(request, **arguments)
    except RequestRedirect as redirect:
        return redirect.get_response(request.environ)
    except HTTPException as error:
        return problem(error)
    except AWAY as error:
        logger.error("%s: %r", request.path, error)
        return problem(ServiceUnavailable())
    except Exception:
        logger.exception("%s", request.path)
        return problem(InternalServerError())
