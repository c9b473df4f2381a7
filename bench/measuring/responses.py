"""Compares responses with the contract, during the load and after it.

Sampled responses are compared byte for byte; the sum of all lengths is a check on every response.
"""

import json
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import spec
from bench.generators.interface import LoadResult
from bench.records.measurement import Checked
from bench.workloads.workload import Workload
from conformance.expect import Mismatch, answer, holds, problem
from conformance.http import Garbled, NoAnswer, Request, Response
from conformance.subject import Subject
from harness.errors import TaskError
from spec import Expected

_FILES = ("/files/", "/gridfs/")
_MOST_AFTER = 20  # The most paths that are requested again after the load
_RECOVERY = 20.0  # Seconds until a server must answer again after the load
_REFUSALS = (502, 503, 504)  # The contract's statuses of a server that cannot answer now


class WrongAnswer(TaskError):
    """A response broke the contract: the server gets no figure."""


class Sampler:
    """Sends a few requests of a workload to a server, and checks the responses."""

    def __init__(
        self, subject: Subject, workload: Workload, files: Path, paths: Sequence[str]
    ) -> None:
        """``files`` is the folder of those that the server serves."""
        self._subject, self._workload, self._files, self._paths = subject, workload, files, paths
        self._request = partial(Request)
        if body := workload.body.encode():
            json = (("Content-Type", "application/json"),)
            self._request = partial(Request, method="POST", headers=json, body=body)
        self._known: dict[str, Expected] = {}
        self.checked = Checked(during=0, after=0, unanswered=0)
        self._over = threading.Event()

    def ask(self, path: str, timeout: float = 2.0) -> bool:
        """Whether the server answered, and did not refuse; raises if the response is wrong."""
        try:
            return self._answers(path, self._subject.ask(self._request(path), timeout=timeout))
        except (OSError, NoAnswer):
            return False
        except Garbled as garbled:
            raise WrongAnswer(str(garbled)) from garbled
        except Mismatch as wrong:
            raise WrongAnswer(f"{wrong}\nrepeat    {wrong.repeat}") from wrong

    def _answers(self, path: str, response: Response) -> bool:
        if response.status in _REFUSALS:
            problem(response, *_REFUSALS)
            return False
        if self._workload.is_refused:
            problem(response, *self._workload.statuses)
        elif note := self._workload.stored:
            location = response.header("Location") or ""
            found = re.fullmatch("/notes/([0-9a-f]{24})", location)
            holds("Location", "/notes/ID", found is not None, location, response)
            answer(response, stored(note, found[1] if found else ""))
        else:
            answer(response, self._expected(path))
        return True

    def _expected(self, path: str) -> Expected:
        if path not in self._known:
            name = unquote(path.split("/")[-1])
            files = {name: (self._files / name).read_bytes()} if path.startswith(_FILES) else None
            self._known[path] = spec.expected(path, files)
        return self._known[path]

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Send requests inside the block; raise at its end if a response was wrong."""
        if not self._workload.samples:
            yield
            return
        with ThreadPoolExecutor(1) as pool:
            sampled = pool.submit(self._sample, 1 / self._workload.samples)
            try:
                yield
            finally:
                self._over.set()
        sampled.result()

    def _sample(self, interval: float) -> None:
        choose = random.Random(1)
        while not self._over.wait(interval):
            if self.ask(choose.choice(self._paths)):
                self.checked.during += 1
            else:
                self.checked.unanswered += 1

    def settle(self) -> None:
        """Wait for an answer after the warm-up: its own requests have then been dealt with."""
        if not self._is_answered(self._paths[0]):
            raise TaskError(f"no answer within {_RECOVERY:.0f} s after the warm-up")

    def recheck(self) -> None:
        """Request each path, or a random sample of many, after the load."""
        paths = random.Random(2).sample(self._paths, min(len(self._paths), _MOST_AFTER))
        for path in paths:
            if not self._is_answered(path):
                raise WrongAnswer(f"{path} is not answered {_RECOVERY:.0f} s after the load")
            self.checked.after += 1

    def _is_answered(self, path: str) -> bool:
        deadline = time.monotonic() + _RECOVERY
        while (left := deadline - time.monotonic()) > 0:
            if self.ask(path, timeout=left):
                return True
            time.sleep(0.2)
        return False


def stored(note: str, id: str) -> Expected:
    """The correct response to a new note (JSON)."""
    return Expected(201, spec.JSON, spec.json_body({"_id": id, **json.loads(note)}))


def body_sizes(paths: Sequence[str], files: Path, note: str = "") -> list[int]:
    """The length in bytes of the body due for each path, or for a note that is stored there."""
    if note:
        return [len(stored(note, "0" * 24).body)] * len(paths)
    return [
        (files / unquote(path.split("/")[-1])).stat().st_size
        if path.startswith(_FILES)
        else len(spec.expected(path).body)
        for path in paths
    ]


def require_bodies(result: LoadResult) -> None:
    """Raise if correct responses cannot have had so many bytes, or so few."""
    bodies = result.bodies
    if bodies is None or bodies.agree:
        return
    bounds = [f"at least {bodies.least}"]
    if bodies.most is not None:
        bounds.append(f"at most {bodies.most}")
    raise WrongAnswer(
        f"the bodies of all responses under load had {bodies.received} bytes, and should have had "
        f"{' and '.join(bounds)}: some were wrong"
    )
