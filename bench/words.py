"""Numbers and loads as people read them."""

from collections.abc import Iterable
from math import floor, log10

from bench.statistics import Estimate
from bench.workload import UNITS, Case, Load, Settings


def figure_text(value: float | None) -> str:
    """Three significant digits at least, thousands apart; a dash for what is not known."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    places = max(0, 2 - floor(log10(abs(value))))
    return f"{value:,.{min(places, 3)}f}"


def interval_text(told: Estimate | None) -> str:
    """``4,100 (4,020 to 4,190)``; without what is not known."""
    if told is None:
        return "–"
    median = figure_text(told.median)
    if told.low is None or told.high is None:
        return median
    return f"{median} ({figure_text(told.low)} to {figure_text(told.high)})"


def number(value: float) -> str:
    """The same without zeros at the end."""
    told = figure_text(value)
    return told.rstrip("0").rstrip(".") if "." in told else told


def listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def at_level(load: Load, level: float) -> str:
    """``200 connections``."""
    unit = UNITS[load.model]
    return f"{number(level)} {unit.replace('connections', 'connection') if level == 1 else unit}"


def load_words(load: Load) -> str:
    """The levels of a load, and how long each lasts."""
    levels = f"{listed(map(number, load.levels))} {UNITS[load.model]}"
    if load.requests:
        lasting = f"{number(load.requests)} requests in all"
    elif isinstance(load.duration, list):
        lasting = f"for {listed(number(one) for one in load.duration)} s"
    else:
        lasting = f"for {number(load.duration or 0)} s" + (" each" if len(load.levels) > 1 else "")
    calls = f", {load.calls} requests each" if load.model == "connection rate" else ""
    return f"{levels}{calls}, {lasting}"


def settings_words(settings: Settings | dict[str, str]) -> str:
    """``WORKERS=1 THREADS=2``."""
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "as they come"


def case_words(case: Case) -> str:
    """``2 workers: WORKERS=2``; settings that are a case's name are not said twice."""
    settings = settings_words(case.settings)
    return settings if settings == case.name else f"{case.name}: {settings}"


def warmup_words(seconds: float | None) -> str:
    """What comes before each measurement."""
    if seconds is None:
        return "after as much load as each server needs to warm up"
    return f"after {number(seconds)} s of load" if seconds else "without load before"
