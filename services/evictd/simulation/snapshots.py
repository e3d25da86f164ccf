"""Raw `/proc` files as the signals that a collector would make of them.

The collector's own sources read them; what belongs to control groups is not in such a snapshot.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from evictd.collector.sources import memory, pids, pressure
from evictd.core.errors import InputError
from evictd.runtimes.hierarchies import Hierarchies
from evictd_schemas import SignalReading

NO_GROUPS = Hierarchies()


def signals_of(proc: Path) -> dict[str, SignalReading]:
    """Of as many files as there are.

    `meminfo`, `pressure/memory`, `pressure/io`, `loadavg` with `sys/kernel/pid_max` or
    `threads-max`. Raises `HostError` naming a figure that cannot be.
    """
    signals = pressure.read(proc, NO_GROUPS, None)
    if (proc / "meminfo").exists():
        signals |= memory.read(proc, NO_GROUPS, None)
    if (proc / "loadavg").exists():
        signals |= pids.read(proc, NO_GROUPS, None)
    return signals


def signals_of_texts(files: dict[str, str]) -> dict[str, SignalReading]:
    """The same of texts by the name of their file.

    Raises `InputError` for a name that leads out of the folder.
    """
    with TemporaryDirectory(prefix="evictd-proc-") as folder:
        for name, text in files.items():
            path = Path(folder) / name
            if not path.resolve().is_relative_to(Path(folder).resolve()) or name in ("", "."):
                raise InputError(f"{name!r} is no file below /proc")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return signals_of(Path(folder))
