"""The OpenAPI document: linters find no errors, and a client generated from it compiles."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import spec
from tests.npm import run

pytestmark = pytest.mark.timeout(600)

HERE = Path(__file__).parent / "openapi"
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}

Document = dict[str, Any]
Tool = Callable[[Path, Path], str]


def redocly(document: Path, _: Path) -> str:
    """The findings of Redocly's recommended rules."""
    words = ("lint", "--config", HERE / "redocly.yaml", "--format", "json", document)
    done = run(HERE, "redocly", *words, env=QUIET)
    totals = json.loads(done.stdout)["totals"]
    assert set(totals) == {"errors", "warnings", "ignored"}
    return done.stdout if any(totals.values()) else ""


def spectral(document: Path, _: Path) -> str:
    """The findings of Spectral's rules for OpenAPI."""
    words = ("lint", "--ruleset", HERE / ".spectral.yaml", "--fail-severity", "warn")
    done = run(HERE, "spectral", *words, "--format", "json", "--quiet", document)
    found = json.loads(done.stdout)
    assert (done.returncode == 0) == (not found), done.stderr
    return done.stdout if found else ""


def client(document: Path, folder: Path) -> str:
    """The compiler's errors in ``client.ts`` with types generated from the document."""
    for name in ("client.ts", "tsconfig.json", "package.json"):
        shutil.copy(HERE / name, folder)
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    made = run(HERE, "openapi-typescript", document, "-o", folder / "contract.d.ts")
    assert made.returncode == 0, made.stdout + made.stderr
    done = run(HERE, "tsc", cwd=folder)
    assert (done.returncode == 0) == (not done.stdout), done.stderr
    return done.stdout


def with_an_example_that_is_none(document: Document) -> None:
    media = document["paths"]["/sleep"]["get"]["responses"]["200"]["content"]["application/json"]
    media["example"] = {"slept_ms": "ten"}


def with_an_optional_property(document: Document) -> None:
    document["components"]["schemas"]["SlowResult"]["required"].remove("token")


@pytest.mark.parametrize("tool", [redocly, spectral, client])
def test_the_document_has_no_errors(tool: Tool, tmp_path: Path) -> None:
    assert tool(spec.OPENAPI, tmp_path) == ""


@pytest.mark.parametrize(
    ("tool", "breaks", "words"),
    [
        (redocly, with_an_example_that_is_none, "no-invalid-media-type-examples"),
        (spectral, with_an_example_that_is_none, "oas3-valid-media-example"),
        (client, with_an_optional_property, "Unused '@ts-expect-error'"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_error_is_found(
    tool: Tool, breaks: Callable[[Document], None], words: str, tmp_path: Path
) -> None:
    document = yaml.safe_load(spec.OPENAPI.read_text(encoding="utf-8"))
    breaks(document)
    broken = tmp_path / "openapi.yaml"
    broken.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    assert words in tool(broken, tmp_path)


def test_the_lock_names_no_registry() -> None:
    packages = json.loads((HERE / "package-lock.json").read_text())["packages"]
    assert len(packages) > 1
    assert not any("resolved" in package for package in packages.values())
