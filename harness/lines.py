"""Counts a server's lines of code."""

from pathlib import Path

from harness.catalog import NAME, Server
from harness.sources import source_files

_TESTS = {"test", "tests", "spec"}
_LEFT_OUT = {
    *(NAME, "README.md", "LICENSE", "behaviours.json", "pytest.ini"),
    *(".gitignore", ".env.example", ".prettierignore"),
    *("requirements.txt", "requirements-dev.in", "requirements-dev.txt"),
    *("package-lock.json", "build.sbt.lock", "Gemfile.lock"),
    # packaging and linters
    *("pyproject.toml", "package.json", ".npmrc", "Dockerfile", ".dockerignore"),
    *("eslint.config.js", ".prettierrc.json"),
    *("Gemfile", "debian.gemfile", ".rubocop.yml"),
    *("build.sbt", "lock.sbt", "sbtw", ".scalafmt.conf"),
    *("go.mod", "go.sum"),
    *("pom.xml", "mvnw", "maven.config", "jvm.config", "checksums.sha256"),
    *("build.properties", "plugins.sbt", "repositories"),
}


def count_lines(server: Server) -> int:
    """Non-blank lines of code and configuration, without tests, locks and packaging."""
    contents = [
        path.read_bytes()
        for path in source_files(server.folder)
        if _counts(path.relative_to(server.folder))
    ]
    return sum(
        bool(line.strip())
        for content in contents
        if b"\0" not in content  # as git tells binary files
        for line in content.splitlines()
    )


def _counts(path: Path) -> bool:
    if path.name in _LEFT_OUT or path.name.endswith("_test.go"):
        return False
    return not _TESTS.intersection(path.parts[:-1])
