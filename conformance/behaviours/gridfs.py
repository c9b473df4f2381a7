"""The group `gridfs`: how a server sends files from the database."""

from conformance import stored
from conformance.behaviours import memory
from conformance.behaviours.lab import Lab, asks
from conformance.subject import BIG, fresh_name


@asks("gridfs-memory-ten", "gridfs", lane="alone")
def gridfs_memory(lab: Lab) -> str:
    """Ten clients of a file of 100 MB."""
    name = fresh_name("bin")
    with stored.files(lab.controlled) as database:
        stored.store(database, name, bytes(BIG))
        return memory.for_ten(lab, "/gridfs/photo.jpg", f"/gridfs/{name}")
