"""The generated images, in a folder and in GridFS."""

import math
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import gridfs
import pymongo

import spec
from bench.workloads.workload import Images
from harness.paths import RUN
from harness.services import Services
from harness.system.files import write_whole

Progress = Callable[[int], None]

_VERSION = 2  # Of the images, raised when `image` changes


def prepare(images: Images, services: Services, progress: Progress) -> tuple[Path, list[str]]:
    """Generate missing images; return their folder and their request targets.

    ``progress`` is called after each image with the number of images in place.
    """
    folder = RUN / "images" / f"{images.count}-{_VERSION}"
    names = [f"{index:05}.png" for index in range(images.count)]
    _write(folder, names, progress)
    if images.endpoint == "/gridfs":
        _upload(folder, names, services.mongodb_url, progress)
    return folder, [f"{images.endpoint}/{name}" for name in names]


def _write(folder: Path, names: list[str], progress: Progress) -> None:
    """Write the images to a folder, keeping those of an interrupted run."""
    for index, name in enumerate(names):
        content, path = image(index), folder / name
        if not (path.is_file() and path.stat().st_size == len(content)):
            write_whole(path, content)
        progress(index + 1)


def _upload(folder: Path, names: list[str], url: str, progress: Progress) -> None:
    with pymongo.MongoClient[dict[str, object]](url) as client:
        database = client.get_default_database()
        bucket = gridfs.GridFSBucket(database)
        there = {
            file["filename"]: file["length"]
            for file in database["fs.files"].find({"metadata.image": _VERSION})
        }
        for count, name in enumerate(names, 1):
            content = (folder / name).read_bytes()
            if there.get(name) != len(content):
                metadata = {"contentType": spec.content_type(name), "image": _VERSION}
                bucket.upload_from_stream(name, content, metadata=metadata)
            progress(count)


def image(index: int) -> bytes:
    """A PNG of 5 to 60 KB, of noise: the same pixels on every machine."""
    # `random()` and `getrandbits()` are the same in every version of Python; other methods are not.
    generator = random.Random(f"1/{index}")
    size = 5_000 + int(generator.random() * 54_000)
    width = int(math.isqrt(size // 3) * (0.75 + generator.random() / 2))
    height = math.ceil(size / (1 + 3 * width))
    rows = (b"\0" + generator.getrandbits(24 * width).to_bytes(3 * width) for _ in range(height))
    truecolor = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = {b"IHDR": truecolor, b"IDAT": zlib.compress(b"".join(rows), level=0), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks.items())


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
