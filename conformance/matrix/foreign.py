"""Any running server: asks it what can be asked without the contract, and shows its answers."""

import json
import mimetypes
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance import pages
from conformance.behaviours.lab import Inquiry, Lab, Need
from conformance.behaviours.observe import INQUIRIES, Observation, ask
from conformance.behaviours.page import Inapplicable, Upload
from conformance.behaviours.stranger import Stranger, at_once, met
from conformance.report import STYLES
from harness.console import progress_bar, result, say
from harness.errors import UsageError
from harness.paths import CALLER
from harness.system.files import write_whole
from spec.behaviours import Rating, questions

_LONGEST = 600.0  # seconds after which no more questions are asked


Seen = dict[str, str | None]  # a question with the server's answer, as in the JSON


@dataclass
class Findings:
    """What was asked and answered; grows as answers come."""

    url: str
    answers: list[Seen] = field(default_factory=list)
    # By question: why it has none of the listed answers
    unanswered: dict[str, str] = field(default_factory=dict)

    def sorted(self) -> list[Seen]:
        """The worst first, and then in the document's order."""
        ids, ratings = list(questions()), list(STYLES)
        return sorted(
            self.answers,
            key=lambda one: (ratings.index(str(one["rating"])), ids.index(str(one["id"]))),
        )

    def counts(self) -> dict[str, int]:
        """The number of answers with each rating."""
        return {rating: sum(one["rating"] == rating for one in self.answers) for rating in STYLES}


def examine(
    url: str,
    group: str | None,
    to_json: bool,
    page_file: Path | None,
    *,
    post: str | None,
    body: Path | None,
    content_type: str | None,
    fail_on: Rating | None,
) -> None:
    """Ask the server, and show its answers; Ctrl-C ends the asking. Exits with 1 on ``fail_on``."""
    upload = _upload(post, body, content_type)
    server = Stranger.at(url, post)
    page = met(server, upload)
    lab = Lab(server, page=page)
    needs: set[Need] = {"get", "post"} if upload else {"get"}
    inquiries = [
        one
        for id, one in INQUIRIES.items()
        if one.needs in needs and group in (None, questions()[id].group)
    ]
    if not inquiries:
        raise UsageError(
            f"{url} cannot be asked about {group}: these questions need --post and --body, "
            "or a server of the contract"
        )
    found = Findings(server.url + server.path)
    try:
        _ask_all(lab, inquiries, lambda seen: _take(found, server.path, seen))
    except KeyboardInterrupt:
        say("interrupted: these are the answers so far")
        raise
    finally:
        server.end()
        if page_file:
            values = {"found": found, "counts": _counted(found)}
            text = pages.render(Path(__file__).parent, values, template="foreign.html.jinja")
            write_whole(CALLER / page_file, text)
            click.echo(CALLER / page_file)
        elif to_json:
            click.echo(as_json(found))
        else:
            show(found, result)
    if fail_on and found.counts()[fail_on]:
        sys.exit(1)


def _upload(post: str | None, body: Path | None, content_type: str | None) -> Upload | None:
    if post is None and body is None:
        return None
    if post is None or body is None:
        raise UsageError("--post PATH and --body FILE belong together: give both")
    content = (CALLER / body).read_bytes()
    if not content:
        raise UsageError(f"{body} is empty: give a body that the server takes")
    return Upload(post, content, content_type or mimetypes.guess_type(body.name)[0])


def _ask_all(lab: Lab, inquiries: Sequence[Inquiry], report: Callable[[Observation], None]) -> None:
    pool = ThreadPoolExecutor(together := at_once(lab))
    # Those that wait begin first, beside the others; on a server of one client at a time, last.
    inquiries = sorted(inquiries, key=lambda one: (one.lane == "waiting") != (together > 1))
    with progress_bar() as bar:
        task = bar.add_task("asking", total=len(inquiries), note="")
        asked = [pool.submit(ask, lab, inquiry) for inquiry in inquiries]
        try:
            for one in as_completed(asked, timeout=_LONGEST):
                seen = one.result()
                report(seen)
                bar.update(task, advance=1, note=seen.id)
        except TimeoutError:
            left = sum(not one.done() for one in asked)
            say(f"{left} questions were not answered within {_LONGEST / 60:.0f} minutes")
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _take(found: Findings, path: str, seen: Observation) -> None:
    """Add an answer, to the question in the words of the server's own path."""
    question = questions()[seen.id]
    if seen.answer is None:
        why = " ".join(seen.error.split())
        found.unanswered[seen.id] = why.removeprefix(f"{Inapplicable.__name__}: ")
        return
    rated = question.answers[seen.answer]
    found.answers.append(
        {
            "id": question.id,
            "group": question.group,
            "question": question.text.replace("/index/", f"{path}/").replace("/index", path),
            "answer": seen.answer,
            "rating": rated.rating,
            "why": rated.why,
            "source": question.source,
            "requirement": question.requirement,
        }
    )


def show(found: Findings, console: Console) -> None:
    """Print a table, the worst answers first; risky ones have a reason and its source."""
    table = Table(box=None, pad_edge=False)
    for column in ("rating", "question", "answer"):
        table.add_column(column, no_wrap=True)
    table.add_column("why it is risky")
    for one in found.sorted():
        why = f"{one['why']} ({one['source']})" if one["rating"] == "risky" else ""
        rating = Text(str(one["rating"]), STYLES[str(one["rating"])])
        table.add_row(rating, one["id"], Text(str(one["answer"])), Text(why))
    console.print(table)
    for id, why in found.unanswered.items():
        console.print(Text(f"{id}: no answer: {why}", "dim"), soft_wrap=True)
    console.print(f"\n{found.url}: {_counted(found)}", style="bold", soft_wrap=True)


def _counted(found: Findings) -> str:
    counts = ", ".join(f"{count} {rating}" for rating, count in found.counts().items())
    return f"{len(found.answers)} answers: {counts}"


def as_json(found: Findings) -> str:
    """All of it, for machines."""
    parts = {"url": found.url, "counts": found.counts(), "answers": found.sorted()}
    return json.dumps(parts | {"unanswered": found.unanswered}, indent=2, ensure_ascii=False)
