"""What people wish of one node, what of it is open, and what each wish is answered.

A Hold is in force for as long as it stands there; Restore and Forget are done once. [contract 3,
Wish]
"""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import structs

from evictd.core.decision import occurrences
from evictd.core.decision.plan import Plan, Step, newest
from evictd.core.decision.readiness import Wanted
from evictd.core.decision.returns import Absent
from evictd.core.effects import BusEffect
from evictd.core.holds import until_text
from evictd.core.moments import Now, in_utc
from evictd.core.orders import Verb
from evictd.core.rules import Rules
from evictd_schemas import Wish, WishAnswer, topics


class State(StrEnum):
    """How far a wish is."""

    IN_FORCE = "InForce"
    WAITING = "Waiting"
    DONE = "Done"
    REFUSED = "Refused"
    EXPIRED = "Expired"


OVER = frozenset({State.DONE, State.REFUSED, State.EXPIRED})
"""Nothing more comes of it until it is changed."""
NAME_PARTS = 3
"""Domain, key and name."""


def taken(plan: Plan, topic: str, wish: Wish | None) -> Plan:
    """A wish that is new, was changed, or was taken back.

    After a restart the answer may be known before the wish.
    """
    if plan.wishes.get(topic) == wish:
        return plan
    wishes = {name: held for name, held in plan.wishes.items() if name != topic}
    answers = {name: held for name, held in plan.answers.items() if name != topic}
    if wish is not None:
        wishes[topic] = wish
        earlier = plan.answers.get(topic)
        if topic not in plan.wishes and earlier is not None and _about(earlier, wish):
            answers[topic] = earlier
    return structs.replace(plan, wishes=newest(wishes), answers=newest(answers))


def recalled(plan: Plan, answers: tuple[WishAnswer, ...], node: str) -> Plan:
    """What an earlier life of ours had answered, as far as the wish is still the same."""
    found = {
        _topic(node, answer): answer
        for answer in answers
        if answer.wish.count("/") == NAME_PARTS - 1
    }
    known = {
        topic: answer
        for topic, answer in found.items()
        if topic not in plan.wishes or _about(answer, plan.wishes[topic])
    }
    return structs.replace(plan, answers=newest({**plan.answers, **known}))


def wanted(plan: Plan, now: Now) -> Wanted:
    """What counts when somebody is to be started."""
    asked = tuple(_open(plan, Verb.RESTORE, now))
    return Wanted(
        holds=tuple(wish for wish in plan.wishes.values() if wish.verb == Verb.HOLD),
        restores=frozenset(wish.target for wish in asked if wish.target is not None),
        everyone=any(wish.target is None for wish in asked),
    )


def given_up(plan: Plan, now: Now) -> frozenset[str]:
    """Names that are to be forgotten."""
    return frozenset(wish.target for wish in _open(plan, Verb.FORGET, now) if wish.target)


def answered(rules: Rules, plan: Plan, now: Now, *, looked: bool) -> Step:
    """The answer to each wish as of now; each change of state is told.

    `looked`: the node has just been seen, so that who is not known to be down is not.
    """
    told: list[BusEffect] = []
    answers = dict(plan.answers)
    for topic, wish in plan.wishes.items():
        before = plan.answers.get(topic)
        answer = _answer(plan, topic, wish, before, now, looked=looked)
        if answer is None or answer == before:
            continue
        answers[topic] = answer
        if before is None or before.state != answer.state:
            told.append(occurrences.wish_answered(rules, topic, answer, now))
    return structs.replace(plan, answers=answers) if answers != plan.answers else plan, tuple(told)


def _open(plan: Plan, verb: Verb, now: Now) -> Iterator[Wish]:
    """Wishes of that kind that are not over."""
    for topic, wish in plan.wishes.items():
        answer = plan.answers.get(topic)
        over = answer is not None and answer.state in OVER
        expired = wish.until is not None and wish.until <= now.utc
        if wish.verb == verb and not over and not expired:
            yield wish


def _answer(
    plan: Plan, topic: str, wish: Wish, before: WishAnswer | None, now: Now, *, looked: bool
) -> WishAnswer | None:
    if before is not None and before.state in OVER:
        return before
    if wish.until is not None and wish.until <= now.utc:
        return _worded(topic, wish, State.EXPIRED, "its time is over")
    if wish.verb == Verb.HOLD:
        return _worded(topic, wish, State.IN_FORCE, hold_text(wish))
    down = _down(plan, wish)
    if down:
        return _worded(topic, wish, State.WAITING, _waiting_text(wish, down, looked=looked))
    if before is not None:
        return _worded(topic, wish, State.DONE, _done_text(wish))
    if not looked:
        return None
    whom = wish.target or "nothing"
    return _worded(topic, wish, State.REFUSED, f"{whom} is not down because of evictd")


def _down(plan: Plan, wish: Wish) -> dict[str, Absent]:
    """Of those meant who are down; a record that was taken away is no longer one to forget."""
    absent = plan.returns.absent
    if wish.target is None:
        return absent
    found = absent.get(wish.target)
    if found is None or (found.lifted and wish.verb == Verb.FORGET):
        return {}
    return {wish.target: found}


def hold_text(wish: Wish) -> str:
    """What a Hold keeps from happening."""
    whom = wish.target or "everything"
    kind = "" if wish.include_hard else ", but for hard evictions"
    return f"{whom} is left alone {until_text(wish)}{kind}"


def _waiting_text(wish: Wish, down: dict[str, Absent], *, looked: bool) -> str:
    """What it waits for; what was in the way before the wish says nothing."""
    if wish.verb == Verb.FORGET:
        return f"{wish.target} is about to be forgotten"
    name, absent = next(iter(down.items()))
    whom = f"{name} and {len(down) - 1} more" if len(down) > 1 else name
    if not looked:
        return f"{whom} will be started; the next look at the machine tells when"
    return f"{whom} will be started, but {absent.why}" if absent.why else f"{whom} is started now"


def _done_text(wish: Wish) -> str:
    whom = wish.target or "everything"
    if wish.verb == Verb.FORGET:
        return f"{whom} is forgotten, and is not started again"
    return f"{whom} is not down any more"


def _worded(topic: str, wish: Wish, state: State, message: str) -> WishAnswer:
    place = topics.place(topic)
    names = {} if place is None else place.names
    return WishAnswer(
        wish="/".join((names.get("domain", ""), names.get("key", ""), names.get("name", ""))),
        verb=wish.verb,
        state=state,
        message=message,
        target=wish.target,
        until=None if wish.until is None else in_utc(wish.until),
    )


def _about(answer: WishAnswer, wish: Wish) -> bool:
    return (answer.verb, answer.target, answer.until) == (wish.verb, wish.target, wish.until)


def _topic(node: str, answer: WishAnswer) -> str:
    domain, key, name = answer.wish.split("/")
    return topics.WISH.at(node, domain=domain, key=key, name=name)
