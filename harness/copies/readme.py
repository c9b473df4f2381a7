"""A server's README: its section about running it by itself, and what copies leave out."""

import re
from collections.abc import Collection

HEADING = "## Run it by itself"


def section(text: str, heading: str = HEADING) -> str:
    """What stands below a heading; nothing without it."""
    return re.split(r"^## ", text.partition(f"{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def blocks(text: str) -> list[list[str]]:
    """The commands to run it by itself, one list per code block: install, run, test, others."""
    return [
        [re.sub(r"\s+# .*", "", line) for line in block.splitlines() if line]
        for block in re.findall(r"^```sh\n(.*?)^```$", section(text), re.MULTILINE | re.DOTALL)
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
