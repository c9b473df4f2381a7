"""Takes what identifies a machine's owner out of a result: paths, user, host and addresses."""

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.measuring.process_tree import LOOPBACK
from bench.records.result import Run
from harness.paths import ROOT

# The fields whose text comes from the machine; the others are names that the run refers to
_FREE = {"command", "environment", "output", "why", "limits", "workers", "address"}
_COMMON = {"root", "localhost", "user", "runner"}  # Names that identify nobody
_ADDRESS = re.compile(r"\b(?:10\.\d+|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b")


@dataclass(frozen=True)
class Identity:
    """What must not be published."""

    checkout: str
    home: str
    user: str
    host: str

    @classmethod
    def here(cls) -> "Identity":
        return cls(str(ROOT), str(Path.home()), getuser(), socket.gethostname())

    def substitutes(self) -> list[tuple[re.Pattern[str], str]]:
        """What is replaced by what, longest paths first."""
        found = [(re.compile(re.escape(self.checkout)), "CHECKOUT")]
        if len(self.home) > 1:
            found.append((re.compile(rf"{re.escape(self.home)}(?![\w.-])"), "HOME"))
        for name, word in ((self.host, "HOST"), (self.user, "USER")):
            if len(name) > 2 and name not in _COMMON:
                found.append(_whole(name, word))
        return [*found, (_ADDRESS, "ADDRESS")]


def _whole(name: str, word: str) -> tuple[re.Pattern[str], str]:
    """To replace a name by a word, but no part of another name."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])"), word


def _machines(run: Run) -> set[str]:
    """The names and addresses of other machines that took part."""
    servers = {urlsplit(server.address).hostname or "" for server in run.servers.values()}
    return {*run.workers, *servers}.difference(LOOPBACK, [""])


def without_identity(run: Run, identity: Identity) -> Run:
    """The result with placeholders such as CHECKOUT, HOME and MACHINE-1."""
    machines = enumerate(sorted(_machines(run)), 1)
    substitutes = [_whole(name, f"MACHINE-{number}") for number, name in machines]
    substitutes += identity.substitutes()

    def clean(value: Any, *, free: bool) -> Any:
        if isinstance(value, str) and free:
            for pattern, word in substitutes:
                value = pattern.sub(word, value)
            return value
        if isinstance(value, Mapping):
            return {name: clean(one, free=free or name in _FREE) for name, one in value.items()}
        if isinstance(value, list):
            return [clean(one, free=free) for one in value]
        return value

    return Run.model_validate(clean(run.model_dump(), free=False))


def remains(run: Run, identity: Identity) -> list[str]:
    """The paths, names and addresses that a result still contains."""
    text = run.model_dump_json()
    words = {identity.checkout, identity.home} - {"/"}
    if identity.host not in _COMMON and len(identity.host) > 2:
        words.add(identity.host)
    found = {word for word in words if re.search(rf"(?<![\w-]){re.escape(word)}\b", text)}
    return sorted(found | set(_ADDRESS.findall(text)))
