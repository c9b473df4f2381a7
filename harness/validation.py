"""What is wrong with data that a model refuses, in one line."""

from pydantic import ValidationError

_PLAIN = {
    "Field required": "is missing",
    "Extra inputs are not permitted": "is not a known field",
    "Value error, ": "",
    "Input should": "should",
}
"""What is said in place of Pydantic's words, which are a programmer's."""


def faults(error: ValidationError, whole: str) -> str:
    """Each wrong field with what is wrong; ``whole`` names what has no field of its own."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or whole}: {_plain(fault['msg'])}"
        for fault in error.errors()
    )


def _plain(message: str) -> str:
    for words, plain in _PLAIN.items():
        if message.startswith(words):
            return plain + message.removeprefix(words)
    return message
