"""Who is passed over for a while: a victim that did not go, or that came back by itself.

Memory about a workload is kept by its name. [design, laws 7 and 11] It knows nothing of how anybody
is chosen.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct, structs

from evictd.core.back_off import BACK_OFF_SECONDS_MAX
from evictd.core.decision.returns import Returns
from evictd.core.moments import Now, after, boot_seconds_of
from evictd.core.pods import active
from evictd.core.ways import Way
from evictd.core.wording import name_text
from evictd_schemas import PassedOver, Pod, PodReference

FAILED_SECONDS = 600.0
"""A pod whose eviction failed is passed over that long. [design, law 7]"""
RETURN_SECONDS = 60.0
"""Who runs again so soon after its end was started by something that undoes what we do: a person
looks first."""
NAMES_MAX = 1_000
"""Names remembered; beyond it the oldest are forgotten."""
DID_NOT_GO = "its eviction failed"


class Failure(Struct, frozen=True, kw_only=True):
    """Who is passed over, as a Decision tells it, and its two moments on the worker's own clock.

    `until_boot_seconds`: what is told as `until`; `open_boot_seconds`: as `last_resort_time`.
    """

    told: PassedOver
    until_boot_seconds: float
    open_boot_seconds: float


class Victim(Struct, frozen=True, kw_only=True):
    """One that has gone because we asked for it, and when on the worker's own clock.

    `for_good`: it was stopped although its `action` may be to restart it.
    """

    pod: PodReference
    boot_seconds: float
    for_good: bool = False


Failures: TypeAlias = Mapping[str, Failure]
Victims: TypeAlias = Mapping[str, Victim]


def passed_over(failures: Failures, pod: Pod, now: Now, *, hard: bool) -> Failure | None:
    """The failure for which this life is not taken now.

    What a webhook did not take off can still be stopped: a hard shortage does so.
    """
    failure = failures.get(name_text(pod))
    if failure is None or failure.until_boot_seconds <= now.boot_seconds:
        return None
    about = failure.told.every_life or failure.told.pod.uid == pod.uid
    if not about or _left_to_webhook(failure, pod, hard=hard):
        return None
    return failure


def remark(failure: Failure, now: Now) -> str:
    """Why, and for how long still."""
    seconds = round(failure.until_boot_seconds - now.boot_seconds)
    return f"{failure.told.why}, passed over for {seconds} s"


def taken_again(failures: Failures, pods: Iterable[Pod]) -> dict[str, Failure]:
    """These are asked once more, so that what they failed in before is over."""
    names = {name_text(pod) for pod in pods}
    return {name: failure for name, failure in failures.items() if name not in names}


def not_gone(
    pod: PodReference, now: Now, *, soft: bool = False, rest_seconds: float = 0.0
) -> dict[str, Failure]:
    """This very life did not go. `rest_seconds`: for so long it is not asked even as the last."""
    failure = _failure(pod, now, why=DID_NOT_GO, soft=soft)
    return {name_text(pod): rested(failure, now, rest_seconds)}


def rested(failure: Failure, now: Now, seconds: float) -> Failure:
    """It is not asked even as the last for so long."""
    told = structs.replace(failure.told, last_resort_time=after(now.utc, seconds))
    return structs.replace(failure, told=told, open_boot_seconds=now.boot_seconds + seconds)


def written(failures: Failures, now: Now) -> tuple[PassedOver, ...]:
    """What stands, for a Decision, which is what a restarted evictor has."""
    return tuple(failure.told for failure in current(failures, now).values())


def recalled(told: Iterable[PassedOver], now: Now) -> dict[str, Failure]:
    """As our own last Decision tells."""
    return {name_text(one.pod): _recalled(one, now) for one in told}


def _recalled(told: PassedOver, now: Now) -> Failure:
    """A clock that was set back makes no pause longer."""
    until = min(told.until, after(now.utc, FAILED_SECONDS))
    last_resort_time = min(told.last_resort_time, after(now.utc, BACK_OFF_SECONDS_MAX))
    return Failure(
        told=structs.replace(told, until=until, last_resort_time=last_resort_time),
        until_boot_seconds=boot_seconds_of(until, now),
        open_boot_seconds=boot_seconds_of(last_resort_time, now),
    )


def fallen(returns: Returns, now: Now) -> dict[str, Victim]:
    """Who has gone lately as far as the records of what is down tell, after a restart.

    Who has a record did not go only to be restarted.
    """
    return {
        name: Victim(pod=falls.told.pod, boot_seconds=falls.boot_seconds, for_good=True)
        for name, falls in returns.falls.items()
        if not falls.told.returned and now.boot_seconds - falls.boot_seconds <= RETURN_SECONDS
    }


def current(failures: Failures, now: Now) -> dict[str, Failure]:
    """Without those that are over; the newest are kept."""
    held = [(name, failure) for name, failure in failures.items() if _stands(failure, now)]
    return dict(held[-NAMES_MAX:])


def with_victim(victims: Victims, name: str, victim: Victim) -> dict[str, Victim]:
    """One has gone because we asked for it: whoever has its name soon is looked at."""
    others = [(key, other) for key, other in victims.items() if key != name]
    return dict([*others, (name, victim)][-NAMES_MAX:])


def returned(
    victims: Victims, returns: Returns, pods: Iterable[Pod], now: Now
) -> tuple[dict[str, Victim], dict[str, Failure]]:
    """Those that are back by themselves: failed victims, whatever life they are in.

    And who may still come back. Who was started again on purpose is no failure: by our own order,
    or because its `action` says so.
    """
    recent = {
        name: victim
        for name, victim in victims.items()
        if now.boot_seconds - victim.boot_seconds <= RETURN_SECONDS
    }
    failed: dict[str, Failure] = {}
    for pod in pods:
        name = name_text(pod)
        victim = recent.get(name)
        if victim is None or victim.pod.uid == pod.uid or not active(pod):
            continue
        del recent[name]
        on_purpose = pod.action == Way.RESTART and not victim.for_good
        if not on_purpose and not _brought_back(returns, name, victim):
            failed[name] = _returned(victim, now)
    return recent, failed


def _failure(
    pod: PodReference, now: Now, *, why: str, soft: bool = False, every_life: bool = False
) -> Failure:
    told = PassedOver(
        pod=pod,
        why=why,
        until=after(now.utc, FAILED_SECONDS),
        last_resort_time=now.utc,
        every_life=every_life,
        soft=soft,
    )
    return Failure(
        told=told,
        until_boot_seconds=now.boot_seconds + FAILED_SECONDS,
        open_boot_seconds=now.boot_seconds,
    )


def _returned(victim: Victim, now: Now) -> Failure:
    seconds = now.boot_seconds - victim.boot_seconds
    why = f"something started it again within {seconds:.0f} s of its eviction"
    return _failure(victim.pod, now, why=why, every_life=True)


def _brought_back(returns: Returns, name: str, victim: Victim) -> bool:
    """By our own order, one that still stands or one that is answered."""
    if returns.returning is not None and returns.returning.name == name:
        return True
    falls = returns.falls.get(name)
    return falls is not None and falls.told.returned and falls.told.pod.uid == victim.pod.uid


def _left_to_webhook(failure: Failure, pod: Pod, *, hard: bool) -> bool:
    return hard and failure.told.soft and pod.action == Way.WEBHOOK


def _stands(failure: Failure, now: Now) -> bool:
    return failure.until_boot_seconds > now.boot_seconds
