"""A SQL connection for each request, which copies leave out."""

import json

from app.connect import create_app
from tests.test_views import assert_problem


def test_agents() -> None:
    response = create_app().test_client().get("/agents")
    assert response.status_code == 200
    assert len(json.loads(response.text)) == 50


def test_postgresql_is_away(unused_port: int) -> None:
    url = f"postgresql://me:secret@127.0.0.1:{unused_port}/refservers"
    client = create_app(DATABASE_URL=url).test_client()
    assert_problem(client.get("/agents"), 503, "Service Unavailable")
