"""The slow upstream as a service."""

import sys
from typing import ClassVar

from harness.services.service import Service
from harness.system.ports import answers


class Upstream(Service):
    """An instance of :mod:`harness.slow_api`."""

    name: ClassVar[str] = "upstream"
    setting: ClassVar[str] = "SLOW_API_URL"

    def command(self, port: int) -> list[str]:
        return [sys.executable, "-m", "harness.slow_api", str(port)]

    def url(self, port: int) -> str:
        return f"http://127.0.0.1:{port}/"

    def is_ready(self, port: int) -> bool:
        """Whether it answers, and not a database that took the port: MongoDB answers HTTP too."""
        return answers("127.0.0.1", port, "/stats", b'{"calls"')
