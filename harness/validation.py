"""Describes the validation errors of Pydantic's models in one line."""

from pydantic import ValidationError

# Plain words for Pydantic's messages, which are meant for programmers
_PLAIN = {
    "Field required": "is missing",
    "Extra inputs are not permitted": "is not a known field",
    "Value error, ": "",
    "Input should": "should",
}


def describe(error: ValidationError, whole: str) -> str:
    """Each wrong field with its error; ``whole`` names the data where no field is at fault."""
    return "; ".join(
        f"{'.'.join(map(str, detail['loc'])) or whole}: {_plain(detail['msg'])}"
        for detail in error.errors()
    )


def _plain(message: str) -> str:
    for words, plain in _PLAIN.items():
        if message.startswith(words):
            return plain + message.removeprefix(words)
    return message
