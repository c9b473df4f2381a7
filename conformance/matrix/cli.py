"""The command line."""

import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from conformance.matrix.foreign import ask_all, meet, upload_of
from conformance.matrix.page import render
from conformance.matrix.rows import Row, condensed, rows
from conformance.report import STYLES
from harness.console import result, say
from harness.errors import UsageError, listed
from harness.paths import CALLER
from harness.servers.catalog import find_targets
from harness.system.files import write_whole
from harness.task import reports_errors
from spec.behaviours import Rating, questions

_WIDTH = 100  # the most columns that are used: a pager has no more on most screens


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[NAME[/DEPLOYMENT]|DIR]...|URL")
@click.option("--group", help="Show only one group of questions, such as smuggling.")
@click.option("--all", "everything", is_flag=True, help="Also show harmless answers that all give.")
@click.option("--json", "to_json", is_flag=True, help="Print JSON.")
@click.option(
    "--page", type=click.Path(path_type=Path), help="Write an HTML page to this file instead."
)
@click.option("--post", metavar="PATH", help="For a URL: also send POST requests to this path.")
@click.option("--body", type=click.Path(path_type=Path), help="The file with their body.")
@click.option("--content-type", help="Its media type; the default comes from the file's extension.")
@click.option(
    "--fail-on",
    type=click.Choice(["risky"]),
    help="For a URL: exit status 1 if an answer is risky or missing.",
)
@reports_errors
def main(
    names: tuple[str, ...],
    group: str | None,
    everything: bool,
    to_json: bool,
    page: Path | None,
    post: str | None,
    body: Path | None,
    content_type: str | None,
    fail_on: Rating | None,
) -> None:
    """Show how stacks behave where the contract does not decide.

    The answers come from the servers' behaviours.json, written by `./just conform NAME --record`.
    Questions that servers answer differently come first, then those that all answer alike, if the
    answer is risky or slow. Each question shows the layer that usually decides it and what its RFC
    requires. Without a NAME, all servers are shown.

    A URL (http://HOST:PORT/path) is any running server: it is asked the questions that need only a
    page. It gets some 200 requests, at most 8 at once: GET, HEAD, OPTIONS and the made-up BREW for
    the path, its variants and unknown paths, many of them malformed. With --post and --body, the
    body is also sent to that path, well-formed with a length and in chunks, and then some 40 times
    in ambiguous framing, and some 20 GET requests for the page carry it, so choose one that does no
    harm. Where that gets a 500, the body `GET` is sent once, to see whether any content does.
    Nothing else is sent, no redirect is followed, and no other host is contacted. Only ask servers
    that are yours.
    """
    groups = list(dict.fromkeys(question.group for question in questions().values()))
    if group not in (None, *groups):
        raise UsageError(f"there is no group {group!r}: the groups are {', '.join(groups)}")
    urls = [name for name in names if "://" in name]
    if urls and len(names) > 1:
        raise UsageError("ask one URL at a time, with no other names")
    if urls:
        lab, seen, inquiries = meet(urls[0], group, upload_of(post, body, content_type))
        try:
            ask_all(lab, inquiries, seen)
        except KeyboardInterrupt:
            say("interrupted: these are the answers so far")
            raise
        finally:
            if page:
                _write(page, seen.as_page())
            elif to_json:
                _print(seen.as_dict())
            else:
                seen.show(result)
        if fail_on and seen.open:
            say(f"no answer to {listed(sorted(seen.open))}: is the server still running?")
        if fail_on and (seen.counts()[fail_on] or seen.open):
            sys.exit(1)
        return
    if post or body or content_type or fail_on:
        raise UsageError("--post, --body, --content-type and --fail-on need a URL")
    targets = find_targets(names or ("all",))
    found = rows(targets, group)
    if not found:
        raise UsageError(
            "no answers are recorded: run `./just conform NAME --record` "
            "(which asks no group that `unasked` in its server.toml lists)"
        )
    if page:
        _write(page, render(targets, found))
    elif to_json:
        _print([row.as_dict() for row in found])
    else:
        show(found, result, everything=everything)


def _write(page: Path, html: str) -> None:
    write_whole(CALLER / page, html)
    click.echo(CALLER / page)


def _print(document: object) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def show(found: Sequence[Row], console: Console, *, everything: bool) -> None:
    """Print each question with its answers, and the deployments that give them."""
    every = list(dict.fromkeys(name for row in found for name in row.answers))
    shown = [row for row in found if everything or row.is_notable]
    for row in shown:
        for line in _lines(row, every, min(console.width, _WIDTH)):
            console.print(line, soft_wrap=True)
    layers = Counter(row.question.decided_by for row in found if row.worst == "risky")
    by_layer = ", ".join(f"{layer} {count}" for layer, count in layers.most_common())
    counts = f"of {len(found)} questions, {layers.total()} have risky answers"
    if layers:
        counts += f" ({by_layer})"
    if len(every) > 1:
        counts += f", {sum(row.differs for row in found)} have different ones"
    console.print(f"\n{counts}", style="bold", soft_wrap=True)
    if hidden := len(found) - len(shown):
        console.print(f"left out: {hidden} with one harmless answer (--all)", soft_wrap=True)


def _lines(row: Row, every: Sequence[str], width: int) -> Iterator[Text]:
    """A question and its answers; the deployments are named only if their answers differ."""
    question, given = row.question, row.by_answer()
    notes = f"  {question.decided_by}"
    if question.requirement:
        notes += f", {question.requirement.upper()} in {question.source.split(',')[0]}"
    if not row.differs:
        (answer,) = given
        yield Text.assemble((question.id, "bold"), ": ", _rated(row, answer), (notes, "dim"))
        return
    yield Text.assemble((question.id, "bold"), (notes, "dim"))
    most = max(given, key=lambda answer: len(given[answer]))
    for answer, names in given.items():
        who = condensed(names, every)
        if answer == most and len(who) > 3 and len(row.answers) == len(every):
            who = ["all", "others"]
        rated = _rated(row, answer)
        lines = textwrap.wrap(f"{rated}: {' '.join(who)}", width - 2, break_on_hyphens=False)
        line = Text("\n    ".join(["", *lines]).removeprefix("\n  "))
        line.stylize(rated.style, end=2 + len(rated))
        yield line


def _rated(row: Row, answer: str) -> Text:
    """An answer, with its rating unless that goes without saying."""
    rating = row.rating(answer)
    return Text(answer + f" ({rating})" * (rating != "plain"), STYLES[rating])
