"""Images for benchmarks, the same bytes on every machine."""

import math
import random
import struct
import zlib

SMALLEST = 5_000
LARGEST = 59_000

SIGNATURE = b"\x89PNG\r\n\x1a\n"
TRUECOLOR = struct.pack(">BBBBB", 8, 2, 0, 0, 0)
STORED_BLOCK = 0xFFFF
NOISE = 0x3F


def image(index: int) -> bytes:
    """A PNG of 5 to 60 KB."""
    # Use only `random()` and `getrandbits()`: other methods may change between Python versions.
    generator = random.Random(f"1/{index}")
    size = SMALLEST + int(generator.random() * (LARGEST - SMALLEST))
    width = int(math.isqrt(size // 3) * (0.75 + generator.random() / 2))
    height = math.ceil(size / (1 + 3 * width))
    return _png(width, height, _scanlines(generator, width, height))


def _scanlines(generator: random.Random, width: int, height: int) -> bytes:
    """Draw a diagonal gradient with noise; no byte overflows, so one addition adds all bytes."""
    first, last = generator.getrandbits(24).to_bytes(3), generator.getrandbits(24).to_bytes(3)
    steps = width + height
    ramp = bytes(
        (low * (steps - step) + high * step) // steps * (0xFF - NOISE) // 0xFF
        for step in range(steps)
        for low, high in zip(first, last, strict=True)
    )
    gradient = b"".join(b"\0" + ramp[3 * row : 3 * (row + width)] for row in range(height))
    mask = (b"\0" + bytes([NOISE]) * 3 * width) * height
    noise = generator.getrandbits(8 * len(mask)) & int.from_bytes(mask)
    return (int.from_bytes(gradient) + noise).to_bytes(len(mask))


def _png(width: int, height: int, scanlines: bytes) -> bytes:
    return b"".join(
        [
            SIGNATURE,
            _chunk(b"IHDR", struct.pack(">II", width, height) + TRUECOLOR),
            _chunk(b"IDAT", _stored(scanlines)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _stored(data: bytes) -> bytes:
    """Wrap `data` like zlib at level 0, but with block sizes that do not depend on its version."""
    blocks = [data[start : start + STORED_BLOCK] for start in range(0, len(data), STORED_BLOCK)]
    headers = (
        struct.pack("<BHH", number == len(blocks), len(block), len(block) ^ 0xFFFF)
        for number, block in enumerate(blocks, 1)
    )
    stored = b"".join(part for pair in zip(headers, blocks, strict=True) for part in pair)
    return b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(data))
