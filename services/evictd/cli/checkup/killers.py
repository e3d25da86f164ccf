"""Other programs that kill or heal on this machine, and whose line comes first.

They save the machine late and without a choice; evictd chooses early. So each of their lines should
be below ours. [design, two profiles: other killers] [field cases I7, J1, J2]
"""

import re
from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec import Struct, structs

from evictd.cli.checkup.findings import Finding, State, note, ok, problem
from evictd.core.signals.threshold_settings import value_of
from evictd.core.signals.thresholds import Amount, Share
from evictd.shell.causes import UNREADABLE

EARLYOOM_PERCENT = 10.0
NOHANG_PERCENT = 5.0
"""Its soft line; the hard one is lower."""
OOMD_PRESSURE_PERCENT = 60.0
OOMD_PRESSURE_SECONDS = "30s"
OOMD_USED_PERCENT = 90.0
KUBELET_VALUE = "100Mi"
PSI_MONITOR_PERCENT = 40.0
"""What each of them does where nothing is configured."""
KIB_PER_MIB = 1024
BYTES_PER_MIB = 1 << 20
KUBELET_LINE = re.compile(r"""memory\.available["']?\s*[:<]\s*["']?([^\s"',;}]+)""")
"""Its first line for memory, of a flag or a file: the hard ones are mostly written first."""


class Killer(Struct, frozen=True, kw_only=True):
    """A killer that runs, by the name of its process.

    `arguments` as it was started, `configuration` the text of its files, "" where none is readable.
    """

    name: str
    arguments: tuple[str, ...] = ()
    configuration: str = ""


class OurLines(Struct, frozen=True, kw_only=True):
    """Our hard lines on this machine: memory left in percent and MiB, stalls in percent.

    None where there is no such line, or the machine has no such signal. `swap`: it has any.
    """

    memory_percent: float | None = None
    memory_total_mib: float | None = None
    stall_percent: float | None = None
    swap: bool = False


def findings(killers: tuple[Killer, ...], ours: OurLines) -> Iterator[Finding]:
    """One line for each way in which a killer decides."""
    if not killers:
        yield ok("other killers", "none is running")
    for killer in killers:
        for judge in JUDGES[killer.name]:
            if (found := judge(killer, ours)) is not None:
                yield found


def _against_memory(
    name: str, percent: float, ours: OurLines, remedy: str, *, when: str = ""
) -> Finding:
    """`percent` of memory left is where it begins; `when`: what must be the case besides."""
    check = f"killer {name}"
    if ours.memory_percent is None:
        return note(
            check,
            f"acts at {percent:g}% of memory left{when}, and evictd has no hard line for memory",
            means=f"{name} decides alone who is killed",
        )
    text = f"acts at {percent:g}% of memory left{when}, evictd at {ours.memory_percent:g}%"
    if percent < ours.memory_percent:
        return _behind_us(check, text)
    means = f"{name} comes first and kills a process, whatever its priority here"
    return problem(check, text, means=means, remedy=remedy)


def _behind_us(check: str, text: str) -> Finding:
    return ok(check, f"{text}: evictd comes first")


def _earlyoom(killer: Killer, ours: OurLines) -> Finding:
    """-m PERCENT[,PERCENT]; -M KIB[,KIB] wins where it is the lower one."""
    percent = _option(killer.arguments, "-m")
    kibibytes = _option(killer.arguments, "-M")
    found = EARLYOOM_PERCENT if percent is None else percent
    if kibibytes is not None and ours.memory_total_mib:
        share = 100 * kibibytes / KIB_PER_MIB / ours.memory_total_mib
        found = share if percent is None else min(percent, share)
    remedy = 'EARLYOOM_ARGS="-m 3,1 -s 5,2" in /etc/default/earlyoom, then restart it'
    return _against_memory("earlyoom", round(found, 1), ours, remedy)


def _option(arguments: tuple[str, ...], flag: str) -> float | None:
    """The first number after a flag, written together or apart."""
    for index, word in enumerate(arguments):
        if word.startswith(flag):
            rest = word.removeprefix(flag) or "".join(arguments[index + 1 : index + 2])
            return _number(rest.partition(",")[0])
    return None


def _number(text: str) -> float | None:
    found = re.match(r"\s*(\d+(\.\d+)?)", text)
    return None if found is None else float(found[1])


def _nohang(killer: Killer, ours: OurLines) -> Finding:
    """The soft line is its first; values are `5 %` or `300 M`."""
    values = settings(killer.configuration)
    text = values.get("soft_threshold_min_mem") or values.get("hard_threshold_min_mem") or ""
    amount = _number(text)
    if amount is not None and text.rstrip().endswith("M"):
        total = ours.memory_total_mib
        amount = None if not total else 100 * amount / total
    remedy = "lower soft_threshold_min_mem and hard_threshold_min_mem in its configuration"
    percent = NOHANG_PERCENT if amount is None else round(amount, 1)
    return _against_memory("nohang", percent, ours, remedy)


def _systemd_oomd(killer: Killer, ours: OurLines) -> Finding:
    """It looks at the stalls of single units, of those only that are marked."""
    values = settings(killer.configuration)
    limit = _number(values.get("DefaultMemoryPressureLimit", ""))
    limit = OOMD_PRESSURE_PERCENT if limit is None else limit
    lasting = values.get("DefaultMemoryPressureDurationSec") or OOMD_PRESSURE_SECONDS
    text = f"acts at {limit:g}% of stalls for {lasting} in a marked unit"
    return _against_stalls(
        killer.name,
        text,
        limit,
        ours,
        "DefaultMemoryPressureLimit=60% in /etc/systemd/oomd.conf, or "
        "ManagedOOMMemoryPressure=auto for the slice of the containers; see `oomctl`",
    )


def _systemd_oomd_swap(killer: Killer, ours: OurLines) -> Finding | None:
    """Of units that are marked for it: memory and swap both used up to the same share."""
    if not ours.swap:
        return None
    limit = _number(settings(killer.configuration).get("SwapUsedLimit", ""))
    limit = OOMD_USED_PERCENT if limit is None else limit
    remedy = (
        "SwapUsedLimit=97% in /etc/systemd/oomd.conf, or ManagedOOMSwap=auto for the slice of the "
        "containers; see `oomctl`"
    )
    when = " and as little swap, in a marked unit"
    return _against_memory(killer.name, round(100 - limit, 1), ours, remedy, when=when)


def _kubelet(killer: Killer, ours: OurLines) -> Finding | None:
    """By its flags, else its file; of a distribution that is one process with others too.

    That it comes first is no mistake: beside it evictd is to observe.
    """
    text = f"{' '.join(killer.arguments)}\n{killer.configuration}"
    line = KUBELET_LINE.search(text)
    percent = _percent_left(KUBELET_VALUE if line is None else line[1], ours)
    if percent is None:
        return _untold(killer, ours)
    remedy = "`profile: kubelet` in mode observe beside it, or its evictionHard below ours"
    found = _against_memory(killer.name, round(percent, 1), ours, remedy)
    return structs.replace(found, state=State.NOTE) if found.state is State.PROBLEM else found


def _percent_left(text: str, ours: OurLines) -> float | None:
    """Where a kubelet's own value draws a line; None where that cannot be told."""
    match value_of(text):
        case None:
            return 0.0
        case Share(fraction=fraction):
            return 100 * fraction
        case Amount(quantity=quantity) if ours.memory_total_mib:
            return float(100 * quantity) / BYTES_PER_MIB / ours.memory_total_mib
    return None


def _psi_monitor(killer: Killer, ours: OurLines) -> Finding:
    text = f"lets the kernel kill at {PSI_MONITOR_PERCENT:g}% of stalls"
    return _against_stalls(
        killer.name, text, PSI_MONITOR_PERCENT, ours, "stop and disable psi-monitor.service"
    )


def _against_stalls(name: str, text: str, percent: float, ours: OurLines, remedy: str) -> Finding:
    check = f"killer {name}"
    if ours.stall_percent is None:
        return note(
            check,
            f"{text}, and evictd has no line for stalls",
            means=f"{name} decides alone who is killed in a thrashing machine",
        )
    text = f"{text}, evictd at {ours.stall_percent:g}% of the whole machine's"
    if percent >= ours.stall_percent:
        return _behind_us(check, text)
    means = f"{name} comes first and kills a whole unit or container"
    return problem(check, text, means=means, remedy=remedy)


def _untold(killer: Killer, ours: OurLines) -> Finding:
    """Its lines cannot be compared; that it is there is worth knowing."""
    del ours
    detail = ""
    if killer.configuration:
        detail = "; it has a configuration of its own" if _is_json(killer.configuration) else ""
    return note(
        f"killer {killer.name}",
        f"is running{detail}",
        means="it kills by rules that evictd does not know, and may come first",
        remedy="set its lines below those that `evictd config check` prints",
    )


def _is_json(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except UNREADABLE:
        return False


def settings(text: str) -> Mapping[str, str]:
    """Lines of `key = value`, comments and sections left out; the last one counts."""
    found = {}
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and not key.lstrip().startswith(("#", ";", "$", "@")):
            found[key.strip()] = value.strip()
    return found


JUDGES: Mapping[str, tuple[Callable[[Killer, OurLines], Finding | None], ...]] = {
    "earlyoom": (_earlyoom,),
    "nohang": (_nohang,),
    "systemd-oomd": (_systemd_oomd, _systemd_oomd_swap),
    "psi-monitor": (_psi_monitor,),
    "kubelet": (_kubelet,),
    "kubelite": (_kubelet,),
    "k3s-server": (_kubelet,),
    "k3s-agent": (_kubelet,),
    "oomd": (_untold,),
    "low-memory-monitor": (_untold,),
    "lmkd": (_untold,),
}
"""Every killer that is known, by the name of its process."""
