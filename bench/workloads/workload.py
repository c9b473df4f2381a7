"""Workloads: the requests, the load, and the number of repeats."""

import tomllib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from bench.workloads.load import Count, Load, Positive
from harness.errors import UsageError, describe, did_you_mean
from harness.paths import CALLER, ROOT
from harness.servers.manifest import Part, Text
from spec import ENDPOINTS, Source, part_of

WORKLOADS = ROOT / "bench" / "workloads"

Setting = Annotated[str, Field(pattern=r"^[1-9][0-9]*$")]
SettingName = Literal["WORKERS", "THREADS", "MONGODB_POOL_SIZE", "DATABASE_POOL_SIZE"]
Settings = dict[SettingName, Setting]
Attack = Literal["slow senders", "slow readers", "idle connections", "malformed requests"]


class Images(BaseModel, extra="forbid", frozen=True):
    """The generated images, requested in random order, instead of a list of paths."""

    endpoint: Literal["/files", "/gridfs"]
    count: Count = 10_000


class Case(BaseModel, extra="forbid", frozen=True):
    """Settings for every server, and who attacks it; each case is measured in full."""

    name: Text
    settings: Settings = {}
    attack: Attack | None = None

    @property
    def workers(self) -> int:
        """Processes of a server, if it can have several."""
        return int(self.settings.get("WORKERS", "1"))


class Changes(BaseModel, extra="forbid", frozen=True):
    """Numbers with which ``--quick`` and the command line override those of a workload."""

    levels: list[Positive] | None = None
    duration: Positive | list[Positive] | None = None
    requests: Count | None = None
    calls: Count | None = None
    timeout: Positive | None = None
    threads: Count | None = None
    repeats: Count | None = None
    warmup: Annotated[float, Field(ge=0)] | None = None
    images: Count | None = None


class Workload(BaseModel, extra="forbid", frozen=True):
    """Everything that is needed to repeat a measurement."""

    title: Text
    about: Text  # What it measures, and which published run it repeats
    paths: list[Annotated[str, Field(pattern=r"^/")]] = []  # Request targets, in order
    images: Images | None = None
    # Of correct responses; those from 400 on are problem details
    statuses: list[int] = Field(default=[200], min_length=1)
    body: str = ""  # JSON that is sent with POST; without it, the requests are GETs
    # The servers to measure if the command line names none
    servers: list[Text] = Field(default=["all"], min_length=1)
    load: Load
    case: list[Case] = Field(
        default=[Case(name="1 worker", settings={"WORKERS": "1"})], min_length=1
    )
    repeats: Count = 10
    # Seconds of load before measuring; None to use each server's manifest
    warmup: Annotated[float, Field(ge=0)] | None = None
    # Responses per second that are compared with the contract during the load
    samples: Annotated[float, Field(ge=0)] = 2.0
    quick: Changes

    @model_validator(mode="after")
    def _has_requests_and_distinct_cases(self) -> "Workload":
        if bool(self.paths) == bool(self.images):
            raise ValueError("give either paths or images")
        # Each connection begins with the first.
        if self.images and self.load.model != "closed":
            raise ValueError("images are only for the closed model")
        if self.load.model == "connection rate" and len(self.paths) > self.load.calls:
            raise ValueError("a connection rate needs as many calls as paths, or more")
        _ = self.parts  # raises if one is unknown
        names = [case.name for case in self.case]
        if len(set(names)) < len(names):
            raise ValueError("two cases have the same name")
        if self.is_attacked and "files" in self.parts:
            raise ValueError("attackers ask for a file of their own: give paths without files")
        return self

    @property
    def parts(self) -> set[Part]:
        """The parts of the contract that it requests: none if no server knows its paths."""
        if self.statuses == [404]:
            return set()
        return {part_of(path) for path in self.requested}

    @property
    def requested(self) -> list[str]:
        """Its paths, or that of its images."""
        return [self.images.endpoint] if self.images else self.paths

    @property
    def workers(self) -> int:
        """The most processes of a server in a case."""
        return max(case.workers for case in self.case)

    @property
    def is_attacked(self) -> bool:
        """Whether servers are attacked in some of its cases."""
        return any(case.attack for case in self.case)

    @property
    def is_refused(self) -> bool:
        """Whether the correct responses are problem details."""
        return min(self.statuses) >= 400

    @property
    def stored(self) -> str:
        """The note that each request stores, as JSON; empty if none does."""
        return "" if self.is_refused else self.body

    @property
    def sources(self) -> set[Source]:
        """What its correct responses come from: nothing, where requests are refused."""
        used = {ENDPOINTS[part].source for part in self.parts if not self.is_refused}
        return {source for source in used if source}

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
        hint = did_you_mean(name, workload_names(), "`./just bench --list` shows them")
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
