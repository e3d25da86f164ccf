"""An image without a registry: its programs are the machine's own, mounted into each container."""

from __future__ import annotations

import io
import tarfile

MOUNT = "/usr:/usr:ro"
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
"""All that is in it."""


def archive() -> bytes:
    """What an engine imports."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as image:
        for name, place in LINKS.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, place
            image.addfile(link)
    return packed.getvalue()
