"""The manifest, ``server.toml``: what a server says of itself."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
    model_validator,
)

import spec
from harness.errors import UsageError
from harness.validation import faults

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Text = Annotated[str, StringConstraints(min_length=1)]
Command = Annotated[list[Text], Field(min_length=1)]
Part = spec.Part


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Tool(_Model):
    """A program that the machine must have, and that no task can bring."""

    name: Text
    """What it is, with the versions that will do."""
    check: Command
    """Ends with status 0 where it is there and will do."""
    install: Text
    """How to install it, in a line."""


Need = Annotated[
    Annotated[Literal["node", "jdk", "maven", "ruby", "nginx", "c-compiler"], Tag("toolchain")]
    | Annotated[Tool, Tag("tool")],
    Discriminator(lambda need: "toolchain" if isinstance(need, str) else "tool"),
]


class Build(_Model):
    """How a server is made ready to run, in its folder."""

    run: list[Command] = Field(min_length=1)
    """Argument lists, run one after the other; never through a shell."""
    inputs: list[Text] = Field(min_length=1)
    """Files and folders; the build is skipped while their bytes are unchanged."""
    output: Text
    """The folder that the build makes; it is built again when this is gone."""


class Deployment(_Model):
    """One way to run a server."""

    name: Name
    model: Literal["event loop", "threads", "processes", "greenlets", "actors"]
    run: Command
    """An argument list; ``{host}``, ``{port}``, ``{workers}`` and ``{threads}`` are filled in."""
    config: Text | None = None
    """A file whose ``${NAMES}`` are filled in from the settings, to run it from ``{config}``."""
    concurrent: bool = True
    """Does one slow request leave the others alone, with ``WORKERS=1``?"""
    supervised: bool = False
    """Is a killed worker replaced?"""
    keep_alive: bool = True
    """False where the stack closes after each response."""
    workers: bool = True
    """False where the framework documents no way to run several processes: it is always one."""
    sql_pool: bool = True
    """False where a SQL connection is made for each request."""
    warmup: Annotated[float, Field(ge=0)] = 1.0
    """Seconds of load before it is as fast as it gets."""


class Manifest(_Model):
    """A server, as its folder describes it."""

    title: Text
    language: Name
    framework: Text
    homepage: Annotated[str, StringConstraints(pattern=r"^https://")]
    mongodb: Text | None = None
    """The MongoDB driver, as its ecosystem names it."""
    sql: Text | None = None
    """The PostgreSQL driver, as its ecosystem names it."""
    parts: list[Part] | None = None
    """The parts of the contract that it serves; all of them unless it says otherwise."""
    needs: list[Need] = []
    """What the machine must have: toolchains (:mod:`harness.toolchains`), or a :class:`Tool`."""
    passes: list[Text] = []
    """Variables of the caller's environment that it gets besides the contract's settings."""
    build: Build | None = None
    checks: list[Command] = []
    """Its own linters and tests, run in its folder by ``just check`` once it is built."""
    deployment: list[Deployment] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Manifest":
        names = [deployment.name for deployment in self.deployment]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"deployment {twice!r} is there twice")
        return self


def load_manifest(path: Path) -> Manifest:
    """Read and check a manifest; an error names the file and each field that is wrong."""
    try:
        return Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {faults(error, 'manifest')}") from error
