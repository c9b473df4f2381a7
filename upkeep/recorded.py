"""Tables of what is recorded of the servers: their deployments, code and answers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from conformance import records
from harness.errors import UsageError
from harness.servers.catalog import Server, Target, find_servers
from harness.servers.source import count_lines
from spec.behaviours import Layer, questions


def deployments() -> str:
    """Each server's lines, drivers and deployments, the default first."""
    rows = []
    for server in find_servers().values():
        manifest = server.manifest
        only = f": only {', '.join(manifest.parts)}" if manifest.parts else ""
        names = ", ".join(f"`{one.name}`" for one in manifest.deployment)
        drivers = [manifest.mongodb or "", manifest.sql or ""]
        rows.append([link(server) + only, str(count_lines(server)), names, *drivers])
    return table(["Server", "Lines", "Deployments, the default first", "MongoDB", "SQL"], rows)


def servers() -> str:
    """The lines, model, libraries and risky answers of each server's first deployment, these by the
    layer that decides."""
    layers: tuple[Layer, ...] = get_args(Layer)
    heads = ["Server", "Language", "Lines", "Model", "MongoDB, SQL"]
    rows = []
    for target, recorded in _recorded():
        manifest = target.server.manifest
        rated = [questions()[id] for id, answer in recorded.items() if _is_risky(id, answer)]
        risky = Counter(question.decided_by for question in rated)
        drivers = ", ".join(filter(None, (manifest.mongodb, manifest.sql)))
        facts = [manifest.language, str(count_lines(target.server)), target.deployment.model]
        rows.append(
            [link(target.server), *facts, drivers, *(str(risky[layer]) for layer in layers)]
        )
    return table([*heads, *(f"Risky by {layer}" for layer in layers)], rows)


def answers(headings: dict[str, str]) -> str:
    """Each server's answers to some questions, by their ids; risky ones are bold."""
    if unknown := [id for id in headings if id not in questions()]:
        raise UsageError(f"there is no question {unknown[0]!r} in spec/behaviours.toml")
    rows = []
    for target, recorded in _recorded():
        given = [(id, recorded.get(id)) for id in headings]
        cells = [f"**{one}**" if one and _is_risky(id, one) else one or "" for id, one in given]
        rows.append([link(target.server), *cells])
    return table(["Server", *headings.values()], rows)


def _is_risky(id: str, answer: str) -> bool:
    known = questions()[id].answers.get(answer)
    return known is not None and known.rating == "risky"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A Markdown table between line breaks; of ``numbers`` from the second column on."""
    ruler = ["---", *(["---:" if numbers else "---"] * (len(heads) - 1))]
    return "\n" + "\n".join(f"| {' | '.join(row)} |" for row in (heads, ruler, *rows)) + "\n"


def _recorded() -> Iterator[tuple[Target, dict[str, str]]]:
    """The first deployment of each server that serves all of the contract, and its answers."""
    for server in find_servers().values():
        target = Target(server, server.manifest.deployment[0])
        if server.manifest.parts is None and (record := records.find(target)):
            yield target, record.answers


def link(server: Server, root: str = "../") -> str:
    """A link to its folder, from a text from which the repository is at ``root``."""
    return f"[{server.name}]({root}{server.folder.parent.name}/{server.name})"
