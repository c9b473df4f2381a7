"""Loads: how many connections or requests, at what rate, for how long."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

Model = Literal["closed", "connection rate", "constant rate", "capacity"]
# The models that send requests on schedule, whatever became of earlier ones
OPEN: tuple[Model, ...] = ("constant rate", "capacity")
# The unit of a level, by load model
UNITS: dict[str, str] = {
    "closed": "connections",
    "connection rate": "connections/s",
    "constant rate": "requests/s",
    "capacity": "ms at the 99th percentile",
}

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class Load(BaseModel, extra="forbid", frozen=True):
    """A load model and its parameters.

    - ``closed``: the level is the number of connections; each sends its next request after the
      response to the last. Ends after ``duration`` seconds, or after ``requests`` in total.
    - ``connection rate``: the level is the number of connections opened per second, for
      ``duration`` seconds; each sends ``calls`` requests, one after another, and closes.
    - ``constant rate``: the level is the number of requests scheduled per second, for ``duration``
      seconds, whatever the server does. Latency counts from a request's scheduled start.
    - ``capacity``: the level is a limit on the 99th percentile of the response time, in
      milliseconds. The highest constant rate is searched that keeps it, and at which less than
      0.1% of requests fail, in steps of ``duration`` seconds.
    """

    model: Model
    levels: list[Positive] = Field(min_length=1)
    # Seconds: one number for all levels, or one for each
    duration: Positive | list[Positive] | None = None
    # Closed model: the total number of requests, instead of a duration
    requests: Count | None = None
    calls: Count = 10  # Connection rate: requests per connection
    timeout: Positive = 5.0  # Seconds after which a request counts as failed
    threads: Count = 1  # Threads or processes of the load generator

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        if (self.duration is None) == (self.requests is None):
            raise ValueError("give either duration or requests")
        if self.requests and self.model != "closed":
            raise ValueError("requests is only for the closed model")
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("two levels are the same")
        if isinstance(self.duration, list) and len(self.duration) != len(self.levels):
            raise ValueError("duration needs as many members as levels, or one number")
        if self.model not in OPEN and any(level % 1 for level in self.levels):
            raise ValueError("levels must be whole numbers of connections")
        return self

    @property
    def seeks_most(self) -> bool:
        """Whether the rate is what is measured, and not given."""
        return self.model in ("closed", "capacity")

    def duration_of(self, level: float) -> float | None:
        """Seconds that a level takes; None where requests are counted."""
        if isinstance(self.duration, list):
            return self.duration[self.levels.index(level)]
        return self.duration
