"""Pages that are one HTML file with all that it needs in it."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup


def render(folder: Path, values: Mapping[str, object], libraries: Sequence[str] = ()) -> str:
    """The page that a folder's ``template.html.jinja``, ``style.css`` and ``page.js`` make.

    Besides ``values`` the template is given ``style``, ``scripts`` (``libraries`` first) and
    ``policy``, the digests of these scripts for a Content-Security-Policy that allows no other.
    """
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = (folder / "page.js").read_text(encoding="utf-8")
    scripts = [_script(text) for text in [*libraries, own]]
    return environment.get_template("template.html.jinja").render(
        values,
        style=Markup((folder / "style.css").read_text(encoding="utf-8")),  # noqa: S704
        scripts=[text for text, _ in scripts],
        policy=" ".join(f"'{digest}'" for _, digest in scripts),
    )


def _script(text: str) -> tuple[Markup, str]:
    """A script of ours as it stands in the page, and the digest by which the page allows it."""
    safe = text.replace("</script", r"<\/script")
    digest = base64.b64encode(hashlib.sha256(safe.encode()).digest()).decode()
    return Markup(safe), f"sha256-{digest}"  # noqa: S704
