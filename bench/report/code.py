"""Links to the code that was measured."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bench.records.result import Run
from harness.paths import ROOT


@dataclass(frozen=True)
class Code:
    """Where the pages' folder finds the code."""

    folder: Path  # The pages' folder
    # The address of the repository on a forge that shows `ADDRESS/tree/COMMIT/PATH`
    repository: str | None = None

    def link(self, run: Run, path: str) -> str | None:
        """The address of a file or folder at the commit of the run; else in this clone.

        None if there is neither: the pages are outside of the clone.
        """
        if self.repository:
            return f"{self.repository.rstrip('/')}/tree/{run.commit}/{quote(path)}"
        if self.folder.is_relative_to(ROOT):
            return quote(os.path.relpath(ROOT / path, self.folder))
        return None
