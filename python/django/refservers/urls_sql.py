from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from api.responses import json_response
from refservers.urls import handler400, handler404, handler500, urlpatterns  # noqa: F401

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


@require_safe
def agents(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute(AGENTS)
        columns = [column.name for column in cursor.description]
        return json_response([dict(zip(columns, row, strict=True)) for row in cursor])


urlpatterns = [path("agents", agents), *urlpatterns]
