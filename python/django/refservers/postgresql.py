from typing import Any

import psycopg
from psycopg.abc import RV, PQGen


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that does not wait for ever for a server that never answers."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = 1) -> RV:
        return super().wait(gen, interval, timeout)
