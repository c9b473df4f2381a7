"""Responses that are compared with the contract while a server is under load, and after it."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import spec
from bench.workload import part_of
from conformance.expect import JSON, TEXT, Mismatch, answer, problem
from conformance.http import Closed, Garbled, Response
from conformance.subject import Subject
from harness.errors import TaskError
from harness.upstream import token

_MOST_AFTER = 20
"""Paths that are asked for once more after the load."""
_RECOVERY = 20.0
"""Seconds that a server has to answer again after the load."""


class WrongAnswer(TaskError):
    """A server answered what the contract does not: it has no figure."""


class Contract:
    """What a correct server answers to the requests of a workload."""

    def __init__(self, files: Path) -> None:
        """Take the files that the server was given."""
        self.files = files
        self._known: dict[str, tuple[str, bytes]] = {}

    def expected(self, path: str) -> tuple[str, bytes]:
        """``Content-Type`` and body."""
        query = dict(parse_qsl(urlsplit(path).query))
        name = unquote(urlsplit(path).path.split("/")[-1])
        match part_of(path):
            case "text":
                return TEXT, b"Hello, World!"
            case "json":
                return JSON, spec.json_body({"message": "Hello, World!"})
            case "mongo":
                return JSON, spec.json_body(spec.article(query.get("doc", "small")))
            case "agents":
                return JSON, spec.json_body(spec.agents())
            case "files" | "gridfs":
                return spec.content_type(name), (self.files / name).read_bytes()
            case "sleep":
                return JSON, spec.json_body({"slept_ms": int(query.get("ms", "1000"))})
            case _:
                calls = range(int(query.get("calls", "10")))
                results = [{"call": call, "token": token(call)} for call in calls]
                return JSON, spec.json_body({"results": results})

    def check(self, path: str, response: Response) -> bool:
        """Whether it was answered; an error if that is not what the contract says."""
        try:
            if response.status == 503:
                problem(response, 503)
                return False
            if path not in self._known:
                self._known[path] = self.expected(path)
            answer(response, *self._known[path])
        except Mismatch as wrong:
            raise WrongAnswer(f"{wrong}\nrepeat    {wrong.repeat}") from wrong
        return True


class Sampler:
    """Asks a server now and then, and compares."""

    def __init__(self, subject: Subject, contract: Contract, paths: Sequence[str]) -> None:
        """Ask ``subject`` for ``paths``."""
        self.subject, self.contract, self.paths = subject, contract, paths
        self.during = self.after = self.unanswered = 0
        self.wrong: WrongAnswer | None = None
        self._over = threading.Event()

    def ask(self, path: str, timeout: float = 2.0) -> bool:
        """Whether there was an answer, and the right one."""
        try:
            return self.contract.check(path, self.subject.ask(path, timeout=timeout))
        except (OSError, Closed):
            return False
        except Garbled as garbled:
            raise WrongAnswer(str(garbled)) from garbled

    @contextmanager
    def sampling(self, a_second: float) -> Iterator[None]:
        """Ask so often for the length of the block; a wrong answer is told at its end."""
        thread = threading.Thread(target=self._sample, args=(1 / a_second,)) if a_second else None
        if thread:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            if thread:
                thread.join()
        if self.wrong:
            raise self.wrong

    def _sample(self, interval: float) -> None:
        choose = random.Random(1)
        while not self._over.wait(interval):
            try:
                if self.ask(choose.choice(self.paths)):
                    self.during += 1
                else:
                    self.unanswered += 1
            except WrongAnswer as wrong:
                self.wrong = wrong
                return

    def recheck(self) -> None:
        """Ask for each path, or for some of many, now that the load is over."""
        paths = random.Random(2).sample(self.paths, min(len(self.paths), _MOST_AFTER))
        deadline = time.monotonic() + _RECOVERY
        for path in paths:
            while not self.ask(path, timeout=_RECOVERY):
                if time.monotonic() > deadline:
                    raise WrongAnswer(f"{path} is not answered {_RECOVERY:.0f} s after the load")
                time.sleep(0.2)
            self.after += 1
