import re
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Query
from pydantic import AfterValidator

DIGITS = re.compile(r"[0-9]{1,5}")


def integer(name: str, low: int, high: int) -> Callable[[list[str]], int]:
    """A validator of a query parameter of ASCII digits that is given once."""

    def parse(values: list[str]) -> int:
        match values:
            case [text] if DIGITS.fullmatch(text) and low <= int(text) <= high:
                return int(text)
        raise ValueError(f"{name} must be an integer from {low} to {high}")

    return parse


def slug(values: list[str]) -> str:
    match values:
        case ["small" | "big" as text]:
            return text
    raise ValueError("doc must be small or big")


async def file_name(name: str) -> str:
    # U+FFFD is what Uvicorn makes of invalid UTF-8
    if name.startswith(".") or any(character in name for character in "/\\\0\ufffd"):
        raise HTTPException(404)
    return name


# Lists, for FastAPI to pass on all values of a parameter; its validator makes one of them.
Slug = Annotated[list[str], Query(alias="doc"), AfterValidator(slug)]
SleepMs = Annotated[list[str], Query(alias="ms"), AfterValidator(integer("ms", 0, 30000))]
Calls = Annotated[list[str], Query(), AfterValidator(integer("calls", 1, 50))]
CallMs = Annotated[list[str], Query(alias="ms"), AfterValidator(integer("ms", 0, 5000))]
FileName = Annotated[str, Depends(file_name)]
