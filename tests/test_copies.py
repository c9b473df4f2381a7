"""A copy of each server in another folder runs exactly as its README says.

Only `docker compose` is left out of the commands: the databases are the project's, and `.env` gets
their addresses. One server uses the real pip; the others use uv instead, for its cache.
"""

import os
import re
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import spec
from conformance.subject import BRIEF
from harness.copies.new import copy_server
from harness.copies.readme import blocks
from harness.servers.build import toolchain
from harness.servers.catalog import Server, find_servers
from harness.services import Services, backing_services
from harness.system.ports import accepts, free_port
from harness.system.processes import spawn, stop, wait_until
from harness.system.programs import environment
from harness.toolchains.install import require
from tests.databases import with_mongodb_of_its_own
from tests.tasks import fetch, run, selected, sh
from tests.test_new import SOURCED, files

pytestmark = pytest.mark.timeout(1200)

# Toolchains of which the READMEs' own commands make use, by language
_README_NEEDS = {"python": ["venv"], "go": ["c-compiler"], "nginx": ["envsubst"]}

# Those of the slowest language come first
SERVERS = sorted(find_servers().values(), key=lambda server: server.manifest.language != "scala")

REAL_PIP = "aiohttp"
# One server of each language, but none on a JVM, whose checks take as long as all others together
PROVED = {"aiohttp", "eventmachine", "express", "net-http", "nginx"}

CHECKS = "text or json or mongo or agents or files or gridfs"
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


@dataclass(frozen=True)
class Copy:
    """A server's copy, and the environment of a user's shell in it."""

    server: Server
    folder: Path
    shell: Mapping[str, str]

    def sh(self, commands: list[str]) -> str:
        """Run commands as if pasted into a terminal, until one fails."""
        return sh("\n".join(commands), self.folder, self.shell)

    def serves(self, commands: list[str], log: Path) -> None:
        """Fail unless the commands serve the contract until Ctrl-C, which ends all processes."""
        port = free_port()
        env_file = self.folder / ".env"
        env_file.write_text(re.sub(r"(?m)^PORT=.*", f"PORT={port}", env_file.read_text()))
        with log.open("w") as output:
            process = spawn(
                ["sh", "-e", "-c", "\n".join(commands)],
                cwd=self.folder,
                env=self.shell,
                output=output,
            )
        try:
            wait_until(
                lambda: accepts("127.0.0.1", port) or process.poll() is not None, timeout=120
            )
            assert accepts("127.0.0.1", port), f"{commands}:\n{log.read_text()}"
            for part in self.server.manifest.parts or spec.ENDPOINTS:
                target = spec.ENDPOINTS[part].example
                body = fetch(f"http://127.0.0.1:{port}{target}")
                assert body == spec.expected(target).body, f"{commands}: {target}"
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)
            assert wait_until(lambda: not accepts("127.0.0.1", port), timeout=60), commands
        finally:
            stop(process)


def follow(server: Server, folder: Path, settings: Mapping[str, str]) -> None:
    """Follow the README's instructions as a user would."""
    extra = _README_NEEDS.get(server.manifest.language, ())
    require(map(toolchain, [*server.manifest.needs, *extra]))
    shell = {name: value for name, value in environment().items() if name not in settings} | BRIEF
    shell["MYPY_CACHE_DIR"] = str(folder.parent / "mypy")  # most of it is the same for all servers
    if server.name != REAL_PIP:
        tools = folder / "tools"
        tools.mkdir()
        (tools / "python3").write_text(UV_AS_PYTHON)
        (tools / "python3").chmod(0o755)
        shell["PATH"] = f"{tools}{os.pathsep}{shell['PATH']}"
    copy = Copy(server, folder / "copy", shell)
    copy_server(server, copy.folder, "my-service")
    own = files(copy.folder)

    install, serve, test, *others = blocks((copy.folder / "README.md").read_text())
    copy.sh([command for command in install if command != STARTING_DOCKER])
    loading = [line for line in serve if line == SOURCED]
    write_settings(copy.folder / ".env", settings, for_shells=bool(loading))
    serving = serve[len(loading) :]
    for commands in (serving, *([line] for block in others for line in block)):
        copy.serves([*loading, *commands], folder / "log")
    copy.sh(test)

    if server.name in PROVED:
        done = run("conform", str(copy.folder), "-k", CHECKS, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
    copy.sh(["git init --quiet", "git add --all"])
    assert set(copy.sh(["git -c core.quotePath=off ls-files"]).splitlines()) == own


def follow_alone(server: Server, folder: Path, backing: Services) -> None:
    """Follow them with a database of its own: servers' tests count the documents in it."""
    with with_mongodb_of_its_own(backing, f"copy_{server.name}") as own:
        follow(server, folder, own.environment())


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
    """Follow two READMEs at a time, only those of the selected servers."""
    servers = selected(request)
    with backing_services() as backing, ThreadPoolExecutor(2) as pool:
        folders = [tmp_path_factory.mktemp(server.name) for server in servers]
        yield {
            server.name: pool.submit(follow_alone, server, folder, backing)
            for server, folder in zip(servers, folders, strict=True)
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_a_copy_runs_as_its_readme_says(server: Server, followed: dict[str, Future[None]]) -> None:
    followed[server.name].result()
