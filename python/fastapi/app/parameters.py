import re
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Query

DIGITS = re.compile(r"[0-9]{1,5}")


def integer(name: str, default: int, low: int, high: int) -> Any:
    """A query parameter of ASCII digits that is given once at most."""

    async def parse(values: Annotated[list[str] | None, Query(alias=name)] = None) -> int:
        match values:
            case None:
                return default
            case [text] if DIGITS.fullmatch(text) and low <= int(text) <= high:
                return int(text)
        raise HTTPException(400, f"{name} must be an integer from {low} to {high}")

    return Depends(parse)


async def slug(doc: Annotated[list[str] | None, Query()] = None) -> str:
    match doc:
        case None:
            return "small"
        case ["small" | "big" as text]:
            return text
    raise HTTPException(400, "doc must be small or big")


async def file_name(name: str) -> str:
    # U+FFFD is what Uvicorn makes of invalid UTF-8
    if name.startswith(".") or any(character in name for character in "/\\\0\ufffd"):
        raise HTTPException(404)
    return name


Slug = Annotated[str, Depends(slug)]
FileName = Annotated[str, Depends(file_name)]
