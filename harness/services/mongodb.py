"""MongoDB as a service: the real mongod, from a wheel."""

import shutil
from pathlib import Path
from typing import Any, ClassVar

import pymongo
from pymongo.errors import OperationFailure, PyMongoError

from harness.paths import TOOLS
from harness.ports import accepts
from harness.services.private import new_password, require_password, write_private
from harness.services.service import Service
from harness.wheel import install_wheel

DATABASE = "refservers"

_WHEEL = TOOLS / "mongodb"


class MongoDB(Service):
    """A mongod on a loopback port."""

    name: ClassVar[str] = "mongodb"
    setting: ClassVar[str] = "MONGODB_URL"
    keeps_data: ClassVar[bool] = True

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _password(self) -> Path:
        return self.folder / "password"

    def install(self) -> None:
        """Install mongod from its wheel."""
        install_wheel("mongodb", _WHEEL)

    def prepare(self) -> None:
        """Create the data folder and a password, unless they exist."""
        if self._data.is_dir():
            return require_password(self._password, self._data)
        write_private(self._password, new_password())
        self._data.mkdir()

    def reset(self) -> None:
        """Delete the data folder and its user's password."""
        self._password.unlink(missing_ok=True)
        shutil.rmtree(self._data, ignore_errors=True)

    def command(self, port: int) -> list[str]:
        """A mongod on loopback only, with a small cache and without telemetry."""
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
        """Whether its user can log in."""
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
