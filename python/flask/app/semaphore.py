from collections import deque
from threading import Lock


class FairSemaphore:
    """A semaphore that whoever waits for gets in turn: `threading.Semaphore` can be overtaken."""

    def __init__(self, value: int) -> None:
        self._value = value
        self._waiting: deque[Lock] = deque()
        self._lock = Lock()

    def acquire(self, timeout: float = -1) -> bool:
        """Whether it was acquired within this many seconds; -1 waits as long as it takes."""
        with self._lock:
            if self._value:
                self._value -= 1
                return True
            turn = Lock()
            turn.acquire()
            self._waiting.append(turn)
        acquired = False
        try:
            acquired = turn.acquire(timeout=timeout)
        finally:
            if not acquired:
                self._leave(turn)
        return acquired

    def release(self) -> None:
        with self._lock:
            self._pass_on()

    def _leave(self, turn: Lock) -> None:
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:  # it has come after all
                self._pass_on()

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().release()
        else:
            self._value += 1
