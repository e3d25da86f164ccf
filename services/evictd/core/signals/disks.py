"""The file systems that signals are about, and the folders under which they are found."""

from collections.abc import Mapping

from evictd_schemas.sources import FileSystemSources

NODEFS = "nodefs"
IMAGEFS = "imagefs"
CONTAINERFS = "containerfs"


def places(settings: FileSystemSources) -> dict[str, str]:
    """Name to folder: images are on nodefs and layers with the images unless said otherwise."""
    imagefs = settings.imagefs or settings.nodefs
    return {
        NODEFS: settings.nodefs,
        IMAGEFS: imagefs,
        CONTAINERFS: settings.containerfs or imagefs,
    }


def place_of(places: Mapping[str, str], signal: str) -> str | None:
    """The folder of a disk signal, such as `nodefs.inodesFree`; None for any other signal."""
    return places.get(signal.partition(".")[0])
