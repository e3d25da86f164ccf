"""Who runs on this machine: evictd, brokers, engines, other killers. Read from `/proc`."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from msgspec import Struct

from evictd.cli.checkup.containers import Twin
from evictd.cli.checkup.killers import JUDGES, Killer
from evictd.cli.checkup.protection import Guarded
from evictd.cli.examination.foreign_file import beginning
from evictd.collector.sources import files
from evictd.core.errors import HostError
from evictd.runtimes.hierarchies import is_there, locate, text
from evictd.shell.kernel_text import PROCESS_ID_MAX, lines, number

ENGINES = frozenset({"dockerd", "containerd"})
BROKERS = frozenset({"mosquitto"})
CONFIGURATIONS: dict[str, tuple[str, ...]] = {
    "systemd-oomd": (
        "usr/lib/systemd/oomd.conf",
        "etc/systemd/oomd.conf",
        "usr/lib/systemd/oomd.conf.d/*.conf",
        "etc/systemd/oomd.conf.d/*.conf",
    ),
    "nohang": ("etc/nohang/nohang.conf",),
    "oomd": ("etc/oomd.json",),
    "kubelet": ("var/lib/kubelet/config.yaml",),
    "k3s-server": ("etc/rancher/k3s/config.yaml",),
    "k3s-agent": ("etc/rancher/k3s/config.yaml",),
}
"""Where each keeps what it was told, in the order in which the later one wins."""
CONTAINER_ID = re.compile(r"[0-9a-f]{64}")
NESTED = "a container"
"""What a process is in whose group does not name it: a container sees its own group as `/`."""
FLAGS = ("--config", "-c")


class Process(Struct, frozen=True, kw_only=True):
    """One process. `environment` is empty where it belongs to another user."""

    pid: int
    name: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    container: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments as words, paths cut to their last part."""
        return tuple(PurePath(word).name for word in self.arguments)

    @property
    def evictd_verb(self) -> tuple[str, ...]:
        """What follows `evictd` in its command, nothing where it is none of ours."""
        words = self.words
        if "evictd" not in words[:4]:
            return ()
        return words[words.index("evictd") + 1 :]

    def given(self, flag: str) -> str:
        """The value of an option, apart or after `=`; "" without."""
        for index, word in enumerate(self.arguments):
            if word == flag:
                return next(iter(self.arguments[index + 1 :]), "")
            if word.startswith(f"{flag}="):
                return word.removeprefix(f"{flag}=")
        return ""


def processes(proc: Path) -> tuple[Process, ...]:
    """Every one with arguments; kernel threads have none."""
    found = (process(folder) for folder in proc.glob("[0-9]*"))
    return tuple(one for one in found if one is not None and one.arguments)


def process(folder: Path) -> Process | None:
    """One by its folder in `/proc`; None where it is gone or not for us to see."""
    name = text(folder / "comm")
    command = text(folder / "cmdline")
    pid = number(folder.name, PROCESS_ID_MAX)
    if name is None or command is None or pid is None:
        return None
    group = CONTAINER_ID.search(text(folder / "cgroup") or "")
    variables = (entry.partition("=") for entry in (text(folder / "environ") or "").split("\0"))
    return Process(
        pid=pid,
        name=name.strip(),
        arguments=tuple(word for word in command.split("\0") if word),
        environment={key: value for key, _, value in variables if key.startswith("EVICTD_")},
        container=NESTED * _is_nested(folder) if group is None else group.group(),
    )


def _is_nested(folder: Path) -> bool:
    """Whether it has a process id of its own below that of the machine. [proc(5), status: NSpid]"""
    status = lines(text(folder / "status") or "")
    numbers = next((line.split()[1:] for line in status if line.startswith("NSpid:")), [])
    return len(numbers) > 1


def killers(every: Iterable[Process], folder: Path = Path("/")) -> tuple[Killer, ...]:
    """Those that are known, each once."""
    found = {}
    for process in every:
        called = (process.name, *process.words[:2])
        name = next((name for name in JUDGES if name in called), None)
        if name is not None:
            found[name] = Killer(
                name=name,
                arguments=process.arguments[1:],
                configuration=_configuration(name, process, folder),
            )
    return tuple(found.values())


def _configuration(name: str, process: Process, folder: Path) -> str:
    given = next(filter(None, (process.given(flag) for flag in FLAGS)), "")
    if given:
        return beginning(folder / given.lstrip("/")) or ""
    patterns = CONFIGURATIONS.get(name, ())
    places = (place for pattern in patterns for place in sorted(folder.glob(pattern)))
    return "\n".join(beginning(place) or "" for place in places)


def guarded(every: Iterable[Process], proc: Path, cgroup: Path) -> Iterator[Guarded]:
    """Those that must outlive a shortage."""
    for process in every:
        if (part := _part(process)) is None:
            continue
        place = proc / str(process.pid)
        status = _status(place)
        adjusted = (text(place / "oom_score_adj") or "").strip()
        if not adjusted and not is_there(place):  # it has ended meanwhile
            continue
        yield Guarded(
            part=part,
            pid=process.pid,
            oom_score_adj=_signed(adjusted),
            swapped_kib=status.get("VmSwap"),
            locked_kib=status.get("VmLck"),
            reserved_bytes=_reserved_bytes(place, cgroup),
        )


def _part(process: Process) -> str | None:
    if process.evictd_verb[:1] in (("up",), ("run",)):
        return "evictd"
    if process.name in BROKERS:
        return "broker"
    return "engine" if process.name in ENGINES else None


def _status(place: Path) -> dict[str, int]:
    rows = (line.split() for line in lines(text(place / "status") or ""))
    told = {words[0].rstrip(":"): number(words[1]) for words in rows if len(words) > 1}
    return {name: amount for name, amount in told.items() if amount is not None}


def _signed(word: str) -> int | None:
    amount = number(word.removeprefix("-"))
    return -amount if amount is not None and word.startswith("-") else amount


def _reserved_bytes(place: Path, cgroup: Path) -> int | None:
    """What its group keeps when others need memory; the v2 tree alone has that."""
    unified = locate(cgroup).unified
    line = next((one for one in lines(text(place / "cgroup") or "") if one.startswith("0::")), None)
    if unified is None or line is None:
        return None
    group = unified / line.removeprefix("0::").lstrip("/")
    try:
        amounts = [files.amount(group / name) or 0 for name in ("memory.min", "memory.low")]
    except HostError:
        return None
    return max(amounts)


def twins(every: Iterable[Process]) -> Iterator[Twin]:
    """Each evictd that stops workloads; a responder of the library is another program."""
    for process in every:
        verb = process.evictd_verb
        if verb[:1] == ("up",) or verb[:2] == ("run", "responder"):
            told = process.environment
            yield Twin(
                pid=process.pid,
                node=process.given("--node") or told.get("EVICTD_NODE", ""),
                state_folder=told.get("EVICTD_STATEFOLDER", ""),
                container=process.container,
            )


def running(every: Iterable[Process]) -> bool:
    """Whether any worker of evictd runs here."""
    return any(process.evictd_verb[:1] in (("up",), ("run",)) for process in every)


def separate(every: Iterable[Process]) -> bool:
    """Whether workers here are processes of their own."""
    return any(process.evictd_verb[:1] == ("run",) for process in every)
