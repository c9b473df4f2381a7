"""h2load's log: a line for each request that ended."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.generators.interface import WINDOWS
from bench.records.histogram import Histogram

# What h2load writes for a response without a reason phrase (RFC 9112, section 4), with which its
# parser reports the status. The length of all bodies tells such errors.
_UNSEEN = 0

# Bytes that are read at once: the log of a fast server has hundreds of megabytes
_CHUNK = 16_000_000


class Log:
    """What a log says. Its columns are start (µs since the epoch), status and duration (µs)."""

    def __init__(
        self,
        path: Path,
        timeout: float,
        statuses: Sequence[int] = (200,),
        judged: tuple[float, float] = (0.0, math.inf),
    ) -> None:
        """``timeout`` in seconds; ``statuses`` are those of good responses.

        ``judged`` are the seconds after the first request from which and before which one has to
        start for its response time to count.
        """
        self.good = Histogram()
        self.judged = self.good if judged == (0.0, math.inf) else Histogram()
        self._from, self._before = (1e6 * one for one in judged)
        self.late = 0  # Answered well, but too late
        self.refused = 0  # Answered with another status
        self.ended = 0  # All requests in the log
        # When the first request began and the last one ended (µs since the epoch)
        self.first = self.last = 0
        self._timeout, self._statuses = timeout * 1e6, [*statuses, _UNSEEN]
        self._ends: Counter[int] = Counter()  # Good responses by the millisecond of their end
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                self._add(chunk + file.readline())

    def _add(self, lines: bytes) -> None:
        began, status, took = np.fromstring(lines, np.int64, sep=" ").reshape(-1, 3).T
        ended = began + took
        self.first = min(self.first or began.min(), int(began.min()))
        self.last = max(self.last, int(ended.max()))
        self.ended += len(began)
        right, in_time = np.isin(status, self._statuses), took <= self._timeout
        good = right & in_time
        self.late += int(np.count_nonzero(right & ~in_time))
        self.refused += int(np.count_nonzero((status >= 0) & ~right))
        self.good.add(took[good])
        if self.judged is not self.good:
            since = began[good] - self.first
            self.judged.add(took[good][(since >= self._from) & (since < self._before)])
        when, counts = np.unique(ended[good] // 1000, return_counts=True)
        self._ends.update(dict(zip(when.tolist(), counts.tolist(), strict=True)))

    @property
    def seconds(self) -> float:
        """The time from the first request to the end of the last."""
        return (self.last - self.first) / 1e6

    def windows(self, seconds: float) -> list[int]:
        """Good responses in each whole window since the first request."""
        length = 1000 // WINDOWS
        found = [0] * int(seconds * WINDOWS)
        for end, count in self._ends.items():
            window = (end - self.first // 1000) // length
            if window < len(found):
                found[window] += count
        return found
