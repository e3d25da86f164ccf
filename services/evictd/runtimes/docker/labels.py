"""The `evictd.*` labels of a container: what its owner wants, and what was probably misspelt.

A label that does not read as what it should be is reported; what it was meant to say does not hold.
Where it may have been meant to keep the workload it is taken for that.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from msgspec import Struct

from evictd.core.admission.objects import declared_problems
from evictd.core.orders import Restore
from evictd.core.protocol.chain import REGISTERED_PRIORITY
from evictd.core.ways import PRIORITIES, Way, names_in, priority_number
from evictd_schemas import DeclaredResponder

PREFIX = "evictd."
ENABLE = "evictd.enable"
ACTION = "evictd.action"
PRIORITY = "evictd.priority"
PROTECT = "evictd.protect"
RESTORE = "evictd.restore"
DEPENDS_ON = "evictd.depends-on"
GROUP = "evictd.group"
RESPONDERS = "evictd.responders"
ROLE = "evictd.role"
KNOWN = (PRIORITY, PROTECT, ENABLE, ACTION, GROUP, DEPENDS_ON, RESTORE, RESPONDERS, ROLE)
NOT_FROM_IMAGES = (PROTECT, ENABLE, ACTION, RESPONDERS)
"""What an image says of itself decides nothing here: who runs it does."""

ROLES = ("broker", "proxy", "evictd")
RESTORES = (Restore.AUTO, Restore.MANUAL, Restore.NEVER)
SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "": True} | dict.fromkeys(
    ("false", "no", "off", "0"), False
)


class Wishes(Struct, frozen=True, kw_only=True):
    """What the labels say. `labelled`: there is one that names the workload as ours to look at."""

    labelled: bool = False
    priority: int | None = None
    enable: bool | None = None
    protect: bool = False
    restore: str = "auto"
    action: str = Way.STOP
    depends_on: tuple[str, ...] | None = None
    group: str | None = None
    role: str | None = None
    responders: tuple[DeclaredResponder, ...] = ()
    problems: tuple[str, ...] = ()


def read(labels: Mapping[str, str], image_labels: Mapping[str, str], namespace: str) -> Wishes:
    """All of them. An image cannot protect what is made from it: that is its user's business."""
    own = {
        name: value
        for name, value in labels.items()
        if name.startswith(PREFIX)
        and not (name in NOT_FROM_IMAGES and value == image_labels.get(name))
    }
    problems: list[str] = []
    return Wishes(
        labelled=any(name in own for name in KNOWN if name != ROLE),
        priority=_priority(own, problems),
        enable=_switch(own, ENABLE, problems),
        protect=bool(_switch(own, PROTECT, problems)),
        restore=_word(own, RESTORE, RESTORES, problems),
        action=_word(own, ACTION, tuple(Way), problems),
        depends_on=names_in(namespace, own[DEPENDS_ON].split(",")) if DEPENDS_ON in own else None,
        group=own.get(GROUP) or None,
        role=_role(own, problems),
        responders=_responders(own, problems),
        problems=(*problems, *_unknown(own)),
    )


def _priority(own: Mapping[str, str], problems: list[str]) -> int | None:
    word = own.get(PRIORITY)
    if word is None:
        return None
    try:
        return priority_number(word)
    except ValueError:
        wanted = ", ".join(PRIORITIES)
        problems.append(f"label {PRIORITY}={word}: a whole number or one of {wanted} is meant")
        return None


def _switch(own: Mapping[str, str], name: str, problems: list[str]) -> bool | None:
    """What cannot be read is taken for what leaves the workload alone."""
    word = own.get(name)
    if word is None:
        return None
    found = SWITCHES.get(word.lower())
    if found is None:
        found = name == PROTECT
        taken = "true" if found else "false"
        problems.append(f"label {name}={word}: true or false is meant; taken as {taken}")
    return found


def _word(own: Mapping[str, str], name: str, words: Sequence[str], problems: list[str]) -> str:
    """One of some words, of which the first is the default."""
    word = own.get(name, words[0]).lower()
    if word in words:
        return word
    problems.append(f"label {name}={word}: one of {', '.join(words)} is meant")
    return words[0]


def _role(own: Mapping[str, str], problems: list[str]) -> str | None:
    """Whoever says that it is a part of evictd is one, whichever it may be."""
    word = own.get(ROLE) or None
    if word is not None and word not in ROLES:
        problems.append(f"label {ROLE}={word}: one of {', '.join(ROLES)} is meant; taken as evictd")
    return word


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
