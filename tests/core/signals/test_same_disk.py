"""Which signals tell of one file system."""

import pytest

from evictd.core.signals.layouts import same_disk
from evictd_schemas import Layout

BYTES = ("nodefs.available", "imagefs.available", "containerfs.available")
ONE, IMAGES, WRITABLE, EACH = (
    Layout(),
    Layout(dedicated_image_fs=True),
    Layout(dedicated_container_fs=True),
    Layout(dedicated_image_fs=True, dedicated_container_fs=True),
)


@pytest.mark.parametrize(
    ("layout", "disks"),
    [
        (ONE, [BYTES]),
        (IMAGES, [BYTES[:1], BYTES[1:]]),
        (WRITABLE, [BYTES[:2], BYTES[2:]]),
        (EACH, [BYTES[:1], BYTES[1:2], BYTES[2:]]),
    ],
    ids=["one", "images apart", "writable layers apart", "each apart"],
)
def test_signals_of_one_file_system_are_told_by_the_layout(
    layout: Layout, disks: list[tuple[str, ...]]
) -> None:
    for disk in disks:
        for signal in disk:
            assert same_disk(layout, signal) == disk
            inodes = tuple(name.replace("available", "inodesFree") for name in disk)
            assert same_disk(layout, signal.replace("available", "inodesFree")) == inodes


def test_any_other_signal_is_alone() -> None:
    assert same_disk(ONE, "memory.available") == ("memory.available",)
