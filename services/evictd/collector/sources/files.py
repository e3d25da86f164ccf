"""Small kernel files: absent is a value, refused is an error, unlimited is no number."""

import errno
from pathlib import Path

from evictd.core.errors import HostError
from evictd.runtimes.hierarchies import LIMIT_MAX, content

ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESRCH, errno.ENODEV, errno.EOPNOTSUPP})
"""Not there, vanished while it was read, or not offered by this kernel."""


def text(path: Path) -> str | None:
    """The file's content, None where there is none. Raises `HostError` when it may not be read."""
    try:
        return content(path)
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise HostError(f"{path}: {error.strerror}") from error


def required(path: Path) -> str:
    """The content of a file that must be there. Raises `HostError` naming it."""
    found = text(path)
    if found is None:
        raise HostError(f"{path} is not there")
    return found


def amount(path: Path) -> int | None:
    """One number; None where the file is absent or says `max`. Raises `HostError` for others."""
    found = text(path)
    if found is None or found.strip() == "max":
        return None
    return whole_number(found.strip(), path)


def limit(path: Path) -> int | None:
    """One limit; None where there is none, in whatever way that is written."""
    return limited(amount(path))


def limited(figure: int | None) -> int | None:
    """A figure that is a limit, zero included; None for one that stands for "no limit"."""
    return None if figure is None or figure > LIMIT_MAX else figure


def keyed(content: str, path: Path) -> dict[str, int]:
    """Lines of `key number`. Raises `HostError` naming the key that has no number."""
    figures = {}
    for line in content.splitlines():
        key, _, value = line.partition(" ")
        if value:
            figures[key] = whole_number(value.strip(), f"{path}: {key}")
    return figures


def whole_number(digits: str, place: object) -> int:
    """A number that is not negative. Raises `HostError` naming the place."""
    if not (digits.isascii() and digits.isdigit()):
        raise HostError(f"{place}: {digits[:40]!r} is not a number")
    return int(digits)
