"""MongoDB as a service: the real mongod, from a wheel."""

from pathlib import Path
from typing import Any, ClassVar

import pymongo
from pymongo.errors import OperationFailure, PyMongoError

from harness.services.service import Database
from harness.system.ports import accepts

DATABASE = "refservers"


class MongoDB(Database):
    """A mongod on a loopback port."""

    name: ClassVar[str] = "mongodb"
    setting: ClassVar[str] = "MONGODB_URL"

    @property
    def mongod(self) -> Path:
        return self.program / "fiftyone" / "db" / "bin" / "mongod"

    def command(self, port: int) -> list[str]:
        """A mongod on loopback only, with a small cache and without telemetry."""
        return [
            *(str(self.mongod), "--quiet", "--auth"),
            *("--dbpath", str(self.data), "--port", str(port)),
            *("--bind_ip", "127.0.0.1", "--nounixsocket", "--enableFreeMonitoring", "off"),
            *("--wiredTigerCacheSizeGB", "0.25"),
            *("--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=16MB)"),
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
        ]

    def url(self, port: int) -> str:
        user = f"{DATABASE}:{self._password.read_text()}"
        return f"mongodb://{user}@127.0.0.1:{port}/{DATABASE}?authSource=admin"

    def is_ready(self, port: int) -> bool:
        if not accepts("127.0.0.1", port):
            return False
        try:
            with pymongo.MongoClient[Any](self.url(port), serverSelectionTimeoutMS=1_000) as client:
                client.admin.command("ping")
        except OperationFailure:
            self._make_user(port)
            return False
        except PyMongoError:
            return False
        return True

    def _make_user(self, port: int) -> None:
        """Create its user; on loopback the first needs no authentication (localhost exception)."""
        with pymongo.MongoClient[Any]("127.0.0.1", port) as client:
            password = self._password.read_text()
            client.admin.command("createUser", DATABASE, pwd=password, roles=["root"])
