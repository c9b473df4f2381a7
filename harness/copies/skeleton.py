"""Starts a new server: its manifest, README, settings and ignored files, without any code."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import spec
from harness.copies.new import drafted
from harness.errors import UsageError
from harness.paths import ROOT
from harness.servers.catalog import find_servers

TEMPLATES = Path(__file__).parent / "skeletons"

_WORD = r"[a-z0-9]+(-[a-z0-9]+)*"

Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Language:
    """What the files say for one language; these defaults are for a language unknown here."""

    mongodb: str = "mongodb"
    sql: str = "postgresql"
    needs: tuple[str, ...] = ()
    checks: Commands = ()
    build: Commands = ()
    inputs: tuple[str, ...] = ()
    output: str = ""
    run: tuple[str, ...] = ("./serve",)
    # In the README:
    requires: str = "its toolchain"
    install: tuple[str, ...] = ()
    start: str = "./serve"
    test: tuple[str, ...] = ("make test",)
    ignored: tuple[str, ...] = ("build/",)


_LANGUAGES = {
    "python": _Language(
        mongodb="pymongo",
        sql="asyncpg",
        checks=(
            (
                *("uv", "pip", "install", "--quiet", "--require-hashes"),
                *("--python", ".venv", "-r", "requirements-dev.txt"),
            ),
            (".venv/bin/ruff", "check", "--quiet"),
            (".venv/bin/ruff", "format", "--check", "--quiet"),
            (".venv/bin/mypy",),
            (".venv/bin/pytest", "--quiet"),
        ),
        build=(
            ("uv", "venv", "--quiet", "--allow-existing", "--python", ">=3.11", ".venv"),
            (
                *("uv", "pip", "sync", "--quiet", "--require-hashes", "--compile-bytecode"),
                "requirements.txt",
            ),
        ),
        inputs=("requirements.txt",),
        output=".venv",
        run=(".venv/bin/python", "-m", "app.main"),
        requires="Python 3.11 or later",
        install=(
            "python3 -m venv .venv",
            ".venv/bin/pip install --require-hashes --requirement requirements.txt",
        ),
        start=".venv/bin/python -m app.main",
        test=(
            ".venv/bin/pip install --require-hashes --requirement requirements-dev.txt",
            ".venv/bin/pytest",
        ),
        ignored=(".venv/", "__pycache__/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/"),
    ),
    "node": _Language(
        mongodb="mongodb",
        sql="pg",
        needs=("node",),
        checks=(("npm", "run", "lint"), ("npm", "test")),
        build=(("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),),
        inputs=(".npmrc", "package.json", "package-lock.json"),
        output="node_modules",
        run=("env", "NODE_ENV=production", "node", "src/main.js"),
        requires="Node.js 24 or later",
        install=("npm ci",),
        start="npm start",
        test=("npm test", "npm run lint"),
        ignored=("node_modules/", "npm-debug.log*", "coverage/"),
    ),
}


def write_skeleton(place: str, root: Path = ROOT) -> Path:
    """Write the files that a server in LANGUAGE/NAME begins with; returns its folder."""
    if not re.fullmatch(f"{_WORD}/{_WORD}", place, re.ASCII):
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
    values = asdict(_LANGUAGES.get(language, _Language()))
    with drafted(folder) as draft:
        for path in TEMPLATES.iterdir():
            text = environment.get_template(path.name).render(
                values, name=name, language=language, parts=list(spec.ENDPOINTS)[:2]
            )
            (draft / path.stem).write_text(text)
    return folder
