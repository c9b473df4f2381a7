"""Ends tasks with a message and an exit status, on errors and on signals."""

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import NoReturn, ParamSpec

import click

from harness.errors import TaskError, UsageError
from harness.system import processes
from harness.system.scratch import remove_scratch

P = ParamSpec("P")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Seconds in which more signals count as one: a group's, and the same one that just forwards
_ECHO = 0.5
_TEARDOWN = 30  # Seconds after which a teardown is given up

# What to do if a file cannot be read or written
_ADVICE = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room on the disk") | dict.fromkeys(
    (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR),
    "name another file, or change this one",
)


class Interrupt(KeyboardInterrupt):
    """A signal that ends the task."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


def reports_errors(task: Callable[P, None]) -> Callable[P, None]:
    """Turn a :class:`TaskError` into one message and its exit status, and a signal into 128 + N.

    SIGINT, SIGTERM, SIGHUP or the death of its parent (:mod:`harness.quiet`) ends a task with an
    orderly teardown; a second signal ends it at once.
    """

    @wraps(task)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _interruptible():
                task(*args, **kwargs)
        except TaskError as error:
            _fail(str(error), error.exit_code)
        except OSError as error:
            if error.errno not in _ADVICE:
                raise
            what = f"{error.filename or 'a file'}: {error.strerror}: {_ADVICE[error.errno]}"
            _fail(what, UsageError.exit_code)
        except Interrupt as interrupt:
            remove_scratch()
            sys.exit(interrupt.exit_code)

    return wrapped


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise :class:`Interrupt` on signals in the block, unless nohup or a shell ignores them.

    Those are ignored by a handler: the processes that the task starts must not inherit SIG_IGN.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    interrupt = _Interrupter()
    for number, handler in before.items():
        ignored = handler == signal.SIG_IGN and number != signal.SIGTERM
        signal.signal(number, (lambda *_: None) if ignored else interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Interrupter:
    """The handler of signals that end a task. It can be entered again, as it takes no lock."""

    _first: float | None = None

    def __call__(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now
            signal.signal(signal.SIGALRM, lambda *_: _end_at_once(number))
            signal.alarm(_TEARDOWN)
            processes.interrupt()
            raise Interrupt(number)
        if now - self._first > _ECHO:
            _end_at_once(number)


def _end_at_once(number: int, _: FrameType | None = None) -> NoReturn:
    processes.interrupt()
    processes.kill_all()
    remove_scratch()
    os._exit(128 + number)


def end_at_once_on_signals() -> None:
    """On a signal, kill child processes, remove scratch folders and exit.

    For the processes that run the suite: their threads cannot be interrupted one by one.
    """
    for number in _SIGNALS:
        signal.signal(number, _end_at_once)


def _fail(message: str, status: int) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(status)
