"""MongoDB as a service: the real mongod, from a wheel."""

import shutil
from pathlib import Path
from typing import Any, ClassVar

import pymongo
from pymongo.errors import OperationFailure, PyMongoError

from harness.paths import TOOLS
from harness.ports import accepts
from harness.services.private import new_password, write_private
from harness.services.service import Service
from harness.wheel import install_wheel

DATABASE = "refservers"

_WHEEL = TOOLS / "mongodb"


class MongoDB(Service):
    """A mongod on a loopback port."""

    name: ClassVar[str] = "mongodb"
    setting: ClassVar[str] = "MONGODB_URL"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _password(self) -> Path:
        return self.folder / "password"

    def install(self) -> None:
        """Bring mongod from its wheel."""
        install_wheel("mongodb", _WHEEL)

    def prepare(self) -> None:
        """Make the database folder and a password, unless they are there."""
        if not self._password.is_file():
            self.reset()
            write_private(self._password, new_password())
        self._data.mkdir(exist_ok=True)

    def reset(self) -> None:
        """Delete the database folder and the password of the user in it."""
        self._password.unlink(missing_ok=True)
        shutil.rmtree(self._data, ignore_errors=True)

    def command(self, port: int) -> list[str]:
        """A mongod that listens on loopback alone, keeps little in memory and reports nothing."""
        return [
            *(str(_WHEEL / "fiftyone" / "db" / "bin" / "mongod"), "--quiet", "--auth"),
            *("--dbpath", str(self._data), "--port", str(port)),
            *("--bind_ip", "127.0.0.1", "--nounixsocket", "--enableFreeMonitoring", "off"),
            *("--wiredTigerCacheSizeGB", "0.25"),
            *("--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=16MB)"),
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
        ]

    def url(self, port: int) -> str:
        """Its connection string."""
        user = f"{DATABASE}:{self._password.read_text()}"
        return f"mongodb://{user}@127.0.0.1:{port}/{DATABASE}?authSource=admin"

    def is_ready(self, port: int) -> bool:
        """Whether it lets its user in."""
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
        """Make its user: anybody may make the first one from loopback ("localhost exception")."""
        with pymongo.MongoClient[Any]("127.0.0.1", port) as client:
            password = self._password.read_text()
            client.admin.command("createUser", DATABASE, pwd=password, roles=["root"])
