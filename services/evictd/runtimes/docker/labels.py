"""The `evictd.*` labels of a container: what its owner wants, and what was probably misspelt.

A label that does not read as what it should be is reported and otherwise as if it were not there.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from msgspec import Struct

from evictd.core.admission.objects import declared_problems
from evictd.core.orders import Restore
from evictd.core.protocol.chain import REGISTERED_PRIORITY
from evictd_schemas import DeclaredResponder

PREFIX = "evictd."
PRIORITY = "evictd.priority"
PROTECT = "evictd.protect"
RESTORE = "evictd.restore"
DEPENDS_ON = "evictd.depends-on"
GROUP = "evictd.group"
RESPONDERS = "evictd.responders"
ROLE = "evictd.role"
KNOWN = (PRIORITY, PROTECT, RESTORE, DEPENDS_ON, GROUP, RESPONDERS, ROLE)

PRIORITIES = {"low": -1000, "normal": 0, "high": 1000}
"""Words for people who do not want to think of numbers; greater stays longer."""
RESTORES = (Restore.AUTO, Restore.NEVER)
SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "": True} | dict.fromkeys(
    ("false", "no", "off", "0"), False
)


class Wishes(Struct, frozen=True, kw_only=True):
    """What the labels say. `labelled`: there is one that names the workload as ours to look at."""

    labelled: bool = False
    priority: int | None = None
    protect: bool = False
    restore: str = "auto"
    depends_on: tuple[str, ...] = ()
    group: str | None = None
    role: str | None = None
    responders: tuple[DeclaredResponder, ...] = ()
    problems: tuple[str, ...] = ()


def read(labels: Mapping[str, str], image_labels: Mapping[str, str], namespace: str) -> Wishes:
    """All of them. An image cannot protect what is made from it: that is its user's business."""
    own = {name: value for name, value in labels.items() if name.startswith(PREFIX)}
    if own.get(PROTECT) is not None and own[PROTECT] == image_labels.get(PROTECT):
        del own[PROTECT]
    problems: list[str] = []
    return Wishes(
        labelled=any(name in own for name in KNOWN if name != ROLE),
        priority=_priority(own, problems),
        protect=_switch(own, problems),
        restore=_restore(own, problems),
        depends_on=_names(own.get(DEPENDS_ON, ""), namespace),
        group=own.get(GROUP) or None,
        role=own.get(ROLE) or None,
        responders=_responders(own, problems),
        problems=(*problems, *_unknown(own)),
    )


def _priority(own: Mapping[str, str], problems: list[str]) -> int | None:
    word = own.get(PRIORITY)
    if word is None:
        return None
    if word.lower() in PRIORITIES:
        return PRIORITIES[word.lower()]
    try:
        return int(word)
    except ValueError:
        wanted = ", ".join(PRIORITIES)
        problems.append(f"label {PRIORITY}={word}: a whole number or one of {wanted} is meant")
        return None


def _switch(own: Mapping[str, str], problems: list[str]) -> bool:
    word = own.get(PROTECT)
    if word is None:
        return False
    found = SWITCHES.get(word.lower())
    if found is None:
        problems.append(f"label {PROTECT}={word}: true or false is meant; taken as true")
    return found is not False


def _restore(own: Mapping[str, str], problems: list[str]) -> str:
    word = own.get(RESTORE, "auto").lower()
    if word in RESTORES:
        return word
    problems.append(f"label {RESTORE}={word}: one of {', '.join(RESTORES)} is meant")
    return "auto"


def _names(text: str, namespace: str) -> tuple[str, ...]:
    words = (word.strip() for word in text.split(","))
    return tuple(word if "/" in word else f"{namespace}/{word}" for word in words if word)


def _responders(own: Mapping[str, str], problems: list[str]) -> tuple[DeclaredResponder, ...]:
    """`acme.io/drain` or `acme.io/drain:20000`, separated by commas."""
    found: tuple[DeclaredResponder, ...] = ()
    for word in filter(None, (word.strip() for word in own.get(RESPONDERS, "").split(","))):
        name, _, number = word.partition(":")
        if name.count("/") != 1 or (number and not number.isdigit()):
            problems.append(
                f"label {RESPONDERS}: {word!r}: domain/name or domain/name:number is meant"
            )
            continue
        priority = int(number) if number else REGISTERED_PRIORITY
        wanted = (*found, DeclaredResponder(name=name, priority=priority))
        broken = next(declared_problems(wanted, None, field=""), None)
        if broken is None:
            found = wanted
        else:
            problems.append(f"label {RESPONDERS}: {word!r}: {broken.reason}")
    return found


def _unknown(own: Mapping[str, str]) -> tuple[str, ...]:
    problems = []
    for name in own:
        if name not in KNOWN:
            near = get_close_matches(name, KNOWN, n=1)
            meant = f"; is {near[0]} meant?" if near else ""
            problems.append(f"label {name} is not known{meant}")
    return tuple(problems)
