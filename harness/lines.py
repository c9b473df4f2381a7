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
}


def count_lines(server: Server) -> int:
    """Non-blank lines of code and configuration, without tests and lock files."""
    return sum(
        sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines())
        for path in source_files(server.folder)
        if _counts(path.relative_to(server.folder))
    )


def _counts(path: Path) -> bool:
    return path.name not in _LEFT_OUT and not _TESTS.intersection(path.parts[:-1])
