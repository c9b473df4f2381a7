"""The variant that asks in SQL, which copies leave out."""

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from refservers import urls_sql
from tests.test_views import assert_problem

pytestmark = [pytest.mark.django_db, pytest.mark.urls("refservers.urls_sql")]


@pytest.mark.urls("refservers.urls")
def test_it_answers_what_the_orm_does(client: Client, settings: Settings) -> None:
    by_orm = client.get("/agents").content
    settings.ROOT_URLCONF = "refservers.urls_sql"
    response = client.get("/agents")
    assert response.status_code == 200
    assert response.content == by_orm


def test_mistake(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urls_sql, "AGENTS", "SELECT * FROM unknown")
    assert_problem(client.get("/agents"), 500, "Internal Server Error")
