"""Any running server: asks it what can be asked without the contract, and shows its answers."""

import mimetypes
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance import pages
from conformance.behaviours.lab import Inquiry, Lab, Need
from conformance.behaviours.observe import INQUIRIES, Observation, observe_running
from conformance.behaviours.page import Stranger, Upload, met
from conformance.matrix.rows import described
from conformance.report import STYLES, answers_table, worst_first
from harness.console import progress_bar, say
from harness.errors import UsageError
from harness.paths import CALLER
from spec.behaviours import questions


@dataclass
class Findings:
    """What was asked and answered; grows as answers come."""

    server: Stranger
    open: set[str]  # the questions that still need an answer
    answers: dict[str, str] = field(default_factory=dict)  # by question
    # By question: why it has none of the listed answers
    unanswered: dict[str, str] = field(default_factory=dict)

    def take(self, seen: Observation) -> None:
        """Add an answer, or why there is none."""
        if seen.answer is not None or not seen.applies:
            self.open.discard(seen.id)
        if seen.answer is None:
            self.unanswered[seen.id] = " ".join(seen.error.split())
        else:
            self.answers[seen.id] = seen.answer

    def counts(self) -> dict[str, int]:
        """The number of answers with each rating."""
        found = Counter[str](rated.rating for _, _, rated in worst_first(self.answers))
        return {rating: found[rating] for rating in STYLES}

    def summary(self) -> str:
        """The address and the counts in words."""
        counts = ", ".join(f"{count} {rating}" for rating, count in self.counts().items())
        return f"{self.server.url}{self.server.path}: {len(self.answers)} answers: {counts}"

    def as_dict(self) -> dict[str, object]:
        """All of it, for machines; the questions in the words of the server's own path."""
        path = self.server.path
        return {
            "url": self.server.url + path,
            "counts": self.counts(),
            "answers": [
                described(question)
                | {"question": question.text.replace("/index/", f"{path}/").replace("/index", path)}
                | {"answer": answer, "rating": rated.rating, "why": rated.why}
                for question, answer, rated in worst_first(self.answers)
            ],
            "unanswered": self.unanswered,
        }

    def as_page(self) -> str:
        values = {"summary": self.summary(), "found": self.as_dict()}
        return pages.render(Path(__file__).parent, values, template="foreign.html.jinja")

    def show(self, console: Console) -> None:
        """Print a table, the worst answers first."""
        console.print(answers_table(self.answers))
        for id, why in self.unanswered.items():
            console.print(Text(f"{id}: no answer: {why}", "dim"), soft_wrap=True)
        console.print(f"\n{self.summary()}", style="bold", soft_wrap=True)


def upload_of(post: str | None, body: Path | None, content_type: str | None) -> Upload | None:
    """The body to send, and where. Raises :class:`UsageError` if one of them is missing."""
    if post is None and body is None:
        return None
    if post is None or body is None:
        raise UsageError("--post PATH and --body FILE belong together: give both")
    file = CALLER / body
    if not file.is_file() or not (content := file.read_bytes()):
        raise UsageError(f"{body} is no file, or empty: give a body that the server takes")
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
    return lab, Findings(server, {one.id for one in inquiries}), inquiries


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
