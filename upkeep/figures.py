"""``just figures``: figures in Markdown that come from published results.

A figure stands between two comments, which the page does not show::

    <!-- figure: MACHINE/WORKLOAD SERVER/DEPLOYMENT LEVEL FIGURE -->1,234<!-- /figure -->

FIGURE is one of :data:`bench.figures.FIGURES`. Options follow it: ``interval`` adds the interval;
``case="2 workers"`` names a case, if there are several; ``per=SERVER/DEPLOYMENT`` gives the ratio
to another server, with its interval (``plain`` leaves that out), and ``per-result=``,
``per-level=`` and ``per-case=`` say where that one was measured, if elsewhere.

A table of all servers at a level, by falling rate::

    <!-- table: MACHINE/WORKLOAD LEVEL FIGURE,FIGURE -->
    <!-- /table -->

with the options ``case=`` and ``servers=A,B``. In ``docs/``, a number with a unit of a figure must
be inside of such comments, or of those that say where it is quoted from::

    <!-- quoted: SOURCE -->900 requests/s<!-- /quoted -->

Code is left alone.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.figures import FIGURES, Row, ratio, rows_of
from bench.words import figure_text
from harness.errors import UsageError
from harness.paths import ROOT
from harness.writing import write_whole
from upkeep.reference import published

_MARKED = re.compile(
    r"<!-- (?P<kind>figure|table): (?P<words>.*?) -->(?P<text>.*?)<!-- /(?P=kind) -->", re.S
)
_QUOTED = re.compile(r"<!-- quoted: .*?-->.*?<!-- /quoted -->", re.S)
_STRAY = re.compile(r"<!-- /?(?:figure|table|quoted)\b.*?-->", re.S)
_CODE = re.compile(r"^(```+).*?^\1[^\n]*$|(`+)[^`]+?\2", re.S | re.M)
_TARGET = re.compile(r"\]\([^)\s]*\)|<https?:[^>]*>")
_UNMARKED = re.compile(
    r"(?<![\w.,])\d[\d,.]*(?:\s|&nbsp;)*(?:requests/s|µs|ms|MB|times|×)(?!\w)|×(?:\s|&nbsp;)*\d[\d.]*"
)


@dataclass(frozen=True)
class Wrong:
    """A place in a text that does not agree with the published results."""

    path: Path
    line: int
    what: str

    def __str__(self) -> str:
        """``docs/claims.md:12: what is wrong``."""
        return f"{self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path}" + (
            f":{self.line}: {self.what}"
        )


def texts(root: Path = ROOT) -> list[Path]:
    """The texts that have figures."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def update(path: Path) -> bool:
    """Write the figures of a text; return whether one changed."""
    text = path.read_text(encoding="utf-8")
    new, wrong = filled(text, path)
    if wrong:
        raise UsageError("\n".join(map(str, wrong)))
    if new != text:
        write_whole(path, new)
    return new != text


def check(path: Path, *, strict: bool) -> list[Wrong]:
    """What is wrong in a text; ``strict`` also finds figures that come from no result."""
    text = path.read_text(encoding="utf-8")
    new, wrong = filled(text, path)
    for before, after in zip(_marked(text), _marked(new), strict=True):
        if before["text"] != after["text"]:
            what = f"{before['words']} is {_short(after)}, not {_short(before)}: run `just figures`"
            wrong.append(Wrong(path, _line(text, before.start()), what))
    if strict:
        wrong += _unmarked(text, path)
    return sorted(wrong, key=lambda one: one.line)


def filled(text: str, path: Path) -> tuple[str, list[Wrong]]:
    """The text with its figures as they should be, and the markers that cannot be filled."""
    parts, wrong, end = [], [], 0
    for found in _marked(text):
        try:
            content = (_figure if found["kind"] == "figure" else _table)(found["words"])
        except UsageError as error:
            wrong.append(Wrong(path, _line(text, found.start()), str(error)))
            content = found["text"]
        parts += [text[end : found.start("text")], content]
        end = found.end("text")
    rest = _QUOTED.sub(_blank, _MARKED.sub(_blank, _without_code(text)))
    for stray in _STRAY.finditer(rest):
        what = f"{stray[0]} has no counterpart"
        wrong.append(Wrong(path, _line(text, stray.start()), what))
    return "".join([*parts, text[end:]]), wrong


def _marked(text: str) -> Iterator[re.Match[str]]:
    """The markers outside of code."""
    masked = _without_code(text)
    for found in _MARKED.finditer(text):
        if masked[found.start() : found.start() + 4] == "<!--":
            yield found


def _without_code(text: str) -> str:
    return _CODE.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    """As many characters, on as many lines."""
    return re.sub(r"[^\n]", " ", found[0])


def _unmarked(text: str, path: Path) -> Iterator[Wrong]:
    rest = _without_code(text)
    for pattern in (_MARKED, _QUOTED, _TARGET):
        rest = pattern.sub(_blank, rest)
    for found in _UNMARKED.finditer(rest):
        what = (
            f"{found[0].strip()} comes from no result: put it between `<!-- figure: … -->` and "
            "`<!-- /figure -->`, or `<!-- quoted: SOURCE -->` and `<!-- /quoted -->`"
        )
        yield Wrong(path, _line(text, found.start()), what)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _short(found: re.Match[str]) -> str:
    return found["text"].strip() if found["kind"] == "figure" else "another table"


def _figure(words: str) -> str:
    given, options = _words(
        words, 4, {"interval", "plain"}, "per per-result per-level per-case case"
    )
    result, server, level, figure = given
    row = _row(result, server, level, options.get("case"))
    value, low, high = _estimate(result, row, figure)
    if "per" in options:
        base = options.get("per-result", result)
        case = options.get("per-case", options.get("case"))
        other = _row(base, options["per"], options.get("per-level", level), case)
        around = _ratio((value, low, high), _estimate(base, other, figure))
        if base == result and (row.case, row.level) == (other.case, other.level):
            found = ratio(published(result), (row.case, row.level), figure, server, other.target)
            around = (found.value, found.low, found.high) if found else around
        return _ratio_text(around, "plain" not in options)
    if "interval" in options and low is not None and high is not None:
        return f"{_text(value)} ({_text(low)} to {_text(high)})"
    return _text(value)


_Interval = tuple[float | None, float | None, float | None]


def _ratio(one: _Interval, other: _Interval) -> tuple[float, float | None, float | None]:
    """A ratio of figures that share no table; its interval holds wherever both intervals hold."""
    (value, low, high), (base, base_low, base_high) = one, other
    if value is None or not base:
        raise UsageError("there is no ratio to a figure that is over the timeout, or 0")
    if low is None or high is None or not base_low or not base_high:
        return value / base, None, None
    return value / base, low / base_high, high / base_low


def _ratio_text(ratio: tuple[float, float | None, float | None], interval: bool) -> str:
    value, low, high = ratio
    if interval and low is not None and high is not None:
        return f"{value:.2f} ({low:.2f} to {high:.2f})"
    return f"{value:.2f}"


def _table(words: str) -> str:
    (result, level, names), options = _words(words, 3, set(), "case servers")
    figures = names.split(",")
    rows = _rows(result, level, options.get("case"))
    if "servers" in options:
        known = {row.target: row for row in rows}
        if unknown := [name for name in options["servers"].split(",") if name not in known]:
            raise UsageError(f"{result} has no {unknown[0]} at {level}")
        rows = [known[name] for name in options["servers"].split(",")]
    head = ["Server", *(f"{_title(name)}" for name in figures)]
    lines = [head, ["---", *("---:" for _ in figures)]]
    for row in rows:
        cells = []
        for name in figures:
            value, low, high = _estimate(result, row, name)
            around = "" if low is None or high is None else f" ({_text(low)} to {_text(high)})"
            cells.append(_text(value) + around)
        lines.append([row.target, *cells])
    return "\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _title(name: str) -> str:
    figure = _known(name)
    return f"{FIGURES[figure].title}, {FIGURES[figure].unit}"


def _words(text: str, count: int, flags: set[str], names: str) -> tuple[list[str], dict[str, str]]:
    """The positional words of a marker, and its options."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text}: {error}") from error
    given, options = words[:count], {}
    for word in words[count:]:
        name, equals, value = word.partition("=")
        if not (name in names.split() if equals else name in flags):
            raise UsageError(f"{text}: unknown option {word!r}")
        options[name] = value
    if len(given) < count:
        raise UsageError(f"{text}: {count} words are needed, as upkeep/figures.py explains")
    return given, options


def _known(figure: str) -> str:
    if figure not in FIGURES:
        raise UsageError(f"there is no figure {figure!r}, only {', '.join(FIGURES)}")
    return figure


def _rows(result: str, level: str, case: str | None) -> list[Row]:
    """The rows of a published result, at one level in one case."""
    run = published(result)
    cases = [one.name for one in run.workload.case]
    if case is None and len(cases) > 1:
        raise UsageError(f"{result} has several cases: add case=… of {', '.join(cases)}")
    at = [row for row in rows_of(run) if f"{row.level:g}" == level]
    found = [row for row in at if row.case == (case or cases[0])]
    if not found:
        raise UsageError(f"{result} has nothing at level {level} in case {case or cases[0]!r}")
    return found


def _row(result: str, server: str, level: str, case: str | None) -> Row:
    for row in _rows(result, level, case):
        if row.target == server:
            return row
    raise UsageError(f"{result} has no {server} at level {level}")


def _estimate(result: str, row: Row, figure: str) -> _Interval:
    """A figure with its interval; no value if it is over the timeout."""
    _known(figure)
    found = row.estimates.get(figure)
    if found is not None:
        return row.value(figure), found.low, found.high
    if FIGURES[figure].unit == "ms":
        return None, None, None
    raise UsageError(f"{result} has no {figure}")


def _text(value: float | None) -> str:
    return "over the timeout" if value is None else figure_text(value)
