"""Another Eviction under the name of one that the built-in responder was at.

What runs for a life of a workload is not forgotten when the Eviction that had asked for it is,
since whoever is down because of it has to be written down. [design, law 5] [contract 3, Stopped]
"""

from msgspec import structs

from evictd.core.duty.state import Duty, Phase
from evictd.core.moments import Now, whole_second
from evictd_schemas import Eviction


def succeeded(duty: Duty, eviction: Eviction, now: Now) -> Duty:
    """A new duty, unless it is about the same life and something still goes on with that.

    A stop or start that runs goes on in the new name; after one that failed it is still known that
    it may have reached the workload. A stop of another life tells its uid.
    """
    new = Duty(eviction=eviction)
    if duty.pod is None or duty.target != new.target:
        return new
    if duty.phase in (Phase.STOPPING, Phase.STARTING):
        return _renamed(duty, eviction, now)
    if not duty.signalled:
        return new
    return structs.replace(
        new,
        pod=duty.pod,
        signalled=True,
        grace_seconds=duty.grace_seconds,
        began_boot_seconds=duty.began_boot_seconds,
    )


def _renamed(duty: Duty, eviction: Eviction, now: Now) -> Duty:
    """What was reported holds for the new Eviction from now on."""
    report, time = duty.report, whole_second(now.utc)
    if report is not None:
        report = structs.replace(
            report,
            eviction_uid=eviction.metadata.uid,
            heartbeat_time=time,
            completion_time=None if report.completion_time is None else time,
        )
    return structs.replace(
        duty,
        eviction=eviction,
        dismissed=False,
        report=report,
        heartbeat_boot_seconds=now.boot_seconds,
    )
