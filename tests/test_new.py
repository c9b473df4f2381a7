"""`just new`: the files of a copy, its name, and bad usage."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from conformance import records
from harness.copies.new import copy_server
from harness.copies.readme import HEADING, blocks
from harness.errors import TaskError, UsageError
from harness.paths import ROOT
from harness.servers.catalog import Server, find_servers, find_target
from harness.servers.settings import SETTINGS
from harness.servers.source import count_lines, source_files
from tests.programs import execute

SERVERS = list(find_servers().values())
CODE = {
    *(".py", ".ini", ".js", ".ts", ".rb", ".go", ".java", ".scala"),
    *(".conf", ".properties", ".yaml", ".yml"),
}
SOURCED = "set -a; . ./.env; set +a"  # in the READMEs of servers that do not read .env themselves
NO_DEFAULT = {"FILES_DIR", "SLOW_API_URL", "APPLICATION_SECRET", "LC_ALL", "ALLOWED_HOSTS"}

each_server = pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)


def server_of(name: str) -> Server:
    return find_target(name).server


def files(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found}


@each_server
def test_a_copy_has_all_that_it_needs(server: Server, tmp_path: Path) -> None:
    copy_server(server, tmp_path)
    found = files(tmp_path)
    own = {path.relative_to(server.folder).as_posix() for path in source_files(server.folder)}
    own -= {file for one in server.manifest.deployment for file in one.files}
    added = found - own
    assert own <= found
    assert {".gitignore", ".env.example", "README.md", "server.toml"} <= own
    assert {"LICENSE", "fixtures/files/photo.jpg"} <= added
    databases = {"compose.yaml", "fixtures/mongodb.js", "fixtures/agents.sql"}
    assert databases & added == (set() if server.name == "nginx" else databases)
    assert "](../" not in (tmp_path / "README.md").read_text()


def test_a_copy_has_no_deployment_of_published_benchmarks_alone(tmp_path: Path) -> None:
    flask = server_of("flask")
    copy_server(flask, tmp_path)
    copy = find_target(str(tmp_path)).server
    assert [one.name for one in copy.manifest.deployment] == ["gunicorn", "gunicorn-gevent"]
    assert {path.name for path in source_files(flask.folder)} - files(tmp_path) >= {"uwsgi.ini"}
    assert records.read(copy).keys() == {"gunicorn", "gunicorn-gevent"}
    text = (tmp_path / "README.md").read_text()
    assert not re.search("only here|`uwsgi`", text)
    assert "`chunk-size-with-sign`" in text


def test_lines_are_those_of_a_copy() -> None:
    flask = server_of("flask")
    all_copied = flask.manifest.model_copy(update={"deployment": flask.manifest.deployment[:1]})
    left_out = [flask.folder / file for one in flask.manifest.deployment for file in one.files]
    text = "".join(file.read_text() for file in left_out if file.parent.name != "tests")
    lines = sum(bool(line.strip()) for line in text.splitlines())
    assert count_lines(replace(flask, manifest=all_copied)) - count_lines(flask) == lines > 0


@each_server
def test_the_settings_of_a_copy_are_those_that_its_server_reads(server: Server) -> None:
    example = (server.folder / ".env.example").read_text()
    settings = dict(re.findall(r"^([A-Z_]+)=(.*)$", example, re.MULTILINE))
    explained = re.findall(r"^# .+\n([A-Z_]+)=", example, re.MULTILINE)
    assert explained == list(settings)
    code = "\n".join(
        path.read_text()
        for path in source_files(server.folder)
        if path.suffix in CODE
        and not {"test", "tests", "spec"} & set(path.relative_to(server.folder).parts)
    )
    # FastAPI's settings have names in lower case.
    names = code.upper() if "BaseSettings" in code else code
    read = {name for name in SETTINGS if re.search(rf"\b{name}\b", names)}
    assert set(settings) & set(SETTINGS) == read
    if server.name != "nginx":  # its configuration has no defaults
        wrong = {name for name, value in settings.items() if value not in code}
        assert wrong <= NO_DEFAULT


@each_server
def test_readmes_say_in_the_same_words_how_to_run_a_copy(server: Server) -> None:
    readme = (server.folder / "README.md").read_text()
    headings = re.findall(r"^## .*", readme, re.MULTILINE)
    assert headings == [HEADING, "## Settings that are not defaults", "## What to know"]
    install, run, test, *others = blocks(readme)
    assert install[-1] == "cp .env.example .env"
    assert ("docker compose up --detach --wait" in install) == (server.name != "nginx")
    assert (run[0] == SOURCED) == (SOURCED in test)
    assert len(others) == (len(server.manifest.deployment) > 1)


@pytest.mark.parametrize(
    ("server", "own", "file", "place"),
    [
        ("express", "Express", "README.md", "# {}\n"),
        ("starlette", "starlette-server", "pyproject.toml", 'name = "{}"\n'),
        ("express", "express-reference-server", "package.json", '"name": "{}"'),
        ("express", "express-reference-server", "package-lock.json", '"name": "{}"'),
        ("play", "play", "README.md", "stage/bin/{} "),
        ("play", "play", "server.toml", "stage/bin/{}"),
        ("play", "play", "build.sbt", 'name := "{}"'),
        ("play", "play", "Dockerfile", 'CMD ["bin/{}"]'),
        ("spring", "server", "pom.xml", "<artifactId>{}</artifactId>"),
        ("net-http", "net-http", "go.mod", "module example.com/{}\n"),
    ],
)
def test_a_name_stands_wherever_a_language_has_one(
    server: str, own: str, file: str, place: str, tmp_path: Path
) -> None:
    copy_server(server_of(server), tmp_path, "my-service")
    before, after = ((one / file).read_text() for one in (server_of(server).folder, tmp_path))
    assert before.count(place.format(own)) == after.count(place.format("my-service")) > 0
    assert place.format(own) not in after


@pytest.mark.parametrize(
    ("server", "name", "reason"),
    [
        ("express", "My-Service", "lower-case"),
        ("express", "x" * 215, "214"),
        ("express", "mongodb", "a package that express uses"),
        ("play", "my_service", "words joined by -"),
        ("eventmachine", "../there", "letters and digits"),
        ("nginx", "a\nb", "letters and digits"),
    ],
)
def test_a_name_that_the_language_cannot_take_is_refused(
    server: str, name: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=reason):
        copy_server(server_of(server), tmp_path / "copy", name)
    assert list(tmp_path.iterdir()) == []


def test_only_a_new_or_empty_folder_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for target in (tmp_path, file):
        with pytest.raises(UsageError, match="new or empty"):
            copy_server(server_of("tornado"), target)
    with pytest.raises(TaskError, match="cannot write"):
        copy_server(server_of("tornado"), file / "copy")
    assert files(tmp_path) == {"file"}


def test_an_interrupt_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = []

    def copy2(source: Path, target: Path) -> None:
        copied.append(source)
        if len(copied) == 10:
            raise KeyboardInterrupt
        shutil.copy(source, target)

    monkeypatch.setattr("harness.copies.new.shutil.copy2", copy2)
    with pytest.raises(KeyboardInterrupt):
        copy_server(server_of("tornado"), tmp_path / "a" / "b" / "copy")
    assert list(tmp_path.iterdir()) == []


def test_a_copy_from_outside_a_git_checkout(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    copy_server(server_of("tornado"), first)
    (first / ".env").write_text("DATABASE_URL=postgresql://me:secret@127.0.0.1/mine\n")
    (first / ".venv" / "bin").mkdir(parents=True)
    (first / ".venv" / "bin" / "python").touch()
    (first / "fixtures" / "files" / "mine.txt").touch()
    copy_server(find_target(str(first)).server, second)
    assert files(second) == files(first) - {".env", ".venv/bin/python"}


def test_the_task_takes_a_path_from_where_it_is_called(tmp_path: Path) -> None:
    command = (ROOT / "just", "new", "tornado", "mine/copy", "--name", "my-service")
    done = execute(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    readme = (tmp_path / "mine" / "copy" / "README.md").read_text()
    install, run = (" && ".join(block) for block in blocks(readme)[:2])
    commands = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert commands == ["cd mine/copy", install, run]
