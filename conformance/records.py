"""The recorded behaviours of a server, kept in its folder as ``behaviours.json``.

One object per deployment: ``answers`` by question, and ``seen_on``, the versions of all that gave
them: the runtime, the server, the framework, the drivers, and what these are built on.
Written by ``./just conform NAME --record``, never by hand.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.paths import RUN
from harness.servers.catalog import Server, Target
from harness.servers.versions import packages, runtime
from harness.system.files import write_whole
from harness.system.locks import locked
from spec.behaviours import questions

NAME = "behaviours.json"


@dataclass(frozen=True)
class Record:
    """The recorded answers of one deployment."""

    answers: dict[str, str]
    seen_on: dict[str, str]


@dataclass(frozen=True)
class Change:
    """An answer that differs from the record."""

    question: str
    recorded: str | None
    seen: str | None


def read(server: Server) -> dict[str, Record]:
    """The record of each deployment that has one."""
    path = server.folder / NAME
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: Record(**record) for name, record in content.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is not a record of behaviours ({error}): restore it, or delete it and run "
            f"`./just conform {server.name} --record`"
        ) from error


def find(target: Target) -> Record | None:
    """The record of a deployment, if it has one."""
    return read(target.server).get(target.deployment.name)


def write(target: Target, answers: Mapping[str, str]) -> Path:
    """Replace the record of one deployment; remove those of deployments that no longer exist.

    Other threads and tasks may write those of the same server's other deployments at once.
    """
    server = target.server
    record = Record(dict(answers), seen_on(server))
    path = server.folder / NAME
    with locked(RUN / "locks" / f"record-{server.name}"):
        found = read(server) | {target.deployment.name: record}
        kept = {
            one.name: vars(found[one.name])
            for one in server.manifest.deployment
            if one.name in found
        }
        text = json.dumps(kept, indent=2, sort_keys=True, ensure_ascii=False)
        write_whole(path, text + "\n")
    return path


def seen_on(server: Server) -> dict[str, str]:
    """The versions that answers depend on."""
    return packages(server) | runtime(server)


def changes(record: Record, answers: Mapping[str, str]) -> list[Change]:
    """The answers that differ from the record, in the order of the questions."""
    elsewhere = {id for id, one in questions().items() if not one.is_for_this_system}
    return [
        Change(id, record.answers.get(id), answers.get(id))
        for id in dict.fromkeys([*questions(), *record.answers])
        if record.answers.get(id) != answers.get(id) and id not in elsewhere
    ]


def upgrades(record: Record, target: Target) -> list[str]:
    """The packages whose version differs from the record, as ``NAME OLD → NEW``."""
    now = seen_on(target.server)
    return [
        f"{name} {record.seen_on.get(name, 'not there')} → {now.get(name, 'not there')}"
        for name in sorted({*now, *record.seen_on})
        if now.get(name) != record.seen_on.get(name)
    ]
