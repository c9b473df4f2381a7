"""``./just figures``: what texts call for.

Markdown has it between two comments, which the page does not show. The first calls one of
:data:`upkeep.functions.FUNCTIONS` in an expression of Jinja::

    <!-- {{ figure("MACHINE/WORKLOAD", "SERVER/DEPLOYMENT", 50, "rate") }} -->1,234<!-- end -->

In ``docs/``, a number with a unit of a figure must be inside of such comments, or of those that say
where it is quoted from::

    <!-- quoted: SOURCE -->900 requests/s<!-- end -->

Code is left alone. A comment that begins a line ends a paragraph (CommonMark, HTML blocks), so it
can only have a table.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from harness.errors import UsageError
from harness.paths import ROOT
from harness.system.files import write_whole
from upkeep.functions import FUNCTIONS

_JINJA = SandboxedEnvironment(undefined=StrictUndefined)
_TEXT = r"(?P<text>(?:(?!<!--).)*)<!-- end -->"
_FILLED = re.compile(r"<!-- \{\{ (?P<call>.*?) \}\} -->" + _TEXT, re.S)
_QUOTED = re.compile(rf"<!-- quoted: [^\n]*?-->{_TEXT}", re.S)
_STRAY = re.compile(r"<!-- (?:\{\{|quoted:|end\b).*?-->", re.S)
_FIRST = re.compile(r"^ *<!--(?:(?!-->).)*-->[^\n]*\S", re.S | re.M)
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
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.what}"


def texts() -> list[Path]:
    """The texts that have figures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def update(path: Path) -> bool:
    """Write the figures of a text; return whether one changed."""
    text = path.read_text(encoding="utf-8")
    new, wrong = filled(text, path)
    if wrong:
        raise UsageError("\n".join(map(str, wrong)))
    if new != text:
        write_whole(path, new)
    return new != text


def check(path: Path) -> list[Wrong]:
    """What is wrong in a text; in one of ``docs/``, also figures that come from no result."""
    text = path.read_text(encoding="utf-8")
    new, wrong = filled(text, path)
    for before, after in zip(_marked(text), _marked(new), strict=True):
        if before["text"] != after["text"]:
            what = f"{before['call']} is {_short(after)}, not {_short(before)}"
            advice = f"{what}: run `./just figures`"
            wrong.append(Wrong(path, _line(text, before.start()), advice))
    if path.parent != ROOT:
        wrong += _unmarked(text, path)
    return sorted(wrong, key=lambda one: one.line)


def filled(text: str, path: Path) -> tuple[str, list[Wrong]]:
    """The text with its figures as they should be, and the markers that cannot be filled."""
    parts, wrong, end = [], [], 0
    for found in _marked(text):
        try:
            content = _called(found["call"])
        except UsageError as error:
            wrong.append(Wrong(path, _line(text, found.start()), str(error)))
            content = found["text"]
        parts += [text[end : found.start("text")], content]
        end = found.end("text")
    rest = _QUOTED.sub(_blank, _FILLED.sub(_blank, _without_code(text)))
    for stray in _STRAY.finditer(rest):
        what = f"{stray[0]} has no counterpart"
        wrong.append(Wrong(path, _line(text, stray.start()), what))
    new = "".join([*parts, text[end:]])
    for first in _FIRST.finditer(_without_code(new)):
        what = "a comment that begins a line ends the paragraph: put a word before it"
        wrong.append(Wrong(path, _line(new, first.start()), what))
    return new, wrong


def _called(expression: str) -> str:
    try:
        return str(_JINJA.compile_expression(expression, undefined_to_none=False)(FUNCTIONS))
    except (TemplateError, TypeError, ValueError, AttributeError) as error:  # wrong arguments
        raise UsageError(f"{expression}: {error}") from error


def _marked(text: str) -> Iterator[re.Match[str]]:
    """The markers outside of code."""
    masked = _without_code(text)
    for found in _FILLED.finditer(text):
        if masked[found.start() : found.start() + 4] == "<!--":
            yield found


def _without_code(text: str) -> str:
    return _CODE.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    """As many characters, on as many lines."""
    return re.sub(r"[^\n]", " ", found[0])


def _unmarked(text: str, path: Path) -> Iterator[Wrong]:
    rest = _without_code(text)
    for pattern in (_FILLED, _QUOTED, _TARGET):
        rest = pattern.sub(_blank, rest)
    for found in _UNMARKED.finditer(rest):
        what = (
            f"{found[0].strip()} comes from no result: put it between `<!-- {{ figure(…) }} -->` "
            "or `<!-- quoted: SOURCE -->`, and `<!-- end -->`"
        )
        yield Wrong(path, _line(text, found.start()), what)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _short(found: re.Match[str]) -> str:
    return "another table" if "\n" in found["text"] else found["text"].strip()
