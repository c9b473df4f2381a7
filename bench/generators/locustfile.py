"""A load for Locust: https://docs.locust.io

Locust has one user in each worker, who runs the worker's share in greenlets of its own and keeps
the exact times, which Locust rounds. The load is a JSON file that the master reads and passes to
its workers (``--load``); the result is one line of JSON. Locust sends this file and those beside
it to workers on other machines, so they import nothing else from the repository.
"""

# mypy: disable-error-code="import-not-found, import-untyped, misc, untyped-decorator"

import gc
import json
import sys
import traceback
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import gevent
from locust import User, events, task
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner
from locust_share import ERRORS, Share


class LoadUser(User):
    """The one user of a worker."""

    @task
    def load(self) -> None:
        """Run this worker's share, and send the results to the master."""
        runner, options = self.environment.runner, self.environment.parsed_options
        workers = options.expect_workers if isinstance(runner, WorkerRunner) else 1
        gc.freeze()
        try:
            part = Share(options.load, runner.worker_index, workers).run()
        except Exception:
            part = {"failure": traceback.format_exc()}
        runner.send_message("part", part)
        raise StopUser


class Result:
    """The results of the workers, merged by the master."""

    def __init__(self, runner: Any, workers: int) -> None:
        """Expect as many parts as there are ``workers``."""
        self._runner = runner
        self._workers = workers
        self._parts: list[dict[str, Any]] = []
        runner.register_message("part", self.add)

    def add(self, msg: Any, **_: Any) -> None:
        """Add the results of one worker; print the merged result after the last."""
        if "failure" in msg.data:
            self._fail(msg.data["failure"])
            return
        self._parts.append(msg.data)
        if len(self._parts) == self._workers:
            print(json.dumps(self._merged()), flush=True)
            gevent.spawn(self._runner.quit)

    def watch(self) -> None:
        """Fail when a worker is lost."""
        while len(self._parts) < self._workers:
            if self._runner.worker_count < self._workers:
                self._fail("a worker was lost")
                return
            gevent.sleep(1)

    def _fail(self, why: str) -> None:
        print(why, file=sys.stderr, flush=True)
        self._runner.environment.process_exit_code = 1
        gevent.spawn(self._runner.quit)

    def _merged(self) -> dict[str, Any]:
        """The fields of a ``LoadResult``, and the bytes of bodies that came and were due."""
        # Imported only on the master: workers on other machines have just this file.
        from bench.records.histogram import Histogram

        good, lags = Histogram(), Histogram()
        answered: Counter[int] = Counter()
        for part in self._parts:
            good.add(array("I", part["good"]))
            lags.add(array("I", part["lags"]))
            answered.update(part["windows"])
        lag = lags.latency(0)
        seconds = max(part["seconds"] for part in self._parts)
        windows = int(seconds * self._runner.environment.parsed_options.load["windows"])
        return {
            "requests": len(good),
            "attempts": int(self._sum("attempts")),
            "seconds": seconds,
            "windows": [answered[at] for at in range(windows)],
            "errors": {kind: sum(part["errors"][kind] for part in self._parts) for kind in ERRORS},
            "received": int(self._sum("received")),
            "due": int(self._sum("due")),
            "histogram": good.encoded(),
            "lag": lag.p99 if lag else None,
            "cpu": self._sum("cpu"),
            "busiest": max(part["cpu"] / part["elapsed"] for part in self._parts),
        }

    def _sum(self, name: str) -> float:
        return sum(float(part[name]) for part in self._parts)


@events.init_command_line_parser.add_listener
def _add_arguments(parser: Any) -> None:
    parser.add_argument("--load", help="JSON file with the load (master only)")


@events.init.add_listener
def _prepare(environment: Any, runner: Any, **_: Any) -> None:
    if isinstance(runner, WorkerRunner):
        return
    options = environment.parsed_options
    options.load = json.loads(Path(options.load).read_text(encoding="utf-8"))
    if isinstance(runner, MasterRunner):
        result = Result(runner, options.expect_workers)
        events.test_start.add_listener(lambda **_: gevent.spawn(result.watch))
    else:
        Result(runner, 1)
