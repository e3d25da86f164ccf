"""File systems that are watched, as the collector's own sources read them here."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from evictd.cli.checkup.file_systems import FileSystemFacts
from evictd.collector.sources import filesystems
from evictd.core.signals.disks import places
from evictd.shell.configuration.reality import Line
from evictd_schemas import Observation
from evictd_schemas.sources import Sources


def watched(
    sources: Sources, observation: Observation, lines: Iterable[Line]
) -> Iterator[FileSystemFacts]:
    """One for each folder; `lines`: those in force."""
    folders = places(sources.file_systems)
    devices = filesystems.mounted_devices(folders, Path(sources.proc_path))
    met = [line.text for line in lines if line.state == "met"]
    for folder in dict.fromkeys(folders.values()):
        names = tuple(name for name, place in folders.items() if place == folder)
        told = tuple(f"{name}." for name in names)
        yield FileSystemFacts(
            names=names,
            place=folder,
            device=devices.get(names[0]),
            space=observation.signals.get(f"{names[0]}.available"),
            inodes=observation.signals.get(f"{names[0]}.inodesFree"),
            met=tuple(text for text in met if text.startswith(told)),
        )
