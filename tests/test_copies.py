"""A copy of each server in another folder runs exactly as its README says.

Only `docker compose` is left out of the commands: the databases are the project's, and `.env` gets
their addresses. One server uses the real pip; the others use uv instead, for its cache.
"""

import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest

import spec
from conformance.subject import BRIEF
from harness.copies.new import copy_server
from harness.copies.readme import blocks
from harness.paths import RUN
from harness.servers.build import toolchain
from harness.servers.catalog import Server, find_servers
from harness.services import backing_services
from harness.system.ports import accepts, free_port
from harness.system.processes import wait_until
from harness.system.programs import environment
from harness.toolchains.install import require
from tests.databases import with_mongodb_of_its_own
from tests.tasks import at_once, fetch, listening, run, sh
from tests.test_new import SOURCED, files

pytestmark = pytest.mark.timeout(1200)

# Toolchains of which the READMEs' own commands make use, by language
_README_NEEDS = {"python": ["venv"], "go": ["c-compiler"], "nginx": ["envsubst"]}

REAL_PIP = "aiohttp"
# One server of each language, but none on a JVM, whose checks take as long as all others together
PROVED = {"aiohttp", "eventmachine", "express", "net-http", "nginx"}

# Those that take longest come first
SERVERS = sorted(
    find_servers().values(),
    key=lambda one: (one.manifest.language not in ("scala", "java"), one.name not in PROVED),
)

CHECKS = "test_answer"
STARTING_DOCKER = "docker compose up --detach --wait"

UV_AS_PYTHON = """\
#!/bin/sh
# python3 -m venv FOLDER, with uv, whose pip takes the options that READMEs name
set -eu
[ "$1 $2" = "-m venv" ]
uv venv --quiet "$3"
printf '#!/bin/sh\\nexec uv pip "$@" --quiet --python %s\\n' "$3" > "$3/bin/pip"
chmod +x "$3/bin/pip"
"""


def serve(
    commands: list[str], folder: Path, shell: Mapping[str, str], parts: Iterable[spec.Part]
) -> None:
    """Fail unless the commands serve the contract until Ctrl-C, which ends all processes."""
    port, env_file, log = free_port(), folder / ".env", folder.with_name("log")
    env_file.write_text(re.sub(r"(?m)^PORT=.*", f"PORT={port}", env_file.read_text()))
    command = ["sh", "-e", "-c", "\n".join(commands)]
    with listening(command, port, log, cwd=folder, env=shell) as process:
        for target in (spec.ENDPOINTS[part].example for part in parts):
            body = fetch(f"http://127.0.0.1:{port}{target}")
            assert body == spec.expected(target).body, f"{commands}: {target}"
        os.killpg(process.pid, signal.SIGINT)
        process.wait(60)
        assert wait_until(lambda: not accepts("127.0.0.1", port), timeout=60), commands


def follow(server: Server, folder: Path, settings: Mapping[str, str]) -> None:
    """Follow the README's instructions as a user would."""
    extra = _README_NEEDS.get(server.manifest.language, ())
    require(map(toolchain, [*server.manifest.needs, *extra]))
    shell = {name: value for name, value in environment().items() if name not in settings} | BRIEF
    shell["MYPY_CACHE_DIR"] = str(RUN / "mypy" / server.name)  # kept for the next time
    if server.name != REAL_PIP:
        tools = folder / "tools"
        tools.mkdir(parents=True)
        (tools / "python3").write_text(UV_AS_PYTHON)
        (tools / "python3").chmod(0o755)
        shell["PATH"] = f"{tools}{os.pathsep}{shell['PATH']}"
    copy = folder / "copy"
    copy_server(server, copy, "my-service")
    own = files(copy)

    install, first, test, *others = blocks((copy / "README.md").read_text())
    sh("\n".join(command for command in install if command != STARTING_DOCKER), copy, shell)
    loading = [line for line in first if line == SOURCED]
    write_settings(copy / ".env", settings, for_shells=bool(loading))
    for commands in (first[len(loading) :], *([line] for block in others for line in block)):
        serve([*loading, *commands], copy, shell, server.manifest.parts or spec.ENDPOINTS)
    sh("\n".join(test), copy, shell)

    if server.name in PROVED:
        done = run("conform", str(copy), "-k", CHECKS, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
    sh("git init --quiet; git add --all", copy, shell)
    assert set(sh("git -c core.quotePath=off ls-files", copy, shell).splitlines()) == own


def write_settings(env_file: Path, settings: Mapping[str, str], *, for_shells: bool) -> None:
    """Append settings in the syntax of what reads them."""
    if for_shells:
        settings = {name: f"'{value}'" for name, value in settings.items()}
    else:  # The user is in another database, so that a URL cut at its & is refused.
        url = settings["MONGODB_URL"]
        settings = {**settings, "MONGODB_URL": url.replace("?authSource", "?tls=false&authSource")}
        assert "&" in settings["MONGODB_URL"]
    with env_file.open("a") as file:
        file.writelines(f"\n{name}={value}" for name, value in settings.items())


@pytest.fixture(scope="module")
def followed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[None]]]:
    """Each with a database of its own: servers' tests count the documents in it."""
    folder = tmp_path_factory.mktemp("copies")

    def follow_alone(server: Server) -> None:
        with with_mongodb_of_its_own(backing, f"copy_{server.name}") as own:
            follow(server, folder / server.name, own.environment())

    with backing_services() as backing, at_once(request, follow_alone, most=3) as results:
        yield results


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_a_copy_runs_as_its_readme_says(server: Server, followed: dict[str, Future[None]]) -> None:
    followed[server.name].result()
