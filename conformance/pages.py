"""Self-contained pages: one HTML file with its style and scripts."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

GENERATOR = "reference-servers"  # In the head of every page


def render(
    folder: Path,
    values: Mapping[str, object],
    libraries: Sequence[str] = (),
    *,
    template: str = "template.html.jinja",
    script: str | None = "page.js",
    base: Path | None = None,
) -> str:
    """Render a folder's template with its ``style.css`` and script.

    Besides ``values``, the template gets ``generator``, ``style``, ``scripts`` (``libraries``
    first) and ``policy``: the scripts' digests, for a Content-Security-Policy that allows no
    others. ``base`` is a folder with templates to import and a style to extend.
    """
    folders = [base, folder] if base else [folder]
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = [(folder / script).read_text(encoding="utf-8")] if script else []
    scripts = [_script(text) for text in [*libraries, *own]]
    styles = [(one / "style.css").read_text(encoding="utf-8") for one in folders]
    return environment.get_template(template).render(
        values,
        generator=GENERATOR,
        style=Markup("".join(styles)),  # noqa: S704
        scripts=[text for text, _ in scripts],
        policy=" ".join(f"'{digest}'" for _, digest in scripts),
    )


def _script(text: str) -> tuple[Markup, str]:
    """A script escaped for the page, and its digest for the Content-Security-Policy."""
    safe = text.replace("</script", r"<\/script")
    digest = base64.b64encode(hashlib.sha256(safe.encode()).digest()).decode()
    return Markup(safe), f"sha256-{digest}"  # noqa: S704
