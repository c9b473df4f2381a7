"""Workloads define all that is needed to repeat a run; errors in them name the field."""

import hashlib
import zlib
from pathlib import Path
from typing import Any

import pytest

import spec
from bench.measuring.runner import serving
from bench.measuring.schedule import settings_of, trials
from bench.workloads.images import prepare
from bench.workloads.workload import Case, Changes, Images, load_workload, workload_names
from harness.errors import UsageError
from harness.servers.catalog import find_targets
from harness.services import Services

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", workload_names())
def test_a_workload_agrees_with_the_contract_and_has_a_quick_form(name: str) -> None:
    workload = load_workload(name)
    assert find_targets(tuple(workload.servers))
    if not workload.body:
        assert {spec.expected(path).status for path in workload.paths} <= {*workload.statuses}
    quick = workload.changed(workload.quick)
    seconds = [quick.load.duration_of(level) or 5 for level in quick.load.levels]
    assert sum(seconds) * quick.repeats * len(quick.case) <= 20


def test_a_server_that_is_always_one_process_is_left_out_of_cases_with_several() -> None:
    """Unless it uses all cores in that one."""
    cases = [Case(name=n, settings={"WORKERS": n, "THREADS": "8"}) for n in ("1", "4")]
    several = load_workload("text").model_copy(update={"case": cases, "repeats": 1})
    targets = serving(several, find_targets(("express", "play/play")))
    found = [(one.target, one.case) for one in trials(several, targets, seed=1)]
    assert {(target.name, case.name): settings_of(target, case) for target, case in found} == {
        ("express/express", "1"): {"THREADS": "8"},
        ("express/cluster", "1"): {"THREADS": "8", "WORKERS": "1"},
        ("express/cluster", "4"): {"THREADS": "8", "WORKERS": "4"},
        ("play/play", "1"): {"THREADS": "8"},
        ("play/play", "4"): {"THREADS": "8"},
    }


def test_servers_of_the_same_name_are_refused() -> None:
    with pytest.raises(UsageError, match="the same name"):
        serving(load_workload("text"), find_targets(("express/express",)) * 2)


VALID = """
title = "T"
about = "A"
paths = ["/index"]
[load]
model = "closed"
levels = [1]
duration = 1
[quick]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "T"', "", "title: is missing"),
        ('"/index"', '"/other"', "/other belongs to no part of the contract"),
        ('"/index"', '"index"', "paths.0: String should match pattern"),
        ('paths = ["/index"]', "", "give either paths or images"),
        ('paths = ["/index"]', 'paths = ["/index"]\nstatuses = []', "statuses: "),
        ('paths = ["/index"]', 'paths = ["/index"]\ncase = []', "case: "),
        (
            'paths = ["/index"]\n[load]\nmodel = "closed"',
            'images = {endpoint = "/files"}\n[load]\nmodel = "constant rate"',
            "images are only for the closed model",
        ),
        (
            'paths = ["/index"]\n[load]\nmodel = "closed"',
            'paths = ["/index", "/json"]\n[load]\ncalls = 1\nmodel = "connection rate"',
            "a connection rate needs as many calls as paths",
        ),
        ('"closed"', '"open"', "load.model: should be 'closed'"),
        ("[1]", "[0]", "load.levels.0: should be greater than 0"),
        ("[1]", "[1, 1]", "load: two levels are the same"),
        ("[1]", "[1.5]", "load: levels must be whole numbers of connections"),
        ("duration = 1", "", "load: give either duration or requests"),
        ("duration = 1", "duration = [1, 2]", "load: duration needs as many members as levels"),
        ("duration = 1", "duration = 1\nrate = 3", "load.rate: is not a known field"),
        ("[quick]", '[[case]]\nname = "c"\nsettings = {PORT = "1"}\n[quick]', "case.0.settings"),
        ("[quick]", '[[case]]\nname = "c"\nattack = "idle"\n[quick]', "case.0.attack: should be"),
        (
            'paths = ["/index"]',
            'paths = ["/files/a"]\ncase = [{name="c", attack="slow readers"}]',
            "give paths without files",
        ),
        ("[quick]", "[quick]\nrepeats = 0", "quick.repeats: should be greater than 0"),
        ("[load]", "[load", "not valid TOML"),
    ],
)
def test_a_mistake_is_refused_by_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in VALID
    path = tmp_path / "mine.toml"
    path.write_text(VALID.replace(old, new, 1))
    with pytest.raises(UsageError) as refused:
        load_workload(str(path))
    assert message in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    "changes", [{"levels": [7]}, {"duration": 9}, {"requests": 50}, {"timeout": 3}]
)
def test_numbers_are_overridden(changes: dict[str, Any]) -> None:
    workload = load_workload("text").changed(Changes.model_validate(changes))
    assert changes.items() <= workload.load.model_dump().items()


# Bytes of a PNG before its pixels (signature, header, length and name) and after them
_BEFORE, _AFTER = 8 + 25 + 8, 4 + 12


def test_images_are_reproducible_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.workloads.images.RUN", tmp_path)
    done: list[int] = []
    plan = Images(endpoint="/files", count=3), Services("", "", ""), done.append
    folder, targets = prepare(*plan)
    assert targets == ["/files/00000.png", "/files/00001.png", "/files/00002.png"]
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert all(5_000 <= len(image) <= 60_000 for image in first.values())
    pixels = b"".join(zlib.decompress(first[name][_BEFORE:-_AFTER]) for name in sorted(first))
    assert hashlib.sha256(pixels).hexdigest()[:16] == "f42c6ca3f305ba54"
    (folder / "00001.png").unlink()
    prepare(*plan)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    assert done == [1, 2, 3] * 2
