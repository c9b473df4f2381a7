"""Numbers and loads as text for people."""

from collections.abc import Iterable
from math import floor, log10

from bench.statistics import Estimate
from bench.workload import UNITS, Case, Load, Settings


def figure_text(value: float | None) -> str:
    """At least three significant digits, with thousands separators; a dash if unknown."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    places = max(0, 2 - floor(log10(abs(value))))
    return f"{value:,.{min(places, 3)}f}"


def interval_text(estimate: Estimate | None) -> str:
    """``4,100 (4,020 to 4,190)``; unknown parts are left out."""
    if estimate is None:
        return "–"
    median = figure_text(estimate.median)
    if estimate.low is None or estimate.high is None:
        return median
    return f"{median} ({figure_text(estimate.low)} to {figure_text(estimate.high)})"


def number(value: float) -> str:
    """Like :func:`figure_text`, without trailing zeros."""
    text = figure_text(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def at_level(load: Load, level: float) -> str:
    """``200 connections``."""
    unit = UNITS[load.model]
    return f"{number(level)} {unit.replace('connections', 'connection') if level == 1 else unit}"


def load_words(load: Load) -> str:
    """The levels of a load, and the duration of each."""
    levels = f"{listed(map(number, load.levels))} {UNITS[load.model]}"
    if load.requests:
        duration = f"{number(load.requests)} requests in all"
    elif isinstance(load.duration, list):
        duration = f"for {listed(number(one) for one in load.duration)} s"
    else:
        each = " each" if len(load.levels) > 1 else ""
        within = "in steps of" if load.model == "capacity" else "for"
        duration = f"{within} {number(load.duration or 0)} s{each}"
    calls = f", {load.calls} requests each" if load.model == "connection rate" else ""
    return f"{levels}{calls}, {duration}"


def settings_words(settings: Settings | dict[str, str]) -> str:
    """``WORKERS=1 THREADS=2``."""
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "defaults"


def case_words(case: Case) -> str:
    """``2 workers: WORKERS=2``, or just the settings if the case is named after them."""
    settings = settings_words(case.settings)
    return settings if settings == case.name else f"{case.name}: {settings}"


def warmup_words(seconds: float | None) -> str:
    """The warm-up before each measurement."""
    if seconds is None:
        return "after the warm-up that the server's manifest sets"
    return f"after {number(seconds)} s of warm-up" if seconds else "without warm-up"
