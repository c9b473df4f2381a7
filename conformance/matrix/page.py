"""The self-contained HTML page."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import get_args

from markupsafe import Markup, escape

from conformance import pages
from conformance.matrix.rows import Row, condensed
from harness.servers.catalog import Target
from spec.behaviours import Layer

# The sign of each rating, besides its colour
SIGNS = {"good": "✓", "plain": "–", "slow": "↓", "risky": "⚠"}

_CODE = re.compile(r"`([^`]+)`")
_SECTIONS = re.compile(r"RFC (\d+),? sections? {0}(?: and {0})*".format(r"\d+(?:\.\d+)*"))


@dataclass(frozen=True)
class _Server:
    """A group of adjacent columns, one for each deployment that has a record."""

    name: str
    language: str
    deployments: list[str]

    @property
    def targets(self) -> list[str]:
        """The keys of recorded answers: ``server/deployment``."""
        return [f"{self.name}/{deployment}" for deployment in self.deployments]


def render(targets: Sequence[Target], found: Sequence[Row], home: str | None = None) -> str:
    """Render the page for these deployments; ``home`` is the address of the site's folder."""
    recorded = {name for row in found for name in row.answers}
    servers = _servers([target for target in targets if target.name in recorded])
    every = [name for server in servers for name in server.targets]
    values = {
        "home": home,
        "servers": servers,
        "every": every,
        "without": [target.name for target in targets if target.name not in recorded],
        "rows": found,
        "layers": get_args(Layer),
        "risks": {server.name: _risk(server, found) for server in servers},
        "signs": SIGNS,
        "cells": lambda row: [cell for server in servers for cell in _cells(server, row)],
        "answers_of": lambda row: _answers(row, every),
        "code": _code,
        "sourced": _sourced,
    }
    return pages.render(Path(__file__).parent, values)


def _servers(targets: Sequence[Target]) -> list[_Server]:
    """Each server once, with all its deployments among ``targets``."""
    found: dict[str, _Server] = {}
    for target in targets:
        one = _Server(target.server.name, target.server.manifest.language, [])
        found.setdefault(one.name, one).deployments.append(target.deployment.name)
    return list(found.values())


def _risk(server: _Server, found: Sequence[Row]) -> dict[str, object]:
    """The number of questions to which a server's answer is risky, also by who decides it."""
    by_deployment = dict.fromkeys(server.deployments, 0)
    by_layer: Counter[str] = Counter()
    for row in found:
        risky = [
            name in row.answers and row.rating(row.answers[name]) == "risky"
            for name in server.targets
        ]
        by_layer[row.question.decided_by] += any(risky)
        for deployment, count in zip(server.deployments, risky, strict=True):
            by_deployment[deployment] += count
    layers = dict((+by_layer).most_common())
    return {"questions": by_layer.total(), "by_deployment": by_deployment, "by_layer": layers}


def _cells(server: _Server, row: Row) -> list[dict[str, object]]:
    """The answers of adjacent deployments; None if they were not asked."""
    return [
        {
            "server": server.name,
            "width": len(list(same)),
            "answer": answer,
            "rating": answer and row.rating(answer),
        }
        for answer, same in groupby(row.answers.get(name) for name in server.targets)
    ]


def _answers(row: Row, every: list[str]) -> list[dict[str, object]]:
    """All answers of a question, given or not, in its order.

    ``who`` gives one has by server: the deployments, or none if all of the server's give it.
    """
    answers: list[dict[str, object]] = []
    for answer, rated in row.question.answers.items():
        names = [name for name in every if row.answers.get(name) == answer]
        who: dict[str, list[str]] = {}
        for server, _, deployment in (name.partition("/") for name in condensed(names, every)):
            who.setdefault(server, []).extend([deployment] if deployment else [])
        answers.append({"answer": answer, **vars(rated), "who": who, "by_all": names == every})
    return answers


def _code(text: str) -> Markup:
    """Text with the parts between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _sourced(text: str) -> Markup:
    """A source with links to sections of RFCs."""
    return Markup(_SECTIONS.sub(_linked, str(escape(text))))  # noqa: S704


def _linked(found: re.Match[str]) -> str:
    """Links for ``RFC 9110, sections 8.3 and 8.4``, one for each section."""
    url = f"https://www.rfc-editor.org/rfc/rfc{found[1]}#section-"
    parts = found[0].split(" and ")
    return " and ".join(f'<a href="{url}{part.split()[-1]}">{part}</a>' for part in parts)
