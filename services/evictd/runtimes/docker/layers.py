"""Where a container writes what is in no volume: the upper folder of its overlay.

Blocking: it reads `/proc`.
"""

import re
from pathlib import Path

from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.hierarchies import text
from evictd.shell.kernel_text import lines

ESCAPED = re.compile(r"\\([0-7]{3})")
"""How the kernel writes blanks and other odd characters of a path. [proc_pid_mountinfo(5)]"""
UPPER = "upperdir="


def writable_layer(container: Inspected, proc: Path) -> str | None:
    """As the engine tells; one that keeps its images in containerd does not, and the kernel does.

    None where neither tells, as without an overlay.
    """
    data = (container.graph_driver.data if container.graph_driver else None) or {}
    return data.get("UpperDir") or _mounted(container.state.pid, proc)


def _mounted(process_id: int, proc: Path) -> str | None:
    """The upper folder of the overlay that is the root of a process."""
    if not process_id:
        return None
    for line in lines(text(proc / str(process_id) / "mountinfo") or ""):
        place, _, system = line.partition(" - ")
        fields, words = place.split(), system.split()
        if len(fields) > 4 and fields[4] == "/" and len(words) > 2 and words[0] == "overlay":
            uppers = (word for word in words[2].split(",") if word.startswith(UPPER))
            return next((_plain(word.removeprefix(UPPER)) for word in uppers), None)
    return None


def _plain(path: str) -> str:
    return ESCAPED.sub(lambda found: chr(int(found.group(1), 8)), path)
