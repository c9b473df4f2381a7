"""Broken requests, and requests whose end is ambiguous."""


def _get(*fields: bytes, line: bytes = b"GET /index HTTP/1.1", body: bytes = b"") -> bytes:
    return b"\r\n".join([line, b"Host: x", *fields, b"", b""]) + body


BROKEN: dict[str, bytes] = {
    "no-request-line": b"\x00\x01\x02\x03\r\n\r\n",
    "one-word": b"GET\r\n\r\n",
    "no-version": _get(line=b"GET /index"),
    "version-9-9": _get(line=b"GET /index HTTP/9.9"),
    "version-in-words": _get(line=b"GET /index HTTP/one"),
    "space-in-target": _get(line=b"GET /index?a b HTTP/1.1"),
    "tls": bytes.fromhex("16030100c8010000c403030000000000"),
    "http-2-preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "header-without-colon": _get(b"nonsense"),
    "header-name-with-space": _get(b"A B: c"),
    "space-before-colon": _get(b"X-A : b"),
    "folded-header": _get(b"X-A: b", b" c"),
    "nul-in-header": _get(b"X-A: \x00"),
    "bare-lf": b"GET /index HTTP/1.1\nHost: x\n\n",
    "bare-cr": b"GET /index HTTP/1.1\rHost: x\r\r",
    "no-host": b"GET /index HTTP/1.1\r\n\r\n",
    "two-hosts": _get(b"Host: y"),
    "headers-of-64-kb": _get(*[b"X-A: " + b"a" * 1000] * 65),
    "header-of-64-kb": _get(b"X-A: " + b"a" * (1 << 16)),
    "5000-headers": _get(*[b"a: b"] * 5000),
    "target-of-100-kb": _get(line=b"GET /index?%s HTTP/1.1" % (b"a" * 100_000)),
    "negative-length": _get(b"Content-Length: -1"),
    "length-in-words": _get(b"Content-Length: ten"),
    "two-lengths": _get(b"Content-Length: 3", b"Content-Length: 4", body=b"abcd"),
    "bad-chunk-size": _get(b"Transfer-Encoding: chunked", body=b"zz\r\n0\r\n\r\n"),
    "unknown-coding": _get(b"Transfer-Encoding: nonsense"),
}
"""Requests that RFC 9112 does not allow, or that are larger than most servers accept.

All that can be understood ask for ``/index``: a 200 shows that a server did.
"""

HIDDEN = b"GET /json HTTP/1.1\r\nHost: x\r\n\r\n"
"""The request that an ambiguous one hides."""


def _post(*fields: bytes, body: bytes, version: bytes = b"1.1") -> bytes:
    return _get(*fields, line=b"POST /index HTTP/" + version, body=body)


def _chunked(body: bytes) -> bytes:
    return _post(b"Transfer-Encoding: chunked", body=body)


_LENGTH = b"Content-Length: %d"
_END = b"0\r\n\r\n"
_BOTH = _END + HIDDEN
"""By its length, all of this is the body; read as chunks, only the beginning is."""

AMBIGUOUS: dict[str, bytes] = {
    "length-and-chunked": _post(_LENGTH % len(_BOTH), b"Transfer-Encoding: chunked", body=_BOTH),
    "chunked-and-identity": _post(
        _LENGTH % len(_END), b"Transfer-Encoding: chunked, identity", body=_BOTH
    ),
    "coding-with-space": _post(_LENGTH % len(_BOTH), b"Transfer-Encoding : chunked", body=_BOTH),
    "folded-coding": _post(_LENGTH % len(_BOTH), b"Transfer-Encoding:", b" chunked", body=_BOTH),
    "coding-twice": _post(*[b"Transfer-Encoding: chunked"] * 2, body=_BOTH),
    "xchunked": _post(b"Transfer-Encoding: xchunked", body=_BOTH),
    "coding-in-http-1-0": _post(
        *(b"Connection: keep-alive", b"Transfer-Encoding: chunked"), body=_BOTH, version=b"1.0"
    ),
    "zero-and-length": _post(b"Content-Length: 0", _LENGTH % len(HIDDEN), body=HIDDEN),
    "length-list": _post(b"Content-Length: %d, %d" % ((len(HIDDEN),) * 2), body=HIDDEN),
    "length-with-sign": _post(b"Content-Length: +0", body=HIDDEN),
    "get-with-body": _get(_LENGTH % len(HIDDEN), body=HIDDEN),
    "chunk-size-with-sign": _chunked(b"+5\r\nhello\r\n" + _BOTH),
    "chunk-size-with-prefix": _chunked(b"0x5\r\nhello\r\n" + _BOTH),
    "lf-after-chunk-size": _chunked(b"0\n\r\n" + HIDDEN),
    # If the line feed ends the line, the data of the second chunk is the hidden request.
    "lf-in-chunk-extension": _chunked(b"2;a\nxx\r\n%x\r\n%s\r\n" % (len(_BOTH), _BOTH) + _END),
    # After the data some servers skip two bytes unread, others the rest of the line.
    "chunk-without-crlf": _chunked(b"5\r\nhello!\n" + _BOTH),
    "request-in-trailer": _chunked(b"0\r\nX-A: b\r\n" + HIDDEN),
}
"""Requests whose end is ambiguous: read in one of two ways, they hide a second request."""
