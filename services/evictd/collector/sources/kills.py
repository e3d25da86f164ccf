"""Has the kernel killed something for want of memory, and whom?

The machine's counter says that it did; the counter of the group in which the victim ran says whom,
if that group is still there.
"""

from pathlib import Path

from evictd.collector.sources import files
from evictd.core.observations import AMOUNT_MAX
from evictd.shell.kernel_text import lines, whole_number


def machine_count(proc: Path) -> int | None:
    """Kills since boot; None on kernels that do not count them (before 4.13)."""
    content = files.text(proc / "vmstat")
    for line in lines(content or ""):
        key, _, value = line.partition(" ")
        if key == "oom_kill":
            return whole_number(value.strip(), "vmstat: oom_kill", AMOUNT_MAX)
    return None


def group_count(memory_group: Path) -> int | None:
    """Kills in one group: `memory.events` on v2, `memory.oom_control` on v1."""
    for name in ("memory.events", "memory.oom_control"):
        content = files.text(memory_group / name)
        if content is not None:
            return files.keyed(content, memory_group / name).get("oom_kill")
    return None
