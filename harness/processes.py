"""Child processes that never outlive what started them."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from harness.errors import UsageError

GRACE = 12.0
"""Seconds from asking a process group to stop to killing it: the contract's 10 and a margin."""

_PR_SET_PDEATHSIG = 1


def _signal_when_parent_dies(signum: int) -> Callable[[], None] | None:
    """What a new child runs so that it gets ``signum`` if this process is killed (prctl(2))."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def arrange() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):  # ignored below nohup, and inherited
            signal.signal(number, signal.SIG_DFL)
        prctl(_PR_SET_PDEATHSIG, signum)
        if os.getppid() != parent:
            os.kill(os.getpid(), signum)

    return arrange


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    output: IO[str] | int | None = None,
    errors: IO[str] | int | None = None,
    user: str | None = None,
    keep_open: Sequence[int] = (),
    stop_signal: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start ``argv`` as the leader of a session of its own.

    ``output`` takes stdout, and stderr too unless ``errors`` does; ``keep_open`` are file
    descriptors that it inherits; ``stop_signal`` reaches it if this process dies.
    """
    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors or (subprocess.STDOUT if output is not None else None),
            user=user,
            pass_fds=keep_open,
            start_new_session=True,
            preexec_fn=_signal_when_parent_dies(stop_signal),
        )
    except FileNotFoundError as error:
        raise UsageError(f"cannot run {argv[0]}: there is no such program") from error


def stop(
    process: subprocess.Popen[bytes],
    *,
    stop_signal: signal.Signals = signal.SIGTERM,
    grace: float = GRACE,
) -> int:
    """Stop a process from :func:`spawn` with all of its session, and give its exit status."""
    if process.poll() is None:
        process.send_signal(stop_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    kill_group(process.pid)
    return process.wait()


def kill_group(pgid: int) -> None:
    """Kill what is left of a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, signal.SIGKILL)


def wait_until(condition: Callable[[], bool], *, timeout: float, interval: float = 0.05) -> bool:
    """Poll ``condition`` until it holds; say whether it did within ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(interval)
    return True
