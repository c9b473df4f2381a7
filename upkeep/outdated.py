"""``just outdated``: direct dependencies that have newer versions."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.catalog import Server
from harness.errors import TaskError
from upkeep.ecosystems import ecosystem_of, project
from upkeep.ecosystems.base import Dependency


@dataclass
class Survey:
    """The direct dependencies of one server, or of the project itself."""

    name: str
    compared_with: str = ""
    dependencies: list[Dependency] = field(default_factory=list)
    note: str = ""
    """Why there are none."""
    error: str = ""
    """Why newer versions could not be asked for."""

    @property
    def outdated(self) -> list[Dependency]:
        """Those that have newer versions."""
        return [one for one in self.dependencies if one.is_outdated]

    def as_dict(self) -> dict[str, object]:
        """The survey as a JSON object."""
        rows = [asdict(one) | {"outdated": one.is_outdated} for one in self.dependencies]
        return asdict(self) | {"dependencies": rows}


def survey(servers: Iterable[Server], *, own: bool) -> list[Survey]:
    """Ask the package managers, several at once."""
    tasks: list[Callable[[], Survey]] = [lambda one=one: _of(one) for one in servers]  # type: ignore[misc]
    if own:
        tasks.append(_own)
    with ThreadPoolExecutor(4) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]


def _of(server: Server) -> Survey:
    found = Survey(server.name)
    ecosystem = ecosystem_of(server.folder)
    if ecosystem is None:
        found.note = "has no lock: it runs on programs of the machine"
        return found
    try:
        found.dependencies = ecosystem.dependencies()
    except TaskError as error:
        found.error = str(error)
    found.compared_with = ecosystem.source
    return found


def _own() -> Survey:
    found = Survey(project.NAME, project.SOURCE)
    try:
        found.dependencies = project.dependencies()
    except TaskError as error:
        found.error = str(error)
    return found


def show(surveys: Iterable[Survey], console: Console) -> None:
    """Print a table of what is outdated, and what was compared."""
    surveys = list(surveys)
    table = Table(box=None, pad_edge=False)
    for column in ("", "dependency", "have", "allowed", "newest", ""):
        table.add_column(column, no_wrap=True)
    for one in surveys:
        name = one.name
        for row in one.outdated:
            style = "yellow" if row.allowed == row.have else "green"
            table.add_row(
                name, row.name, row.have, Text(row.allowed, style=style), row.newest, _why(row)
            )
            name = ""
    if table.row_count:
        console.print(table)
        console.print()
    for one in surveys:
        if one.error:
            console.print(Text(f"{one.name}: {one.error}", style="red"), soft_wrap=True)
        elif one.note:
            console.print(f"{one.name}: {one.note}", soft_wrap=True)
        elif not one.outdated:
            console.print(f"{one.name}: all {len(one.dependencies)} current", style="dim")
    console.print("\ncompared with:", style="dim")
    for source in dict.fromkeys(one.compared_with for one in surveys if one.compared_with):
        names = ", ".join(one.name for one in surveys if one.compared_with == source)
        console.print(f"  {source} ({names})", style="dim", soft_wrap=True)
    moves = (
        f"`just upgrade NAME` moves a server to the allowed versions, `just lock` {project.NAME}"
    )
    console.print(moves, style="dim", soft_wrap=True)


def _why(row: Dependency) -> str:
    parts = ["tests"] if row.tests else []
    if row.allowed != row.newest:
        parts.append("held back" if row.allowed == row.have else "newest is held back")
    return ", ".join(parts)
