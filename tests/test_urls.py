"""URLs of databases: wrong ones are refused in one line, which has nothing of the password."""

import pytest

from harness.errors import UsageError
from harness.services import backing_services, fixtures
from harness.services.urls import without_secrets

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:SECRET@127.0.0.1/x",
        "host=127.0.0.1 password=SECRET",
        "postgresql://me:SECRET pw@127.0.0.1/x",
        "postgresql://me:SECRET/pw@127.0.0.1/x",
        "postgresql://me:12/SECRET@127.0.0.1/x",
        "postgresql://me:pw@SECRET@127.0.0.1/x",
        "postgresql://me:SECRET%zz@127.0.0.1/x",
        "postgresql://me:SECRET?pw@127.0.0.1/x",
        "postgresql://me:pw@127.0.0.1:80x/x?password=SECRET",
        "postgresql://me:SECRET",
        "postgresql://127.0.0.1/x?SECRET=1",
        "mongodb://me:SECRET@127.0.0.1:80x/x",
        "mongodb://me:SECRET@127.0.0.1:99999/x",
        "mongodb://me:SECRET/pw@127.0.0.1/x",
        "mongodb://me:pw/SECRET@127.0.0.1/x",
        "mongodb://me:SECRET pw@127.0.0.1/x",
        "mongodb://me:SECRET:pw@127.0.0.1/x",
        "mongodb://me:SECRET@127.0.0.1/x?tls=true&tlsCertificateKeyFile=/nonexistent",
    ],
)
def test_a_wrong_url_is_refused_without_its_password(url: str) -> None:
    setting = "MONGODB_URL" if url.startswith("mongodb") else "DATABASE_URL"
    with pytest.raises(UsageError, match=f"{setting} is not ") as refused:
        backing_services({setting: url}).__enter__()
    assert "SECRET" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgres://me:p%2Fw@[::1]:5432/mine?sslmode=require", "mine"),
        ("postgresql://one:5432,two:5433/mine", "mine"),
        ("postgresql://me@%2Fvar%2Frun/mine", "mine"),
        ("postgresql:///mine?host=/tmp&password=a%20b@c", "mine"),
        ("mongodb://me:p%40w@one,two:27018/mine?replicaSet=rs0", "mine"),
    ],
)
def test_right_ones_are_taken(url: str, name: str) -> None:
    setting = "MONGODB_URL" if url.startswith("mongodb") else "DATABASE_URL"
    assert {one.split(".")[0] for one in fixtures.names({setting: url})} == {name}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:SECRET@host:1/db?a=b@c", "postgresql://host:1/db"),
        ("postgresql://host/db?user=me&password=SECRET", "postgresql://host/db"),
        ("mongodb://a,b:2/db?tlsCertificateKeyFilePassword=SECRET", "mongodb://a,b:2/db"),
        ("mongodb+srv://me:SECRET@host/", "mongodb+srv://host/"),
        ("http://127.0.0.1:5/a/b", "http://127.0.0.1:5/a/b"),
        ("http://me:SECRET?x@host/", "…"),
        ("http://me:SECRET", "…"),
    ],
)
def test_what_a_result_has_of_a_url(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
