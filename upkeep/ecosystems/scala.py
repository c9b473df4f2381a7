"""Scala: sbt, whose build file pins each version; Maven's plugin knows the newer ones."""

import re
from pathlib import Path
from xml.etree import ElementTree

from harness.paths import RUN
from harness.scratch import scratch
from upkeep.ecosystems.base import Dependency, Ecosystem

_DEPENDENCY = re.compile(r'"([\w.-]+)"\s*(%+)\s*"([\w.-]+)"\s*%\s*"([^"]+)"(\s*%\s*Test)?')
_VERSIONS = "org.codehaus.mojo:versions-maven-plugin:2.16.2:display-dependency-updates"
_REPOSITORY = RUN / "maven"
"""Maven's files: the metadata that it fetches has all versions."""
_EARLY = re.compile(r"[.-](alpha|beta|milestone|rc|cr|m|snapshot|pre)[.-]?\d*(?=[.-]|$)", re.I)


class Sbt(Ecosystem):
    """A build by sbt."""

    file = "build.sbt"
    source = "Maven artifacts, by Maven; sbt pins each version, so none but its own is allowed"

    def dependencies(self) -> list[Dependency]:
        """Compare the pins with the metadata that Maven fetches."""
        coordinates = self._coordinates()
        known = _fetch(coordinates)
        return [
            Dependency(f"{group}:{name}", version, version, newest(version, versions), tests)
            for (group, name, version, tests), versions in zip(coordinates, known, strict=True)
        ]

    def _coordinates(self) -> list[tuple[str, str, str, bool]]:
        """Group, artifact and version of each direct dependency, and whether tests alone use it."""
        build = (self.folder / "build.sbt").read_text()
        scala = re.search(r'scalaVersion := "([^"]+)"', build)
        assert scala is not None
        suffix = "_" + ".".join(scala[1].split(".")[: 2 if scala[1].startswith("2") else 1])
        found = [("org.scala-lang", "scala-library", scala[1], False)]
        for group, separator, name, version, tests in _DEPENDENCY.findall(build):
            artifact = name + (suffix if len(separator) > 1 else "")
            found.append((group, artifact, version, bool(tests)))
        plugins = self.folder / "project" / "plugins.sbt"
        for group, _, name, version, _ in _DEPENDENCY.findall(plugins.read_text()):
            found.append((group, f"{name}_2.12_1.0", version, False))
        properties = (self.folder / "project" / "build.properties").read_text()
        if version := re.search(r"sbt.version=(\S+)", properties):
            found.append(("org.scala-sbt", "sbt", version[1], False))
        return found

    def locked(self) -> dict[str, str]:
        """The jars that ship."""
        lines = (self.folder / "build.sbt.lock").read_text().splitlines()
        return dict(line.split()[0].rsplit(":", 1) for line in lines if line)

    def relock(self, *, latest: bool) -> None:
        """Write build.sbt.lock; with ``latest``, move the pins of libraries and plugins first."""
        if latest:
            for one in self.dependencies():
                self._move(one)
        self.run("./sbtw", "lock")

    def _move(self, one: Dependency) -> None:
        """Move one pin; sbt and Scala stay, as other files depend on their versions."""
        name = re.sub(r"(_2\.\d+|_3)(_1\.0)?$", "", one.name.split(":")[1])
        for path in (self.folder / "build.sbt", self.folder / "project" / "plugins.sbt"):
            text = path.read_text()
            pin = re.compile(rf'("{re.escape(name)}"\s*%\s*)"{re.escape(one.have)}"')
            path.write_text(pin.sub(rf'\g<1>"{one.newest}"', text))


def _fetch(coordinates: list[tuple[str, str, str, bool]]) -> list[list[str]]:
    """All versions of each artifact."""
    with scratch("maven-project") as folder:
        project = ElementTree.Element("project")
        for tag, text in (
            *(("modelVersion", "4.0.0"), ("groupId", "any"), ("artifactId", "any")),
            ("version", "1"),
        ):
            ElementTree.SubElement(project, tag).text = text
        several = ElementTree.SubElement(project, "dependencies")
        for group, name, version, _ in coordinates:
            one = ElementTree.SubElement(several, "dependency")
            for tag, text in (("groupId", group), ("artifactId", name), ("version", version)):
                ElementTree.SubElement(one, tag).text = text
        ElementTree.ElementTree(project).write(folder / "pom.xml")
        command = ("mvn", "--quiet", "--batch-mode", "--update-snapshots", _VERSIONS)
        Sbt(folder).run(*command, f"-Dmaven.repo.local={_REPOSITORY}")
    return [
        _versions(_REPOSITORY / Path(*group.split(".")) / name) for group, name, *_ in coordinates
    ]


def _versions(folder: Path) -> list[str]:
    return [
        element.text or ""
        for path in folder.glob("maven-metadata-*.xml")
        for element in ElementTree.parse(path).iter("version")  # noqa: S314
    ]


def newest(have: str, versions: list[str]) -> str:
    """The newest version of the same kind: ``-jre`` stays ``-jre``, and no release becomes a
    prerelease."""
    early = _early(have)
    kind = _kind(have)
    same = [one for one in versions if _kind(one) == kind and (early or not _early(one))]
    return max([have, *same], key=_order)


def _early(version: str) -> bool:
    return _EARLY.search(_qualifier(version)) is not None


def _qualifier(version: str) -> str:
    return re.sub(r"^[\d.]+", "", version)


def _kind(version: str) -> str:
    """The qualifier, without the mark of a prerelease."""
    return _EARLY.sub("", _qualifier(version)).strip(".-")


def _order(version: str) -> tuple[list[int], bool, list[int]]:
    numbers = re.match(r"[\d.]*", version)
    assert numbers is not None
    release = [int(part) for part in numbers[0].split(".") if part]
    rest = [int(part) for part in re.findall(r"\d+", _qualifier(version))]
    return release, not _early(version), rest
