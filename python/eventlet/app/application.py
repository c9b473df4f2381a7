import orjson
from pydantic import ValidationError
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError, ServiceUnavailable
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from app import views
from app.databases import AWAY
from app.problems import problem

URLS = Map(
    [
        Rule("/index", methods=["GET"], endpoint=views.index),
        Rule("/json", methods=["GET"], endpoint=views.hello),
        Rule("/mongo", methods=["GET"], endpoint=views.mongo),
        Rule("/notes", methods=["POST"], endpoint=views.create_note),
        Rule("/notes/<note_id>", methods=["GET"], endpoint=views.read_note),
        Rule("/agents", methods=["GET"], endpoint=views.agents),
        Rule("/files/<name>", methods=["GET"], endpoint=views.files),
        Rule("/gridfs/<name>", methods=["GET"], endpoint=views.gridfs),
        Rule("/sleep", methods=["GET"], endpoint=views.sleep),
        Rule("/slow_api", methods=["GET"], endpoint=views.slow_api),
    ],
    merge_slashes=False,
)


class JSONRequest(Request):
    json_module = orjson
    max_content_length = 2**20


@JSONRequest.application
def application(request: Request) -> Response:
    try:
        view, arguments = URLS.bind_to_environ(request.environ).match()
        response: Response = view(request, **arguments)
        return response
    except HTTPException as error:
        return problem(request, error, error.__cause__ or error)
    except ValidationError as error:
        return problem(request, BadRequest(), error)
    except AWAY as error:
        return problem(request, ServiceUnavailable(), error)
    except Exception as error:
        return problem(request, InternalServerError(), error)
