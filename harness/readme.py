"""The section of a server's README about running it by itself."""

import re

HEADING = "## Run it by itself"


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
