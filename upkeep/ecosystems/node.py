"""Node.js: npm, with package.json and package-lock.json."""

import json
from typing import Any

from upkeep.ecosystems.base import Dependency, Ecosystem

_QUIET = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


class Npm(Ecosystem):
    """A package that npm has locked."""

    file = "package-lock.json"
    source = "npm packages, by npm"

    def dependencies(self) -> list[Dependency]:
        """Compare package-lock.json with what `npm outdated` reports."""
        wanted = self._package()
        # npm leaves packages out that are installed and current.
        report = self.run("npm", "outdated", "--json", "--loglevel=silent", accept=(0, 1))
        newer: dict[str, Any] = json.loads(report or "{}")
        have = self.locked_all()
        found = []
        for section in ("dependencies", "devDependencies"):
            for name in wanted.get(section, {}):
                known = newer.get(name, {})
                found.append(
                    Dependency(
                        name,
                        have.get(name, "not locked"),
                        known.get("wanted", have.get(name, "unknown")),
                        known.get("latest", have.get(name, "unknown")),
                        tests=section == "devDependencies",
                    )
                )
        return found

    def locked(self) -> dict[str, str]:
        """The packages that are not for development only."""
        return self._packages(lambda one: not one.get("dev"))

    def locked_all(self) -> dict[str, str]:
        """All locked packages."""
        return self._packages(lambda _: True)

    def _packages(self, wanted: Any) -> dict[str, str]:
        lock = json.loads((self.folder / "package-lock.json").read_text())
        return {
            path.removeprefix("node_modules/"): one["version"]
            for path, one in lock["packages"].items()
            if path and "version" in one and wanted(one)
        }

    def _package(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "package.json").read_text())
        return content

    def relock(self, *, latest: bool) -> None:
        """Update package-lock.json, and package.json if constraints move."""
        if not latest:
            self.run("npm", "update", "--package-lock-only", *_QUIET)
            return
        for section, option in (("dependencies", "--save"), ("devDependencies", "--save-dev")):
            if names := self._package().get(section):
                newest = [f"{name}@latest" for name in names]
                self.run("npm", "install", "--package-lock-only", option, *_QUIET, *newest)
