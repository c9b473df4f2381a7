"""Media types, compared as RFC 9110 section 8.3 compares them."""

from email.message import Message


def parse(value: str) -> tuple[str, str | None]:
    """The type and subtype in lower case, and the charset in lower case if there is one."""
    message = Message()
    message["Content-Type"] = value
    charset = message.get_param("charset")
    return value.split(";")[0].strip().lower(), str(charset).lower() if charset else None


def compared(value: str | None, expected: str | None) -> str | None:
    """What of ``value`` counts where ``expected`` is due; equal to :func:`canonical` if it will do.

    A charset counts where ``expected`` has one, and for JSON where it is not UTF-8 (RFC 8259,
    section 8.1). Nothing counts where ``expected`` is None.
    """
    if value is None or expected is None:
        return None
    essence, charset = parse(value)
    is_json = essence == "application/json" or essence.endswith("+json")
    if (is_json and charset == "utf-8") or (not is_json and parse(expected)[1] is None):
        charset = None
    return f"{essence}; charset={charset}" if charset else essence


def canonical(expected: str | None) -> str | None:
    """What :func:`compared` gives for a value that will do."""
    return compared(expected, expected)
