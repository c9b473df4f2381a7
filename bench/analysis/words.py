"""Numbers and loads as text for people."""

from collections.abc import Collection, Iterable
from math import floor, isinf, log10

from bench.analysis.estimates import Estimate, Kind, Ratio
from bench.workloads.load import UNITS, Load
from bench.workloads.workload import Case, Settings


def figure_text(value: float | None) -> str:
    """Three significant digits or more, to three decimals, with thousands separators; a dash if
    unknown."""
    if value is None:
        return "–"
    if isinf(value):
        return "over the timeout"
    if value == 0:
        return "0"
    if 0 < value < 0.0005:
        return "<0.001"
    places = max(0, 2 - floor(log10(abs(value))))
    return f"{value:,.{min(places, 3)}f}"


def interval_text(estimate: Estimate | None) -> str:
    """``4,100 (4,020 to 4,190)`` for an interval, ``4,100 [4,020 to 4,190]`` for the lowest and
    the highest repeat; a single repeat and an unknown figure have neither."""
    if estimate is None:
        return "–"
    value = figure_text(estimate.value)
    if estimate.kind == "single" or isinf(estimate.low):
        return value
    return f"{value} {spread_text(estimate)}"


def spread_text(estimate: Estimate) -> str:
    """``(4,020 to 4,190)`` for an interval, ``[4,020 to 4,190]`` for the lowest and the highest
    repeat."""
    spread = f"{figure_text(estimate.low)} to {figure_text(estimate.high)}"
    return f"({spread})" if estimate.kind == "interval" else f"[{spread}]"


def ratio_text(ratio: Ratio | None) -> str:
    """``0.93 (0.90 to 0.97)``; a dash if nothing is known of the noise."""
    if ratio is None:
        return "–"
    if ratio.low == ratio.high:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def kinds_words(kinds: Collection[Kind]) -> str:
    """What the figures of a run have beside them."""
    if "interval" in kinds:
        words = (
            "( to ): 95% intervals, simultaneous over the servers, metrics, cases and levels of a "
            "run. Servers with a common letter are not told apart; those that are too noisy to "
            "rank have none."
        )
        return f"{words} [ to ]: lowest to highest repeat." if "range" in kinds else words
    if "range" in kinds:
        return "[ to ]: lowest to highest repeat; too few, or too noisy, for intervals."
    return "Measured once: servers cannot be ranked."


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
