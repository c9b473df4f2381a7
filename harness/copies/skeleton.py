"""Starts a new server: its manifest, README, settings and ignored files, without any code."""

import json
import re
import tomllib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import spec
from harness.copies.new import drafted
from harness.errors import UsageError
from harness.paths import ROOT
from harness.servers.catalog import find_servers
from harness.servers.manifest import WORD

TEMPLATES = Path(__file__).parent / "skeletons"

_LANGUAGES = Path(__file__).parent / "languages.toml"


def write_skeleton(place: str, root: Path = ROOT) -> Path:
    """Write the files that a server in LANGUAGE/NAME begins with; returns its folder."""
    if not re.fullmatch(f"{WORD}/{WORD}", place, re.ASCII):
        raise UsageError(
            f"{place!r} is not LANGUAGE/NAME, such as python/starlette: "
            "use lower-case letters and digits, words joined by -"
        )
    language, name = place.split("/")
    if taken := find_servers(root).get(name):
        raise UsageError(f"the name {name} is taken by {taken.folder}: choose another")
    folder = root / place
    environment = Environment(  # noqa: S701 (plain text)
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.finalize = lambda value: value if isinstance(value, str) else json.dumps(value)
    languages = tomllib.loads(_LANGUAGES.read_text())
    values = languages["other"] | languages.get(language, {})
    with drafted(folder) as draft:
        for path in TEMPLATES.iterdir():
            text = environment.get_template(path.name).render(
                values, name=name, language=language, parts=list(spec.ENDPOINTS)[:2]
            )
            (draft / path.stem).write_text(text)
    return folder
