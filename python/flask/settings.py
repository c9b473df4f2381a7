import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def from_environment() -> dict[str, Any]:
    """Read the settings; a bad one ends the process."""
    try:
        return {
            "HOST": os.environ.get("HOST", "127.0.0.1"),
            "PORT": number("PORT", 8000, 65535),
            "WORKERS": number("WORKERS", 1, 1024),
            "THREADS": number("THREADS", 50, 10_000),
            "MONGODB_URL": url(
                "MONGODB_URL", "mongodb", default="mongodb://127.0.0.1:27017/refservers"
            ),
            "MONGODB_POOL_SIZE": number("MONGODB_POOL_SIZE", 100, 10_000),
            "DATABASE_URL": url(
                "DATABASE_URL",
                "postgresql",
                default="postgresql://refservers@127.0.0.1:5432/refservers",
            ),
            "DATABASE_POOL_SIZE": number("DATABASE_POOL_SIZE", 10, 10_000),
            "FILES_DIR": folder("FILES_DIR"),
            "SLOW_API_URL": url("SLOW_API_URL", "http", "https"),
        }
    except ValueError as error:
        print(f"bad setting: {error}", file=sys.stderr)
        sys.exit(2)


def number(name: str, default: int, highest: int) -> int:
    text = os.environ.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= highest):
        raise ValueError(f"{name} must be a number from 1 to {highest}, not {text!r}")
    return int(text)


def url(name: str, *schemes: str, default: str = "") -> str:
    text = os.environ.get(name, default)
    try:
        parts = urlsplit(text)
        several = "," in parts.netloc  # hosts, each with its port
        valid = parts.scheme in schemes and parts.hostname and (several or parts.port != 0)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(f"{name} must be a URL, {schemes[0]}://…, not {text!r}")
    return text


def folder(name: str) -> Path:
    text = os.environ.get(name, "")
    if not text or not Path(text).is_dir():
        raise ValueError(f"{name} must be a folder, not {text!r}")
    return Path(text).resolve()
