"""Small kernel files: absent is a value, refused is an error, unlimited is no number."""

import errno
import stat
from pathlib import Path

from evictd.core.errors import HostError
from evictd.core.observations import AMOUNT_MAX
from evictd.runtimes.hierarchies import LIMIT_MAX, content
from evictd.shell.kernel_text import COUNTER_MAX, lines, shown, whole_number

ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESRCH, errno.ENODEV, errno.EOPNOTSUPP})
"""Not there, vanished while it was read, or not offered by this kernel."""


def text(path: Path) -> str | None:
    """The file's content, None where there is none. Raises `HostError` when it may not be read."""
    try:
        return content(path)
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise HostError(f"{shown(path)}: {error.strerror}") from error


def required(path: Path) -> str:
    """The content of a file that must be there. Raises `HostError` naming it."""
    found = text(path)
    if found is None:
        raise HostError(f"{path} is not there")
    return found


def is_folder(path: Path) -> bool:
    """Whether there is such a folder. Raises `HostError` when one may not look."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except ValueError:  # somebody gave us a path that none can have
        return False
    except OSError as error:
        if error.errno in ABSENT:
            return False
        raise HostError(f"{shown(path)}: {error.strerror}") from error


def names(folder: Path) -> tuple[str, ...]:
    """What is in a folder, nothing where there is none. Raises `HostError` as `text` does."""
    try:
        return tuple(sorted(entry.name for entry in folder.iterdir()))
    except OSError as error:
        if error.errno in ABSENT:
            return ()
        raise HostError(f"{shown(folder)}: {error.strerror}") from error


def amount(path: Path) -> int | None:
    """One number; None where the file is absent or says `max`. Raises `HostError` for others."""
    found = text(path)
    return None if found is None else _amount(found, path, AMOUNT_MAX)


def limit(path: Path) -> int | None:
    """One limit; None where there is none, in whatever way that is written."""
    found = text(path)
    return None if found is None else limit_of(found, path)


def limit_of(content: str, path: Path) -> int | None:
    """The same of a file that has been read."""
    return limited(_amount(content, path, COUNTER_MAX))


def limited(figure: int | None) -> int | None:
    """A figure that is a limit, zero included; None for one that stands for "no limit"."""
    return None if figure is None or figure > LIMIT_MAX else figure


def keyed(content: str, path: Path) -> dict[str, int]:
    """Lines of `key number`. Raises `HostError` naming the key that has no number."""
    figures = {}
    for line in lines(content):
        key, _, value = line.partition(" ")
        if value:
            figures[key] = whole_number(value.strip(), f"{path}: {key}")
    return figures


def _amount(content: str, path: Path, most: int) -> int | None:
    word = content.strip()
    return None if word == "max" else whole_number(word, path, most)
