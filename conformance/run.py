"""Runs the suite on one server, in a process of its own."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from conformance.verdict import Check, Verdict
from harness.paths import ROOT
from harness.processes import spawn, stop

LIMIT = 600
"""Seconds that the suite may take for one deployment."""

Progress = Callable[[int, int, str], None]
"""Called with the checks that are done, all there are, and the name of the last."""


def examine(name: str, *, state: str, options: list[str], log: Path, progress: Progress) -> Verdict:
    """Run every check on ``name`` (``NAME/DEPLOYMENT`` or an address) and tell what was found."""
    verdict = Verdict(name, state)
    command = [
        *(sys.executable, "-m", "pytest", "conformance/contract", "--target", name, "--capture=no"),
        *(
            "--assert",
            "plain",
            "-p",
            "no:terminal",
            "-p",
            "no:cacheprovider",
            "--timeout",
            "60",
            *options,
        ),
    ]
    with log.open("w") as told:
        process = spawn(command, cwd=ROOT, env=os.environ, output=subprocess.PIPE, errors=told)
    try:
        _follow(process, verdict, progress)
        status = process.wait()
    finally:
        stop(process)
    if not verdict.error and (status not in (0, 1) or (status == 1 and not verdict.failures)):
        last = log.read_text(errors="replace").strip().splitlines()[-12:]
        verdict.error = "\n".join([f"the suite ended with status {status}", *last])
    return verdict


def _follow(process: subprocess.Popen[bytes], verdict: Verdict, progress: Progress) -> None:
    total = 0
    assert process.stdout is not None
    for line in process.stdout:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        match event.pop("event", None):
            case "collected":
                total = event["count"]
                verdict.left_out = dict(Counter(event["left_out"]))
            case "fingerprint":
                verdict.fingerprint = event["value"]
            case "error":
                verdict.error = event["message"]
            case "check":
                event.pop("phase")
                verdict.checks.append(Check(**event))
                progress(len(verdict.checks), total, event["name"])
