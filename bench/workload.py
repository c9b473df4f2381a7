"""Workloads: the requests, the load, and the number of repeats."""

import tomllib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from harness.errors import UsageError, describe, did_you_mean
from harness.paths import CALLER, ROOT
from harness.servers.manifest import Part, Text
from spec import part_of

WORKLOADS = ROOT / "bench" / "workloads"

Model = Literal["closed", "connection rate", "constant rate", "capacity"]
OPEN: tuple[Model, ...] = ("constant rate", "capacity")
"""The models that send requests on schedule, whatever became of earlier ones."""
UNITS: dict[str, str] = {
    "closed": "connections",
    "connection rate": "connections/s",
    "constant rate": "requests/s",
    "capacity": "ms at the 99th percentile",
}
"""The unit of a level, by load model."""

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]
Level = Annotated[float, Field(gt=0)]
Setting = Annotated[str, Field(pattern=r"^[1-9][0-9]*$")]
SettingName = Literal["WORKERS", "THREADS", "MONGODB_POOL_SIZE", "DATABASE_POOL_SIZE"]
Settings = dict[SettingName, Setting]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Load(_Model):
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
    levels: list[Level] = Field(min_length=1)
    duration: Positive | list[Positive] | None = None
    """Seconds: one number for all levels, or one for each."""
    requests: Count | None = None
    """Closed model: the total number of requests, instead of a duration."""
    calls: Count = 10
    """Connection rate: requests per connection."""
    timeout: Positive = 5.0
    """Seconds after which a request counts as failed."""
    threads: Count = 1
    """Threads or processes of the load generator."""
    generator: Literal["h2load"] = "h2load"  # in results of before

    @model_validator(mode="after")
    def _is_bounded(self) -> "Load":
        if (self.duration is None) == (self.requests is None):
            raise ValueError("give either duration or requests")
        if self.requests and self.model != "closed":
            raise ValueError("requests is only for the closed model")
        if isinstance(self.duration, list) and len(self.duration) != len(self.levels):
            raise ValueError("duration needs as many members as levels, or one number")
        if self.model not in OPEN and any(level % 1 for level in self.levels):
            raise ValueError("levels must be whole numbers of connections")
        return self

    def duration_of(self, level: float) -> float | None:
        """Seconds that a level takes; None where requests are counted."""
        if isinstance(self.duration, list):
            return self.duration[self.levels.index(level)]
        return self.duration


class Images(_Model):
    """The generated images, requested in random order, instead of a list of paths."""

    endpoint: Literal["/files", "/gridfs"]
    count: Count = 10_000


class Case(_Model):
    """Settings for every server; each case is measured in full."""

    name: Text
    settings: Settings = {}


class Changes(_Model):
    """Numbers with which ``--quick`` and the command line override those of a workload."""

    levels: list[Level] | None = None
    duration: Positive | list[Positive] | None = None
    requests: Count | None = None
    calls: Count | None = None
    timeout: Positive | None = None
    threads: Count | None = None
    generator: None = None  # in results of before
    repeats: Count | None = None
    warmup: Annotated[float, Field(ge=0)] | None = None
    images: Count | None = None


class Workload(_Model):
    """Everything that is needed to repeat a measurement."""

    title: Text
    about: Text
    """What it measures, and which published run it repeats."""
    paths: list[Annotated[str, Field(pattern=r"^/")]] = []
    """Request targets, in order."""
    images: Images | None = None
    servers: list[Text] = Field(default=["all"], min_length=1)
    """The servers to measure if the command line names none."""
    load: Load
    case: list[Case] = Field(default=[Case(name="1 worker", settings={"WORKERS": "1"})])
    repeats: Count = 10
    warmup: Annotated[float, Field(ge=0)] | None = None
    """Seconds of load before measuring; None to use each server's manifest."""
    samples: Annotated[float, Field(ge=0)] = 4.0
    """Responses per second that are compared with the contract during the load."""
    quick: Changes

    @field_validator("paths")
    @classmethod
    def _parts_are_known(cls, paths: list[str]) -> list[str]:
        for path in paths:
            part_of(path)
        return paths

    @model_validator(mode="after")
    def _has_requests_and_distinct_cases(self) -> "Workload":
        if bool(self.paths) == bool(self.images):
            raise ValueError("give either paths or images")
        names = [case.name for case in self.case]
        if len(set(names)) < len(names):
            raise ValueError("two cases have the same name")
        return self

    @property
    def parts(self) -> set[Part]:
        """The parts of the contract that it requests."""
        paths = [self.images.endpoint] if self.images else self.paths
        return {part_of(path) for path in paths}

    def changed(self, changes: Changes) -> "Workload":
        """The workload with some numbers replaced, validated again."""
        given = changes.model_dump(exclude_none=True)
        own = self.model_dump()
        load = own["load"]
        if "duration" in given:
            load["requests"] = None
        if "requests" in given:
            load["duration"] = None
        if "levels" in given and "duration" not in given and isinstance(load["duration"], list):
            load["duration"] = load["duration"][0]
        load |= {name: given[name] for name in given if name in Load.model_fields}
        own |= {name: given[name] for name in ("repeats", "warmup") if name in given}
        if "images" in given and own["images"]:
            own["images"]["count"] = given["images"]
        return _checked(own, "the changed workload")


def load_workload(name: str) -> Workload:
    """Read and validate a workload, by name or path; errors name each wrong field."""
    path = CALLER / name if name.endswith(".toml") else WORKLOADS / f"{name}.toml"
    try:
        return _checked(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
    except FileNotFoundError:
        hint = did_you_mean(name, workload_names(), "`just bench --list` shows them")
        raise UsageError(f"there is no workload {name!r}: {hint}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error


def workload_names() -> list[str]:
    """The workloads in the repository."""
    return sorted(path.stem for path in WORKLOADS.glob("*.toml"))


def _checked(values: dict[str, Any], where: str) -> Workload:
    try:
        return Workload.model_validate(values)
    except ValidationError as error:
        raise UsageError(f"{where}: {describe(error, 'workload')}") from error
