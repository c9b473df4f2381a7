"""MongoDB: the real mongod, from a wheel, or a server of the user's; filled with the fixtures."""

import shutil
from pathlib import Path
from typing import Any, ClassVar

import gridfs
import pymongo
from bson import ObjectId
from pymongo.database import Database
from pymongo.errors import InvalidURI, PyMongoError
from pymongo.uri_parser import parse_uri

import spec
from harness.errors import UsageError
from harness.paths import TOOLS
from harness.ports import accepts
from harness.services.service import Service
from harness.wheel import install_wheel

DATABASE = "refservers"

_PING = 5_000
_WHEEL = TOOLS / "mongodb"


class MongoDB(Service):
    """A mongod on a loopback port."""

    name: ClassVar[str] = "mongodb"
    setting: ClassVar[str] = "MONGODB_URL"

    @property
    def data(self) -> Path:
        """Its database folder."""
        return self.folder / "data"

    def install(self) -> None:
        """Bring mongod from its wheel."""
        install_wheel("mongodb", _WHEEL)

    def prepare(self) -> None:
        """Make the database folder."""
        self.data.mkdir(parents=True, exist_ok=True)

    def reset(self) -> None:
        """Remove the database folder."""
        shutil.rmtree(self.data, ignore_errors=True)

    def command(self, port: int) -> list[str]:
        """A mongod that listens on loopback alone, keeps little in memory and reports nothing."""
        return [
            *(str(_WHEEL / "fiftyone" / "db" / "bin" / "mongod"), "--quiet"),
            *("--dbpath", str(self.data), "--port", str(port)),
            *("--bind_ip", "127.0.0.1", "--nounixsocket", "--enableFreeMonitoring", "off"),
            *("--wiredTigerCacheSizeGB", "0.25"),
            *("--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=16MB)"),
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
        ]

    def url(self, port: int) -> str:
        """Its connection string."""
        return f"mongodb://127.0.0.1:{port}/{DATABASE}"

    def is_ready(self, port: int) -> bool:
        """Whether it answers a ping."""
        if not accepts("127.0.0.1", port):
            return False
        try:
            with pymongo.MongoClient[Any](self.url(port), serverSelectionTimeoutMS=1_000) as client:
                client.admin.command("ping")
        except PyMongoError:
            return False
        return True


def fill(url: str) -> None:
    """Fill the database with the fixtures, unless these very ones are in it."""
    try:
        if parse_uri(url)["database"] != DATABASE:
            raise UsageError(f"MONGODB_URL must end in the database's name, /{DATABASE}")
        with pymongo.MongoClient[Any](url, serverSelectionTimeoutMS=_PING) as client:
            _fill(client[DATABASE])
    except InvalidURI as error:
        raise UsageError(f"MONGODB_URL is not a connection string: {error}") from error
    except PyMongoError as error:
        raise UsageError(f"MONGODB_URL: cannot use the database: {error}") from error


def _fill(database: Database[dict[str, Any]]) -> None:
    wanted = {"_id": "spec", "fingerprint": spec.fingerprint()}
    if database.fixtures.find_one() == wanted:
        return
    articles = database.articles
    articles.create_index("slug", unique=True)
    for article in spec.articles():
        stored = article | {"_id": ObjectId(article["_id"])}
        articles.replace_one({"_id": stored["_id"]}, stored, upsert=True)
    bucket = gridfs.GridFSBucket(database)
    for old in list(bucket.find({"metadata.fixture": True})):
        bucket.delete(old._id)
    for files in (spec.revisions(), spec.files()):
        for name, content in files.items():
            metadata = {"contentType": spec.content_type(name), "fixture": True}
            bucket.upload_from_stream(name, content, metadata=metadata)
    database.fixtures.replace_one({"_id": "spec"}, wanted, upsert=True)
