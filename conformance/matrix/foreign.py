"""Any running server: asks it what can be asked without the contract, and shows its answers."""

import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.behaviours.lab import Inquiry, Lab, Need
from conformance.behaviours.observe import INQUIRIES, Observation, observe_running
from conformance.behaviours.page import Inapplicable, Stranger, Upload, met
from conformance.matrix.rows import Described, described
from conformance.report import STYLES
from harness import pages
from harness.console import progress_bar, say
from harness.errors import UsageError
from harness.paths import CALLER
from spec.behaviours import questions


@dataclass
class Findings:
    """What was asked and answered; grows as answers come."""

    server: Stranger
    # Questions with the server's answers, as in the JSON
    answers: list[Described] = field(default_factory=list)
    # By question: why it has none of the listed answers
    unanswered: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The page's address."""
        return self.server.url + self.server.path

    def take(self, seen: Observation) -> None:
        """Add an answer, to the question in the words of the server's own path."""
        if seen.answer is None:
            why = " ".join(seen.error.split())
            self.unanswered[seen.id] = why.removeprefix(f"{Inapplicable.__name__}: ")
            return
        question, path = questions()[seen.id], self.server.path
        text = question.text.replace("/index/", f"{path}/").replace("/index", path)
        rated = question.answers[seen.answer]
        given: Described = {"answer": seen.answer, "rating": rated.rating, "why": rated.why}
        self.answers.append(described(question) | {"question": text} | given)

    def sorted(self) -> list[Described]:
        """The worst first, and then in the document's order."""
        ids, ratings = list(questions()), list(STYLES)
        return sorted(
            self.answers,
            key=lambda one: (ratings.index(str(one["rating"])), ids.index(str(one["id"]))),
        )

    def counts(self) -> dict[str, int]:
        """The number of answers with each rating."""
        return {rating: sum(one["rating"] == rating for one in self.answers) for rating in STYLES}

    def counted(self) -> str:
        """The same in words."""
        counts = ", ".join(f"{count} {rating}" for rating, count in self.counts().items())
        return f"{len(self.answers)} answers: {counts}"

    def as_dict(self) -> dict[str, object]:
        """All of it, for machines."""
        return {
            "url": self.url,
            "counts": self.counts(),
            "answers": self.sorted(),
            "unanswered": self.unanswered,
        }

    def as_page(self) -> str:
        """An HTML page."""
        return pages.render(Path(__file__).parent, {"found": self}, template="foreign.html.jinja")

    def show(self, console: Console) -> None:
        """Print a table, the worst answers first; risky ones have a reason and its source."""
        table = Table(box=None, pad_edge=False)
        for column in ("rating", "question", "answer"):
            table.add_column(column, no_wrap=True)
        table.add_column("why it is risky")
        for one in self.sorted():
            why = f"{one['why']} ({one['source']})" if one["rating"] == "risky" else ""
            rating = Text(str(one["rating"]), STYLES[str(one["rating"])])
            table.add_row(rating, one["id"], Text(str(one["answer"])), Text(why))
        console.print(table)
        for id, why in self.unanswered.items():
            console.print(Text(f"{id}: no answer: {why}", "dim"), soft_wrap=True)
        console.print(f"\n{self.url}: {self.counted()}", style="bold", soft_wrap=True)


def upload_of(post: str | None, body: Path | None, content_type: str | None) -> Upload | None:
    """The body to send, and where. Raises :class:`UsageError` if one of them is missing."""
    if post is None and body is None:
        return None
    if post is None or body is None:
        raise UsageError("--post PATH and --body FILE belong together: give both")
    content = (CALLER / body).read_bytes()
    if not content:
        raise UsageError(f"{body} is empty: give a body that the server takes")
    return Upload(post, content, content_type or mimetypes.guess_type(body.name)[0])


def meet(url: str, group: str | None, upload: Upload | None) -> tuple[Lab, Findings, list[Inquiry]]:
    """The server at a URL, and the questions that it can be asked."""
    server = Stranger.at(url, upload.path if upload else None)
    lab = Lab(server, page=met(server, upload))
    needs: set[Need] = {"get", "post"} if upload else {"get"}
    inquiries = [
        one
        for id, one in INQUIRIES.items()
        for question in [questions()[id]]
        if one.needs in needs and group in (None, question.group) and question.is_for_this_system
    ]
    if not inquiries:
        raise UsageError(
            f"{url} cannot be asked about {group}: these questions need --post and --body, "
            "or a server of the contract"
        )
    return lab, Findings(server), inquiries


def ask_all(lab: Lab, inquiries: Sequence[Inquiry], found: Findings) -> None:
    """Ask the questions; Ctrl-C ends the asking."""
    with progress_bar() as bar:
        task = bar.add_task("asking", total=len(inquiries), note="")

        def report(seen: Observation) -> None:
            found.take(seen)
            bar.update(task, advance=1, note=seen.id)

        try:
            observe_running(lab, inquiries, report)
        except TimeoutError:
            say("some questions were not answered in time")
        finally:
            found.server.end()
