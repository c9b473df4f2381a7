"""The manifest, ``server.toml``, which describes a server."""

import re
import tomllib
from pathlib import Path, PurePath
from string import Formatter
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
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
from harness.errors import UsageError, describe
from spec.behaviours import questions

WORD = r"[a-z0-9]+(-[a-z0-9]+)*"
PLACEHOLDERS = ("host", "port", "address", "workers", "threads", "config")


def _require_word(text: str) -> str:
    if not re.fullmatch(WORD, text, re.ASCII):
        raise ValueError("should be lower-case letters and digits, words joined by -")
    return text


def _require_group(text: str) -> str:
    groups = {question.group for question in questions().values()}
    if text not in groups:
        raise ValueError(f"should be one of {', '.join(sorted(groups))}")
    return text


Name = Annotated[str, AfterValidator(_require_word)]
Group = Annotated[str, AfterValidator(_require_group)]
Text = Annotated[str, StringConstraints(min_length=1)]
Command = Annotated[list[Text], Field(min_length=1)]
Part = spec.Part


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Tool(_Model):
    """A program that the machine must have, and that no task can install."""

    name: Text  # Its name, with the accepted versions
    check: Command  # A command that exits with status 0 if an accepted version is installed
    install: Text  # How to install it, in one line


Need = Annotated[
    Annotated[
        Literal["node", "jdk", "maven", "ruby", "go", "nginx", "c-compiler"], Tag("toolchain")
    ]
    | Annotated[Tool, Tag("tool")],
    Discriminator(lambda need: "toolchain" if isinstance(need, str) else "tool"),
]


class Build(_Model):
    """How a server is built, in its folder."""

    # Argument lists, run one after the other; never through a shell
    run: list[Command] = Field(min_length=1)
    # Files and folders; the build is skipped while their bytes are unchanged
    inputs: list[Text] = Field(min_length=1)
    output: Text  # The folder that the build creates; without it, the server is built again

    @model_validator(mode="after")
    def _output_is_a_folder_of_its_own(self) -> "Build":
        """Once the server has moved, it is deleted."""
        output = PurePath(self.output)
        holds_inputs = any(PurePath(name).is_relative_to(output) for name in self.inputs)
        if holds_inputs or output.is_absolute() or ".." in output.parts:
            raise ValueError("output: should be a folder in the server's, without inputs")
        return self


class Deployment(_Model):
    """One way to run a server."""

    name: Name
    model: Literal[
        "event loop", "threads", "processes", "greenlets", "actors", "goroutines", "fibers"
    ]
    # An argument list; ``{host}``, ``{port}``, ``{workers}`` and ``{threads}`` are filled in
    run: Command
    # A template whose ``${NAMES}`` are replaced by settings; ``{config}`` is the result
    config: Text | None = None
    concurrent: bool = True  # Whether others are served during a slow request, with ``WORKERS=1``
    supervised: bool = False  # Whether a killed worker is replaced
    keep_alive: bool = True  # False if the stack closes the connection after each response
    chunked: bool = True  # False if the stack decodes no chunked request bodies
    workers: bool = True  # False if the framework documents no way to run several worker processes
    all_cores: bool = False  # Whether one process uses all cores
    sql_pool: bool = True  # False if each request opens a SQL connection of its own
    unasked: list[Group] = []  # Groups of questions about its behaviour that are not asked
    warmup: Annotated[float, Field(ge=0)] = 1.0  # Seconds of load before it reaches full speed
    copied: bool = True  # False if copies leave it out, with the files that only it needs
    files: list[Text] = []  # These files

    @model_validator(mode="after")
    def _placeholders_are_known(self) -> "Deployment":
        known = [name for name in PLACEHOLDERS if name != "config" or self.config]
        for argument in self.run:
            for _, name, _, _ in Formatter().parse(argument):
                if name is not None and name not in known:
                    raise ValueError(f"run: {{{name}}} is none of {{{'}, {'.join(known)}}}")
        return self


class Manifest(_Model):
    """The fields of ``server.toml``."""

    title: Text
    language: Name
    framework: Text
    homepage: Annotated[str, StringConstraints(pattern=r"^https://")]
    mongodb: Text | None = None  # The MongoDB driver, as its ecosystem names it
    sql: Text | None = None  # The PostgreSQL driver, as its ecosystem names it
    # The parts of the contract that it serves; all of them by default
    parts: list[Part] | None = None
    # Prerequisites: toolchains (:mod:`harness.toolchains.install`), or a :class:`Tool`
    needs: list[Need] = []
    # Environment variables passed on from the caller, besides the contract's settings
    passes: list[Text] = []
    build: Build | None = None
    # Its own linters and tests, run in its folder by ``./just check`` once it is built
    checks: list[Command] = []
    deployment: list[Deployment] = Field(min_length=1)

    @model_validator(mode="after")
    def _deployments_agree(self) -> "Manifest":
        names = [deployment.name for deployment in self.deployment]
        if duplicate := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"deployment {duplicate!r} is defined twice")
        default, *others = self.deployment
        if not default.copied or any(one.copied and one.files for one in (default, *others)):
            raise ValueError("copied: copies have the first deployment; files is for the left out")
        return self


def load_manifest(path: Path) -> Manifest:
    """Read and check a manifest; errors name the file and each wrong field."""
    try:
        return Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {describe(error, 'manifest')}") from error
