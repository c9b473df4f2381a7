"""Runs the suite on one server, in processes of its own."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from conformance.verdict import Check, Verdict
from harness.paths import ROOT
from harness.processes import spawn, stop

CHECKS = ROOT / "conformance" / "contract"

WAITING = (("availability", "process"), ("concurrency", "slow_api", "sleep"))
"""Parts whose checks mostly wait: each group is run beside the rest, on an instance of its own."""

_NOTHING_TO_RUN = 5
"""The exit status of pytest when a selection leaves no check."""

Progress = Callable[[int, int, str], None]
"""Called with the checks that are done, all there are, and the name of the last."""


def examine(name: str, *, state: str, options: list[str], log: Path, progress: Progress) -> Verdict:
    """Run every check on ``name`` (``NAME/DEPLOYMENT`` or an address) and tell what was found."""
    run = _Run(name, Verdict(name, state), options, log, progress)
    every = sorted(path.stem.removeprefix("test_") for path in CHECKS.glob("test_*.py"))
    waiting = {part for group in WAITING for part in group}
    groups = (*WAITING, tuple(part for part in every if part not in waiting))
    with ThreadPoolExecutor(len(groups)) as pool:
        list(pool.map(run.check, groups))
    run.verdict.checks.sort(key=lambda check: every.index(check.part))
    return run.verdict


class _Run:
    def __init__(
        self, name: str, verdict: Verdict, options: list[str], log: Path, progress: Progress
    ) -> None:
        self.name, self.verdict, self.options = name, verdict, options
        self.log, self.progress = log, progress
        self.total = 0
        self.lock = Lock()

    def check(self, parts: tuple[str, ...]) -> None:
        """Run the checks of these parts and add what they find to the verdict."""
        files = [str(CHECKS / f"test_{part}.py") for part in parts]
        command = [
            *(sys.executable, "-m", "pytest", *files, "--target", self.name, "--capture=no"),
            *("--assert", "plain", "-p", "no:terminal", "-p", "no:cacheprovider"),
            *("--timeout", "60", *self.options),
        ]
        log = self.log.with_suffix(f".{parts[0]}.log")
        with log.open("w") as told:
            process = spawn(command, cwd=ROOT, env=os.environ, output=subprocess.PIPE, errors=told)
        try:
            self._follow(process)
            status = process.wait()
        finally:
            stop(process)
        with self.lock:
            explained = self.verdict.error or (status == 1 and self.verdict.failures)
            if status not in (0, _NOTHING_TO_RUN) and not explained:
                last = log.read_text(errors="replace").strip().splitlines()[-12:]
                self.verdict.error = "\n".join([f"the suite ended with status {status}", *last])

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            with self.lock:
                self._take(event)

    def _take(self, event: dict[str, object]) -> None:
        verdict = self.verdict
        match event:
            case {"event": "collected", "count": int(count), "left_out": list(left_out)}:
                self.total += count
                verdict.left_out = dict(Counter(verdict.left_out) + Counter(left_out))
            case {"event": "fingerprint", "value": str(value)}:
                verdict.fingerprint = value
            case {"event": "error", "message": str(message)}:
                verdict.error = message
            case {"event": "check"}:
                told = {name: event[name] for name in Check.__dataclass_fields__}
                verdict.checks.append(Check(**told))  # type: ignore[arg-type]
                self.progress(len(verdict.checks), self.total, str(event["name"]))
