"""Broken requests, and requests whose end is ambiguous."""


def _get(
    *fields: bytes,
    line: bytes = b"GET /index HTTP/1.1",
    host: bytes = b"x",
    body: bytes = b"",
) -> bytes:
    return b"\r\n".join([line, b"Host: " + host, *fields, b"", b""]) + body


# Requests for ``/index`` that RFC 9112 does not allow, or larger than most servers accept; by
# question, in all variations
BROKEN: dict[str, list[bytes]] = {
    "no-version": [_get(line=b"GET /index")],
    "version-9-9": [_get(line=b"GET /index HTTP/9.9")],
    "space-in-target": [_get(line=b"GET /index?a b HTTP/1.1")],
    "header-without-colon": [_get(b"nonsense")],
    "space-before-colon": [_get(b"X-A : b")],
    "folded-header": [_get(b"X-A: b", b" c")],
    "nul-in-header": [_get(b"X-A: a\x00b")],
    "bare-lf": [
        b"GET /index HTTP/1.1\nHost: x\n\n",
        b"GET /index HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n",
    ],
    "no-host": [b"GET /index HTTP/1.1\r\n\r\n"],
    "two-hosts": [_get(b"Host: y")],
    "invalid-host": [_get(host=host) for host in (b"a b", b"x@y")],
    "header-of-64-kb": [_get(b"X-A: " + b"a" * (1 << 16))],
    "5000-headers": [_get(*[b"a: b"] * 5000)],
    "length-in-words": [_get(b"Content-Length: ten")],
}

# Follows a request on its connection, and ends it: no need to wait for silence
SENTINEL = b"GET /nothing-more HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

# A JSON object that is no note: an endpoint that reads it stores nothing
CONTENT = b'{"title":""}'
_END = b"0\r\n\r\n"


def _length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


_CODED = b"Transfer-Encoding: chunked"


def _ambiguous(hidden: bytes, content: bytes) -> dict[str, list[tuple[list[bytes], bytes]]]:
    """Header lines and bodies of requests whose end is ambiguous, by question, in all variations.

    Read in one of two ways, they hide a second request. By its length, all of ``both`` is the body;
    read as chunks, only the beginning is.
    """
    size = b"%x" % len(content)
    chunks = b"%s\r\n%s\r\n" % (size, content) + _END
    both = chunks + hidden
    return {
        "length-and-chunked": [([_length(both), _CODED], both)],
        "chunked-and-identity": [
            ([_length(chunks), b"Transfer-Encoding: chunked, identity"], both),
        ],
        "coding-with-space": [([_length(both), b"Transfer-Encoding : chunked"], both)],
        "folded-coding": [([_length(both), b"Transfer-Encoding:", b" chunked"], both)],
        "coding-twice": [([_CODED, _CODED], both)],
        "xchunked": [
            ([b"Transfer-Encoding: xchunked"], both),
            ([b"Transfer-Encoding: xchunked"], hidden),
        ],
        "coding-in-http-1-0": [([b"Connection: keep-alive", _CODED], both)],
        "zero-and-length": [([b"Content-Length: 0", _length(hidden)], hidden)],
        "length-with-sign": [([b"Content-Length: +0"], hidden)],
        "upgrade-with-body": [([b"Connection: Upgrade", b"Upgrade: x", _length(hidden)], hidden)],
        "chunk-size-with-sign": [([_CODED], b"+" + both)],
        "chunk-size-with-prefix": [([_CODED], b"0x" + both)],
        "lf-after-chunk-size": [([_CODED], chunks[: -len(_END)] + b"0\n\r\n" + hidden)],
        # If the line feed ends the line, the data of the second chunk is the hidden request.
        "lf-in-chunk-extension": [
            ([_CODED], b"2;a\nxx\r\n%x\r\n%s\r\n" % (len(_END + hidden), _END + hidden) + _END)
        ],
        # After the data some servers skip two bytes unread, others the rest of the line.
        "chunk-without-crlf": [([_CODED], size + b"\r\n" + content + b"!\n" + _END + hidden)],
        "lf-after-chunk-data": [([_CODED], size + b"\r\n" + content + b"\n" + _END + hidden)],
        "chunk-size-17-digits": [([_CODED], b"1%016x" % len(content) + both[len(size) :])],
        "forbidden-trailer": [([_CODED], chunks[:-2] + _length(hidden) + b"\r\n\r\n" + hidden)],
        "request-in-trailer": [([_CODED], chunks[:-2] + b"X-A: b\r\n" + hidden)],
    }


AMBIGUOUS = tuple(_ambiguous(b"", CONTENT))  # the questions about them
# Of these, the ones about the head, which a GET request asks as well
AMBIGUOUS_HEADS = AMBIGUOUS[: AMBIGUOUS.index("chunk-size-with-sign")]


def ambiguous(
    id: str,
    path: str,
    *,
    hidden: str = "/json",
    content: bytes = CONTENT,
    media_type: str | None = None,
    host: str = "x",
    method: str = "POST",
) -> list[bytes]:
    """The variations of an ambiguous request for ``path``, which hide a GET for ``hidden``."""
    version = "1.0" if id == "coding-in-http-1-0" else "1.1"
    line = f"{method} {path} HTTP/{version}".encode()
    typed = [b"Content-Type: " + media_type.encode()] if media_type else []
    second = f"GET {hidden} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    return [
        _get(*typed, *fields, line=line, body=body)
        for fields, body in _ambiguous(second, content)[id]
    ]
