"""Tables of what is recorded of the servers: their deployments, code and answers.

The deployments of each server, the default first::

    <!-- deployments: all -->
    <!-- /deployments -->

The code, model and risky answers of each server's first deployment, by the layer that decides::

    <!-- servers: all -->
    <!-- /servers -->

Its answers to some questions, risky ones in bold, under headings of a few words::

    <!-- answers: idle-timeout="idle connections" client-gone="a client leaves" -->
    <!-- /answers -->
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from conformance import records
from harness.errors import UsageError
from harness.servers.catalog import Server, Target, find_servers
from harness.servers.source import count_lines
from spec.behaviours import Layer, questions


def deployments_table(_: str) -> str:
    """Each server's lines, deployments and drivers."""
    rows = []
    for server in find_servers().values():
        manifest = server.manifest
        only = f": only {', '.join(manifest.parts)}" if manifest.parts else ""
        names = ", ".join(f"`{one.name}`" for one in manifest.deployment)
        drivers = [manifest.mongodb or "", manifest.sql or ""]
        rows.append([link(server) + only, str(count_lines(server)), names, *drivers])
    return table(["Server", "Lines", "Deployments, the default first", "MongoDB", "SQL"], rows)


def servers_table(_: str) -> str:
    """Each server's lines, model, libraries and risky answers."""
    layers: tuple[Layer, ...] = get_args(Layer)
    heads = ["Server", "Language", "Lines", "Model", "MongoDB, SQL"]
    rows = []
    for target, answers in _recorded():
        manifest = target.server.manifest
        rated = [questions()[id] for id, answer in answers.items() if _is_risky(id, answer)]
        risky = Counter(question.decided_by for question in rated)
        drivers = ", ".join(filter(None, (manifest.mongodb, manifest.sql)))
        facts = [manifest.language, str(count_lines(target.server)), target.deployment.model]
        rows.append(
            [link(target.server), *facts, drivers, *(str(risky[layer]) for layer in layers)]
        )
    return table([*heads, *(f"Risky by {layer}" for layer in layers)], rows)


def answers_table(words: str) -> str:
    """Each server's answers to the questions that are named, with their headings."""
    asked = dict(word.partition("=")[::2] for word in shlex.split(words))
    if unknown := [id for id in asked if id not in questions()]:
        raise UsageError(f"there is no question {unknown[0]!r} in spec/behaviours.toml")
    rows = []
    for target, answers in _recorded():
        given = [(id, answers.get(id)) for id in asked]
        cells = [f"**{one}**" if one and _is_risky(id, one) else one or "" for id, one in given]
        rows.append([link(target.server), *cells])
    return table(["Server", *asked.values()], rows)


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
