"""Responses that are compared with the contract while a server is under load, and after it."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import spec
from conformance.expect import Mismatch, answer, problem
from conformance.http import Garbled, NoAnswer, Response
from conformance.subject import Subject
from harness.errors import TaskError
from spec import Expected

_MOST_AFTER = 20
"""Paths that are asked for once more after the load."""
_RECOVERY = 20.0
"""Seconds that a server has to answer again after the load."""


class WrongAnswer(TaskError):
    """A server answered what the contract does not: it has no figure."""


class Contract:
    """What a correct server answers to the requests of a workload."""

    def __init__(self, files: Path) -> None:
        """Take the folder of the files that the server was given."""
        self._files = {path.name: path for path in files.iterdir()} if files.is_dir() else {}
        self._known: dict[str, Expected] = {}

    def expected(self, path: str) -> Expected:
        """The right answer."""
        if path not in self._known:
            name = unquote(path.split("/")[-1])
            file = self._files.get(name) if path.startswith(("/files/", "/gridfs/")) else None
            stored = {name: file.read_bytes()} if file else None
            self._known[path] = spec.expected(path, stored)
        return self._known[path]

    def check(self, path: str, response: Response) -> bool:
        """Whether it was answered; an error if that is not what the contract says."""
        try:
            if response.status == 503:
                problem(response, 503)
                return False
            answer(response, self.expected(path))
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
        except (OSError, NoAnswer):
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
