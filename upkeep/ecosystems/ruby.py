"""Ruby: Bundler; with gems from RubyGems, or else from Debian's packages."""

import re

from harness.errors import TaskError, UsageError
from harness.programs import find_program, run_program
from upkeep.ecosystems.base import Dependency, Ecosystem

_GEM = re.compile(r"^\s*gem '([\w-]+)'(.*)$", re.M)
_GEMFILE = "gemfiles/debian.gemfile"


class Bundler(Ecosystem):
    """Gems in a Gemfile."""

    file = "Gemfile"
    source = "gems, by Bundler"

    def dependencies(self) -> list[Dependency]:
        """Ask Bundler; compare with Debian's packages if those are what the server runs on."""
        if (self.folder / _GEMFILE).is_file():
            return self._debian()
        have = self.locked()
        allowed, newest = (
            newer(self.run("bundle", "outdated", "--parseable", *options, accept=(0, 1)))
            for options in (["--strict"], [])
        )
        return [
            Dependency(
                name,
                have.get(name, "not locked"),
                allowed.get(name, have.get(name, "unknown")),
                newest.get(name, have.get(name, "unknown")),
                tests,
            )
            for name, tests in self._gems().items()
        ]

    def _gems(self) -> dict[str, bool]:
        """The gems in the Gemfile, and whether only tests use them."""
        text = (self.folder / self.file).read_text()
        return {name: "development" in rest for name, rest in _GEM.findall(text)}

    def _debian(self) -> list[Dependency]:
        self.source = "Debian's packages, which the gems come from, by apt; RubyGems was not asked"
        if find_program("apt-cache") is None:
            raise UsageError("apt-cache is missing: gems are compared on Debian and Ubuntu only")
        found = []
        for name, tests in self._gems().items():
            have, candidate = _policy(name)
            found.append(Dependency(name, have, candidate, candidate, tests))
        return found

    def locked(self) -> dict[str, str]:
        """The gems that Bundler resolved."""
        return dict(re.findall(r"^\s+\* (\S+) \(([^)\s]+)", self.run("bundle", "list"), re.M))

    def relock(self, *, latest: bool) -> None:
        """Refuse: apt upgrades Debian's packages, for the whole machine."""
        raise TaskError(
            "its gems are Debian's packages, of the whole machine: `apt upgrade` upgrades them, "
            "and `just conform` then shows which behaviours changed"
        )


def newer(report: str) -> dict[str, str]:
    """The newer versions in the report of `bundle outdated --parseable`."""
    return dict(re.findall(r"^(\S+) \(newest ([^,\s)]+)", report, re.M))


def _policy(gem: str) -> tuple[str, str]:
    """The installed and the candidate version of a gem's Debian package."""
    dashed = gem.replace("_", "-")
    for package in (f"ruby-{dashed}", dashed):
        _, text = run_program(["apt-cache", "policy", package])
        versions = dict(re.findall(r"^\s+(Installed|Candidate): (\S+)", text, re.M))
        if versions.get("Candidate", "(none)") != "(none)":
            return versions["Installed"], versions["Candidate"]
    return "unknown", "unknown"
