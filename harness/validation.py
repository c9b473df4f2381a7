"""What is wrong with data that a model refuses, in one line."""

from pydantic import ValidationError


def faults(error: ValidationError, whole: str) -> str:
    """Each wrong field with what is wrong; ``whole`` names what has no field of its own."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or whole}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors()
    )
