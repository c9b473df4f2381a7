"""The generated images, in a folder and in GridFS."""

from collections.abc import Callable
from pathlib import Path

import gridfs
import pymongo

import spec
from bench.workloads.png import image
from bench.workloads.workload import Images
from harness.paths import RUN
from harness.services import Services

Progress = Callable[[int], None]


def prepare(images: Images, services: Services, progress: Progress) -> tuple[Path, list[str]]:
    """Generate missing images; return their folder and their request targets.

    ``progress`` is called after each image with the number of images in place.
    """
    folder = RUN / "images" / f"{images.count}-1"
    names = [f"{index:05}.png" for index in range(images.count)]
    _write(folder, names, progress)
    if images.endpoint == "/gridfs":
        _upload(folder, names, services.mongodb_url, progress)
    return folder, [f"{images.endpoint}/{name}" for name in names]


def _write(folder: Path, names: list[str], progress: Progress) -> None:
    """Write the images to a folder, keeping those of an interrupted run."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, name in enumerate(names):
        content, path = image(index), folder / name
        if not (path.is_file() and path.stat().st_size == len(content)):
            partial = path.with_suffix(".part")
            partial.write_bytes(content)
            partial.replace(path)
        progress(index + 1)


def _upload(folder: Path, names: list[str], url: str, progress: Progress) -> None:
    with pymongo.MongoClient[dict[str, object]](url) as client:
        database = client.get_default_database()
        bucket = gridfs.GridFSBucket(database)
        there = {
            file["filename"]: file["length"]
            for file in database["fs.files"].find({"metadata.image": True})
        }
        for count, name in enumerate(names, 1):
            content = (folder / name).read_bytes()
            if there.get(name) != len(content):
                metadata = {"contentType": spec.content_type(name), "image": True}
                bucket.upload_from_stream(name, content, metadata=metadata)
            progress(count)
