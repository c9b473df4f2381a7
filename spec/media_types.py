"""Compares media types as in RFC 9110, section 8.3."""

from email.message import Message


def parse(value: str) -> tuple[str, str | None]:
    """The type and subtype, and the charset if there is one, in lower case."""
    message = Message()
    message["Content-Type"] = value
    charset = message.get_param("charset")
    return value.split(";")[0].strip().lower(), str(charset).lower() if charset else None


def compared(value: str | None, expected: str | None) -> str | None:
    """The significant part of ``value``; it matches if it equals ``canonical(expected)``.

    A charset is significant if ``expected`` has one, and for JSON if it is not UTF-8 (RFC 8259,
    section 8.1). If ``expected`` is None, nothing is significant.
    """
    if value is None or expected is None:
        return None
    essence, charset = parse(value)
    is_json = essence == "application/json" or essence.endswith("+json")
    if (is_json and charset == "utf-8") or (not is_json and parse(expected)[1] is None):
        charset = None
    return f"{essence}; charset={charset}" if charset else essence


def canonical(expected: str | None) -> str | None:
    """The result of :func:`compared` for a matching value."""
    return compared(expected, expected)
