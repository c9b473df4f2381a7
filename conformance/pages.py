"""Self-contained pages: one HTML file with its style and scripts."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup


def render(
    folder: Path,
    values: Mapping[str, object],
    libraries: Sequence[str] = (),
    *,
    template: str = "template.html.jinja",
    script: str = "page.js",
) -> str:
    """Render a folder's template with its ``style.css`` and script.

    Besides ``values``, the template gets ``style``, ``scripts`` (``libraries`` first) and
    ``policy``: the scripts' digests, for a Content-Security-Policy that allows no others.
    """
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = (folder / script).read_text(encoding="utf-8")
    scripts = [_script(text) for text in [*libraries, own]]
    return environment.get_template(template).render(
        values,
        style=Markup((folder / "style.css").read_text(encoding="utf-8")),  # noqa: S704
        scripts=[text for text, _ in scripts],
        policy=" ".join(f"'{digest}'" for _, digest in scripts),
    )


def _script(text: str) -> tuple[Markup, str]:
    """A script escaped for the page, and its digest for the Content-Security-Policy."""
    safe = text.replace("</script", r"<\/script")
    digest = base64.b64encode(hashlib.sha256(safe.encode()).digest()).decode()
    return Markup(safe), f"sha256-{digest}"  # noqa: S704
