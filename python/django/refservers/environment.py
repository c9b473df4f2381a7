"""Settings from the environment; a bad one is a ValueError that names it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from pymongo.errors import PyMongoError


def number(name: str, default: int, highest: int) -> int:
    text = os.environ.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= highest):
        raise ValueError(f"{name} must be a number from 1 to {highest}, not {text!r}")
    return int(text)


def url(name: str, *schemes: str, parse: Callable[[str], Any] = urlsplit, default: str = "") -> str:
    text = os.environ.get(name, default)
    try:
        parse(text)
        parts = urlsplit(text)
        several = "," in parts.netloc
        valid = parts.scheme in schemes and parts.netloc and (several or parts.port != 0)
    except (ValueError, psycopg.Error, PyMongoError):
        valid = False
    if not valid:
        raise ValueError(f"{name} must be a URL, {schemes[0]}://…, not {text!r}")
    return text


def folder(name: str) -> Path:
    text = os.environ.get(name, "")
    if not text or not Path(text).is_dir():
        raise ValueError(f"{name} must be a folder, not {text!r}")
    return Path(text).resolve()
