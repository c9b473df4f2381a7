"""The contract's settings, and the environment of a server."""

import getpass
import os
from collections.abc import Mapping
from pathlib import Path

import spec
from harness.errors import UsageError
from harness.paths import CALLER
from harness.servers.catalog import Target
from harness.system.programs import search_path

DEFAULTS = {"HOST": "127.0.0.1", "PORT": "8000", "WORKERS": "1", "THREADS": "50"}

_NUMBERS = ("WORKERS", "THREADS", "MONGODB_POOL_SIZE", "DATABASE_POOL_SIZE")
URLS = ("MONGODB_URL", "DATABASE_URL", "SLOW_API_URL")
SETTINGS = ("HOST", "PORT", *_NUMBERS, *URLS, "FILES_DIR")  # All settings of the contract

# Variables passed on from the caller: they describe where a server runs, not how
_PLACE = (
    *("HOME", "LOGNAME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE"),
    *("JAVA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)


def read_settings() -> dict[str, str]:
    """The settings in this process's environment; refuses invalid values."""
    found = {name: value for name in SETTINGS if (value := os.environ.get(name))}
    settings = DEFAULTS | {"FILES_DIR": str(spec.FILES)} | found
    parse_port(settings["PORT"])
    for name in _NUMBERS:
        value = settings.get(name, "1")
        if not (value.isascii() and value.isdigit() and int(value) > 0):
            raise UsageError(f"{name} must be a number of at least 1, not {value!r}")
    settings["FILES_DIR"] = str(CALLER / settings["FILES_DIR"])  # servers run in their own folders
    if not Path(settings["FILES_DIR"]).is_dir():
        raise UsageError(f"FILES_DIR must be a folder, not {settings['FILES_DIR']!r}")
    return settings


def parse_port(text: str) -> int:
    """A TCP port from a setting."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise UsageError(f"PORT must be a number from 1 to 65535, not {text!r}")
    return int(text)


def require_workers(target: Target, workers: str) -> None:
    """Refuse several workers for a deployment that is always one process."""
    if workers != "1" and not target.deployment.workers:
        raise UsageError(
            f"{target.name} is always one process: its framework documents no way to run several; "
            "leave WORKERS at 1, or run several behind a proxy"
        )


def environment(target: Target, settings: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a server.

    From this process's own it gets the variables that describe where it runs, and those that its
    manifest passes on.
    """
    passed = {
        name: os.environ[name]
        for name in (*_PLACE, *target.server.manifest.passes)
        if name in os.environ
    }
    return DEFAULTS | passed | _user() | {"PATH": search_path()} | dict(settings)


def _user() -> dict[str, str]:
    try:
        return {"USER": getpass.getuser()}
    except (KeyError, OSError):  # a user ID without a name, as in some containers
        return {}
