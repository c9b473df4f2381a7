import sys

from twisted.logger import (
    FilteringLogObserver,
    LogLevel,
    LogLevelFilterPredicate,
    globalLogBeginner,
    textFileLogObserver,
)


def log_faults() -> None:
    observer = FilteringLogObserver(
        textFileLogObserver(sys.stderr), [LogLevelFilterPredicate(LogLevel.warn)]
    )
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
