"""What a server's README says about running the server by itself."""

import re

HEADING = "## Run it by itself"


def blocks(text: str) -> list[list[str]]:
    """The commands of that section, a list for each of its blocks: install, run, test, others."""
    if f"{HEADING}\n" not in text:
        return []
    section = re.split(r"^## ", text.split(f"{HEADING}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    return [
        [re.sub(r"\s+# .*", "", line) for line in block.splitlines() if line]
        for block in re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    ]


def without_outer_links(text: str) -> str:
    """The text with links out of the server's folder as plain words: a copy stands elsewhere."""
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", text)
