"""READMEs: a server's section about running it by itself, and the project's table of servers."""

import re
from collections.abc import Collection, Iterable

from harness.catalog import Server
from harness.errors import TaskError
from harness.lines import count_lines

HEADING = "## Run it by itself"

_TABLE = re.compile(r"(<!-- `just list --readme` .*?-->).*?(<!-- end -->)", re.DOTALL)


def blocks(text: str) -> list[list[str]]:
    """The section's commands, one list per code block: install, run, test, others."""
    if f"{HEADING}\n" not in text:
        return []
    section = re.split(r"^## ", text.split(f"{HEADING}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    return [
        [re.sub(r"\s+# .*", "", line) for line in block.splitlines() if line]
        for block in re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    ]


def without_outer_links(text: str) -> str:
    """Replace links that leave the server's folder with their text: in a copy they are dead."""
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", text)


def without_deployments(text: str, deployments: Collection[str]) -> str:
    """Leave out what is said of these alone: items that begin with their names, and what stands
    between the comments ``only here`` and ``end``."""
    items = re.split(r"^(?=- |\n|\S)", text, flags=re.MULTILINE)
    kept = [item for item in items if not _is_only_of(item, deployments)]
    return re.sub(r"<!-- only here -->\n.*?<!-- end -->\n\n?", "", "".join(kept), flags=re.DOTALL)


def _is_only_of(item: str, deployments: Collection[str]) -> bool:
    """Whether an item is ``- `id`, … (`deployment`, …): …`` with only such deployments."""
    found = re.match(r"- (?:`[^`]+`,?\s+)+\(((?:`[^`]+`,?\s*)+)\):", item)
    return found is not None and set(re.findall("`(.+?)`", found[1])) <= set(deployments)


def with_table(text: str, servers: Iterable[Server]) -> str:
    """The project's README with its table of servers, between two comments, written anew."""
    rows = [
        ("Server", "Lines", "Deployments, the default first", "MongoDB", "SQL"),
        ("---", "---:", "---", "---", "---"),
        *map(_row, servers),
    ]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    found, count = _TABLE.subn(lambda match: f"{match[1]}\n\n{table}\n{match[2]}", text)
    if count != 1:
        raise TaskError("README.md has no comments around its table of servers")
    return found


def _row(server: Server) -> tuple[str, ...]:
    manifest = server.manifest
    name = f"[{server.name}]({server.folder.parent.name}/{server.name})"
    if manifest.parts:
        name += f": only {', '.join(manifest.parts)}"
    return (
        name,
        str(count_lines(server)),
        ", ".join(f"`{deployment.name}`" for deployment in manifest.deployment),
        manifest.mongodb or "",
        manifest.sql or "",
    )
