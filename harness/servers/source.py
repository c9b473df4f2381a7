"""The source files of a folder, and the lines of code in a server's."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.servers.catalog import NAME, Server

# Build output, for folders outside of a git checkout
_MADE = {"node_modules", "__pycache__", "target", "venv", "dist"}

_TESTS = {"test", "tests", "spec"}
_NO_CODE = {
    *(NAME, "README.md", "LICENSE", "behaviours.json", "pytest.ini"),
    *(".gitignore", ".env.example", ".prettierignore"),
    *("requirements.txt", "requirements-dev.in", "requirements-dev.txt"),
    *("package-lock.json", "build.sbt.lock", "Gemfile.lock"),
    # packaging and linters
    *("pyproject.toml", "package.json", ".npmrc", "Dockerfile", ".dockerignore"),
    *("eslint.config.js", ".prettierrc.json", "tsconfig.json"),
    *("Gemfile", "debian.gemfile", ".rubocop.yml"),
    *("build.sbt", "lock.sbt", "sbtw", ".scalafmt.conf"),
    *("go.mod", "go.sum"),
    *("pom.xml", "mvnw", "maven.config", "jvm.config", "checksums.sha256"),
    *("build.properties", "plugins.sbt", "repositories"),
}


def source_files(folder: Path) -> list[Path]:
    """The source files of ``folder``, sorted.

    They are those that git tracks or would track. Outside of a git checkout: all files but those in
    hidden folders and build output.
    """
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    except (subprocess.CalledProcessError, FileNotFoundError):
        return sorted(_walk(folder))
    names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    return sorted(path for name in names if (path := folder / name).is_file())


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in _MADE and (path.name == ".mvn" or not path.name.startswith(".")):
                yield from _walk(path)
        elif path.is_file() and path.name != ".env":
            yield path


def copied_files(server: Server) -> list[Path]:
    """The server's source files without those that copies leave out."""
    left_out = {server.folder / file for one in server.manifest.deployment for file in one.files}
    return [path for path in source_files(server.folder) if path not in left_out]


def count_lines(server: Server) -> int:
    """Non-blank lines of a copy's code and configuration, without tests, locks and packaging."""
    contents = [
        path.read_bytes()
        for path in copied_files(server)
        if _is_code(path.relative_to(server.folder))
    ]
    return sum(
        bool(line.strip())
        for content in contents
        if b"\0" not in content  # as git tells binary files
        for line in content.splitlines()
    )


def _is_code(path: Path) -> bool:
    if path.name in _NO_CODE or path.name.endswith("_test.go"):
        return False
    return not _TESTS.intersection(path.parts[:-1])
