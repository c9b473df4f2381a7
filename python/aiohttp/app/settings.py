import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Settings:
    host: str
    port: int
    workers: int
    mongodb_url: str
    mongodb_pool_size: int
    database_url: str
    database_pool_size: int
    files_dir: Path
    slow_api_url: str

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; a bad one ends the process."""
        try:
            return cls(
                host=os.environ.get("HOST", "127.0.0.1"),
                port=number("PORT", 8000, 65535),
                workers=number("WORKERS", 1, 1024),
                mongodb_url=url(
                    "MONGODB_URL", "mongodb", default="mongodb://127.0.0.1:27017/refservers"
                ),
                mongodb_pool_size=number("MONGODB_POOL_SIZE", 32, 10_000),
                database_url=url(
                    "DATABASE_URL",
                    "postgresql",
                    default="postgresql://refservers@127.0.0.1:5432/refservers",
                ),
                database_pool_size=number("DATABASE_POOL_SIZE", 10, 10_000),
                files_dir=folder("FILES_DIR"),
                slow_api_url=url("SLOW_API_URL", "http", "https"),
            )
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
