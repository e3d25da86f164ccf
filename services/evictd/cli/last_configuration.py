"""Which configuration file evictd runs with here, so that a verb about it reads the same one.

`up` writes the file's name into its state folder; a verb that was given no file looks there.
"""

import os
from pathlib import Path

from evictd.core.errors import HostError

NAME = "configuration-file"


def remember(folder: Path, file: Path | None) -> None:
    """Keep the file's name; none was given: forget the former one. Raises `HostError`."""
    record = folder / NAME
    try:
        if file is None:
            record.unlink(missing_ok=True)
        else:
            record.write_text(f"{file.absolute()}\n")
    except OSError as error:
        raise HostError(f"{record}: cannot be written: {error.strerror}") from error


def remembered(folder: Path) -> Path | None:
    """The file of the evictd that last started here; None where none is known or it has gone.

    Nor for a user who may not read it.
    """
    try:
        file = Path((folder / NAME).read_text(errors="replace").rstrip("\n"))
        return file if file.is_file() and os.access(file, os.R_OK) else None
    except OSError:
        return None
