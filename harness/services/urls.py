"""The form of databases' URLs, checked before drivers see them: their errors quote passwords."""

import re

from harness.errors import UsageError

_HOST = r"(\[[^]@/\s]+\]|[^][:@/?#,\s]*)(:\d*)?"
_FORM = re.compile(
    r"(?P<scheme>[a-z+]+://)([^@/?#\s]*@)?"
    rf"(?P<place>{_HOST}(,{_HOST})*(/[^@?#\s]*)?)"
    r"(\?\S*)?"
)


def require_url(setting: str, url: str, *schemes: str) -> None:
    """Refuse a URL with another scheme, or with characters that must be escaped."""
    found = _FORM.fullmatch(url)
    if not found or found["scheme"] not in [f"{one}://" for one in schemes]:
        raise malformed(setting, schemes[0])


def malformed(setting: str, scheme: str) -> UsageError:
    """The error for a URL whose parts are not known, so that any of them may be its password."""
    return UsageError(
        f"{setting} is not {scheme}://USER:PASSWORD@HOST:PORT/DATABASE, or has unknown options: "
        "write special characters of USER and PASSWORD as %XX, such as / as %2F"
    )


def without_secrets(url: str) -> str:
    """Scheme, host and path of a URL: a password may also be in its query."""
    found = _FORM.fullmatch(url)
    return f"{found['scheme']}{found['place']}" if found else "…"
