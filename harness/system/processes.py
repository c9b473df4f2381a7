"""Child processes that never outlive their parent."""

import contextlib
import os
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from harness.errors import TaskError, UsageError

GRACE = 17.0  # Seconds between the stop signal and SIGKILL: the contract's 15 and a margin
_HURRY = 2.0  # The same after this process has been interrupted
# What MongoDB's documentation recommends (UNIX ulimit Settings)
_OPEN_FILES = 64_000
_INTERVAL = 0.2  # Seconds between checks for an interrupt, while a process runs

# A shell script that runs a command unless the parent has died in the meantime
_RUN_IF_PARENT = '[ "$PPID" = "$0" ] && exec "$@"'
# A shell script that runs a command, and on SIGTERM kills it and its child processes
_RUN_AS_GROUP = 'trap "kill -KILL 0" TERM; "$@" & wait $!'

_children: set[subprocess.Popen[bytes]] = set()
_interrupted = False


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
    """Start ``argv`` as the leader of a new session.

    ``output`` receives stdout, and stderr too unless ``errors`` does; ``keep_open`` are file
    descriptors to inherit; ``stop_signal`` is sent if the calling thread dies.
    """
    if _interrupted:
        raise TaskError(f"interrupted: {argv[0]} was not started")
    _require(argv[0], cwd, env)
    process = subprocess.Popen(
        [*_bound_to_parent(stop_signal), *argv],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors or (subprocess.STDOUT if output is not None else None),
        **identity(user),
        pass_fds=keep_open,
        start_new_session=True,
    )
    _children.add(process)
    return process


def identity(user: str | None) -> dict[str, Any]:
    """The options of Popen that run a program as a user, without any group of this process's."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": ()}


def _require(program: str, cwd: Path, env: Mapping[str, str]) -> None:
    if not shutil.which(cwd / program if "/" in program else program, path=env.get("PATH")):
        raise UsageError(f"cannot run {program}: there is no such program")


def _bound_to_parent(stop_signal: signal.Signals) -> list[str]:
    """A command prefix: the command gets ``stop_signal`` when its parent dies (prctl(2))."""
    if sys.platform != "linux":
        return []
    name = stop_signal.name.removeprefix("SIG")
    return ["setpriv", "--pdeathsig", name, "/bin/sh", "-c", _RUN_IF_PARENT, str(os.getpid())]


def finish(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    keep_open: Sequence[int] = (),
) -> tuple[int, str]:
    """Run a command to completion; return its exit status and output.

    It is stopped, with its child processes, if this process is interrupted or killed.
    """
    _require(argv[0], cwd, env)
    whole = ["/bin/sh", "-c", _RUN_AS_GROUP, "sh", *argv]
    process = spawn(whole, cwd=cwd, env=env, output=subprocess.PIPE, keep_open=keep_open)
    try:
        output = output_of(process)
    finally:
        stop(process)
    return process.returncode, output.decode(errors="replace").rstrip()


def output_of(process: subprocess.Popen[bytes]) -> bytes:
    """Wait until a process ends; return its output.

    An interrupt of this process raises :class:`KeyboardInterrupt`, in other threads too.
    """
    while True:
        try:
            return process.communicate(timeout=_INTERVAL)[0]
        except subprocess.TimeoutExpired:
            if _interrupted:
                raise KeyboardInterrupt from None


def stop(
    process: subprocess.Popen[bytes],
    *,
    stop_signal: signal.Signals = signal.SIGTERM,
    grace: float = GRACE,
) -> int:
    """Stop a process started by :func:`spawn`, with its group; return its exit status."""
    try:
        if process.poll() is None:
            process.send_signal(stop_signal)
            signalled = time.monotonic()
            while process.poll() is None:
                limit = min(grace, _HURRY) if _interrupted else grace
                if time.monotonic() - signalled > limit:
                    break
                time.sleep(0.02)
    finally:
        kill_group(process.pid)
        status = process.wait()
        _children.discard(process)
    return status


def raise_limits() -> None:
    """Raise the limit of open files, of this process and those that it starts.

    Not as far as allowed: uWSGI takes memory for each file that it might open.
    """
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def ending(status: int) -> str:
    """How a process ended, by its ``returncode``."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def interrupt() -> None:
    """Start no more processes, and stop quickly. Signal handlers call it: it takes no lock."""
    global _interrupted
    _interrupted = True


def kill_all() -> None:
    """Kill every process started by :func:`spawn`, with its group."""
    for process in list(_children):
        kill_group(process.pid)


def kill_group(pgid: int) -> None:
    """Kill what is left of a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, signal.SIGKILL)


def wait_until(condition: Callable[[], bool], *, timeout: float, interval: float = 0.05) -> bool:
    """Poll ``condition`` until it holds; return whether it did within ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(interval)
    return True
