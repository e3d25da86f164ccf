"""Real workloads of this machine, and evictd or its broker killed in the middle of an eviction: it
ends, exactly once, and nobody else is touched.

There are two middles. While a responder drains the workload everything waits for its report; and
after SIGTERM has reached the workload, which does not obey it, the grace runs.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.integration.kernel import PARENT, Kernel, Workload
from tests.integration.processes import HOME, ROLES, Site, until

ROOT = f"evictd/v1/{HOME}"
DRAIN = "acme.io/drain"
GRACE_SECONDS = 4
LOOKS = 3
Kill = Callable[[Site], None]
Settings = dict[str, Any]


class Story:
    """A greedy workload among others; memory runs short because of it."""

    def __init__(self, machine: Kernel, settings: Settings, *, deaf: bool) -> None:
        self.machine = machine
        self.greedy = machine.start("greedy", deaf=deaf)
        self.others = [machine.start("critical"), machine.start("modest")]
        self.settings = settings | {
            "workloads": {
                "critical": {"priority": 1000, "request": {"memory": "100Mi"}},
                "modest": {"priority": 0, "request": {"memory": "100Mi"}},
                "greedy": {"priority": 0, "request": {"memory": "50Mi"}},
            }
        }

    def drained(self) -> Story:
        """The greedy one has a responder of its own, and a soft line leaves it the time."""
        self.settings |= {
            "evictionSoft": self.settings["evictionHard"],
            "evictionSoftGracePeriod": {"memory.available": "1s"},
            "evictionMaxPodGracePeriod": GRACE_SECONDS,
            "evictionHard": {"memory.available": "50Mi"},
        }
        drain = {"name": DRAIN, "priority": 10000, "startDeadlineSeconds": 600}
        self.settings["workloads"]["greedy"]["responders"] = [drain]
        return self

    def memory_runs_short(self) -> None:
        """The critical one uses most, the greedy one most of what it did not ask for."""
        for workload, mib in zip((*self.others, self.greedy), (250, 50, 240), strict=True):
            workload.uses(mib)

    def ends_once(self, site: Site) -> None:
        """And stays so while evictd looks on."""
        until("the greedy one has gone", lambda: not self.greedy.lives)
        until("everybody can see it", lambda: site.ear.events(HOME, "Evicted"))
        until("its request is cleared", lambda: not site.ear.below(f"{ROOT}/evictionrequests/"))
        looks_on(site)
        evicted = [event["data"]["pod"]["name"] for event in site.ear.events(HOME, "Evicted")]
        assert evicted == ["greedy"]
        assert len(site.ear.events(HOME, "EvictionRequested")) == 1
        assert site.ear.events(HOME, "EvictionFailed") == []
        assert [workload.signals for workload in self.others] == [0, 0]
        assert all(workload.lives for workload in self.others)
        assert site.ear.events(HOME, "MessageRejected") == []


def looks_on(site: Site) -> None:
    """A few more looks: what should not happen has had its chance."""

    def looks() -> int:
        return sum(m.topic == f"{ROOT}/observation" for m in tuple(site.ear.messages))

    seen = looks()
    until("it looks on", lambda: looks() >= seen + LOOKS)


def killed(worker: str) -> Kill:
    """A process that dies and is started again, as a service manager would."""

    def kill(site: Site) -> None:
        epoch = site.status(worker)["epoch"]
        site.kill(worker)
        site.start(worker)
        site.await_ready(worker, after_epoch=epoch)

    return kill


def broker_killed(broker: Any) -> Kill:
    """Another's broker, with everything that it kept."""

    def kill(site: Site) -> None:
        connections = {worker: site.status(worker)["connection"] for worker in site.processes}
        broker.kill()
        broker.start()
        site.await_hearing()
        for worker, connection in connections.items():
            site.await_ready(worker, after_connection=connection)

    return kill


def owned_broker_killed(site: Site) -> None:
    """The one that evictd started, and starts again."""
    connection = site.status("up")["connection"]
    os.kill(owned_broker_id(site), signal.SIGKILL)
    site.await_ready("up", after_connection=connection)
    site.await_hearing()


def everything_killed(site: Site) -> None:
    """`evictd up` itself, whose broker ends with it."""
    epoch = site.status("up")["epoch"]
    site.kill("up")
    site.start("up")
    until("the broker is there again", lambda: site.log("up").count('"connected"') == 2)
    site.await_hearing()
    site.await_ready("up", after_epoch=epoch)


def owned_broker_id(site: Site) -> int:
    """Its process id, as evictd recorded it."""
    record = json.loads((site.folder / "state" / "broker-record.json").read_text())
    return int(record["pid"])


def drained_in_the_middle(site: Site, story: Story, kill: Kill) -> None:
    """Killed while a responder works; its report is what everything waits for."""
    story.memory_runs_short()
    until("the drain has its turn", lambda: active_responders(site) == [DRAIN])
    kill(site)
    assert active_responders(site) == [DRAIN]
    assert story.greedy.signals == 0
    ((topic, eviction),) = site.ear.below(f"{ROOT}/evictions/").items()
    report = {
        "evictionUid": eviction["metadata"]["uid"],
        "completionTime": datetime.now(UTC).isoformat(),
    }
    site.publish(f"{topic}/responders/{DRAIN}", report, retain=True)
    story.ends_once(site)
    assert story.greedy.signals == 1
    completed = [e["data"]["responder"] for e in site.ear.events(HOME, "ResponderCompleted")]
    assert completed[:1] == [DRAIN]


def stopped_in_the_middle(site: Site, story: Story, kill: Kill) -> None:
    """Killed while the grace runs, for whoever stops it and whoever waits for that.

    A request that no broker was told yet would end with its requester, and another be made.
    """
    story.memory_runs_short()
    until("SIGTERM has reached it", lambda: story.greedy.signals)
    until("its request is told", lambda: site.ear.below(f"{ROOT}/evictionrequests/"))
    kill(site)
    story.ends_once(site)


def active_responders(site: Site) -> list[str]:
    """Whose turn it is, in every Eviction."""
    evictions = site.ear.below(f"{ROOT}/evictions/")
    return [
        entry["name"]
        for topic, eviction in evictions.items()
        if "/responders/" not in topic
        for entry in eviction["status"]["targetResponders"]
        if entry["state"] == "Active"
    ]


@pytest.mark.parametrize("worker", ROLES)
def test_a_worker_killed_while_a_responder_drains(
    worker: str, separate: Site, machine: Kernel, acting: Callable[[], Settings]
) -> None:
    """Each of them."""
    story = Story(machine, acting(), deaf=False).drained()
    separate.settings = story.settings
    with separate.running(*ROLES):
        drained_in_the_middle(separate, story, killed(worker))


def test_the_broker_killed_while_a_responder_drains(
    separate: Site, broker: Any, machine: Kernel, acting: Callable[[], Settings]
) -> None:
    """It has forgotten everything when it comes back."""
    story = Story(machine, acting(), deaf=False).drained()
    separate.settings = story.settings
    with separate.running(*ROLES):
        drained_in_the_middle(separate, story, broker_killed(broker))


@pytest.mark.parametrize("kill", [owned_broker_killed, everything_killed])
def test_the_owned_broker_or_everything_killed_while_a_responder_drains(
    kill: Kill, joined: Site, machine: Kernel, acting: Callable[[], Settings]
) -> None:
    """In one process, alone or with its broker."""
    story = Story(machine, acting(), deaf=False).drained()
    joined.settings = story.settings
    with joined.running("up"):
        drained_in_the_middle(joined, story, kill)


@pytest.mark.parametrize("worker", ["evictor", "controller", "responder"])
def test_a_worker_killed_while_the_grace_runs(
    worker: str, separate: Site, machine: Kernel, acting: Callable[[], Settings]
) -> None:
    """SIGTERM comes again only from a responder that cannot know whether it had been sent."""
    story = Story(machine, acting() | {"evictionHardGracePeriod": GRACE_SECONDS}, deaf=True)
    separate.settings = story.settings
    with separate.running(*ROLES):
        stopped_in_the_middle(separate, story, killed(worker))
        assert story.greedy.signals <= (2 if worker == "responder" else 1)


@pytest.mark.parametrize("kill", [owned_broker_killed, everything_killed])
def test_the_owned_broker_or_everything_killed_while_the_grace_runs(
    kill: Kill, joined: Site, machine: Kernel, acting: Callable[[], Settings]
) -> None:
    """In one process, alone or with its broker."""
    story = Story(machine, acting() | {"evictionHardGracePeriod": GRACE_SECONDS}, deaf=True)
    joined.settings = story.settings
    with joined.running("up"):
        stopped_in_the_middle(joined, story, kill)


def test_who_is_down_is_told_to_a_broker_that_forgot_it_while_nobody_could_say_it_again(
    separate: Site, broker: Any, machine: Kernel, acting: Callable[[], Settings]
) -> None:
    """As after a power cut, with a broker that keeps nothing: the journal has it."""
    story = Story(machine, acting(), deaf=False)
    separate.settings = story.settings
    record = f"{ROOT}/stopped/{PARENT}/greedy"
    with separate.running(*ROLES):
        story.memory_runs_short()
        story.ends_once(separate)
        until("it is written down", lambda: separate.ear.now(record))
        before = separate.ear.now(record)
        separate.kill("responder")
        broker_killed(broker)(separate)
        separate.start("responder")
        until("it is told again", lambda: separate.ear.now(record)["epoch"] > before["epoch"])
        assert separate.ear.now(record)["uid"] == before["uid"]


@pytest.mark.parametrize("in_the_middle", [False, True])
def test_everything_killed_with_a_broker_that_keeps_nothing_leaves_on_record_who_is_down(
    separate: Site,
    broker: Any,
    machine: Kernel,
    acting: Callable[[], Settings],
    *,
    in_the_middle: bool,
) -> None:
    """After its end, or while the grace runs: then the stop is taken up again from the journal."""
    story = Story(machine, acting() | {"evictionHardGracePeriod": GRACE_SECONDS}, deaf=True)
    separate.settings = story.settings
    record = f"{ROOT}/stopped/{PARENT}/greedy"
    with separate.running("up"):
        story.memory_runs_short()
        until("SIGTERM has reached it", lambda: story.greedy.signals)
        if not in_the_middle:
            until("it is written down", lambda: separate.ear.now(record))
        epoch = separate.status("up")["epoch"]
        separate.kill("up")
        assert story.greedy.lives is in_the_middle
        broker.kill()
        broker.start()
        separate.ear.state.clear()
        separate.start("up")
        until("it is told again", lambda: separate.ear.now(record))
        assert separate.ear.now(record)["epoch"] > epoch
        assert not story.greedy.lives
        assert all(workload.lives for workload in story.others)


def test_a_request_that_came_while_the_controller_was_dead_is_carried_out(
    separate: Site, machine: Kernel, acting: Callable[[], Settings]
) -> None:
    """Anybody's, for any workload, once."""
    modest = machine.start("modest")
    separate.settings = acting()
    with separate.running(*ROLES):
        until("it is seen", lambda: seen(separate, modest))
        separate.kill("controller")
        separate.publish(
            f"{ROOT}/evictionrequests/acme.io/mover/{PARENT}/move-modest",
            {
                "spec": {
                    "target": {"pod": {"name": "modest", "uid": seen(separate, modest)}},
                    "requester": "acme.io/mover",
                    "intent": "Eviction",
                }
            },
            retain=True,
        )
        separate.start("controller")
        until("it has gone", lambda: not modest.lives)
        until("everybody can see it", lambda: separate.ear.events(HOME, "Evicted"))
        looks_on(separate)
        (evicted,) = separate.ear.events(HOME, "Evicted")
        assert evicted["data"]["requesters"] == ["acme.io/mover"]
        assert modest.signals == 1


@contextmanager
def halted(process: int) -> Iterator[None]:
    """SIGSTOP, and SIGCONT afterwards whatever happens."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_halted_broker_does_not_hold_up_an_eviction(
    joined: Site, machine: Kernel, acting: Callable[[], Settings]
) -> None:
    """What it could not be told it hears when it goes on. [design, law 3]"""
    story = Story(machine, acting(), deaf=False)
    joined.settings = story.settings
    with joined.running("up"):
        until("it is seen", lambda: seen(joined, story.greedy))
        with halted(owned_broker_id(joined)):
            story.memory_runs_short()
            until("the greedy one has gone", lambda: not story.greedy.lives)
            assert joined.ear.events(HOME, "EvictionRequested") == []
        story.ends_once(joined)
        assert story.greedy.signals == 1


def seen(site: Site, workload: Workload) -> str | None:
    """The uid of a workload in the newest observation."""
    observation = site.ear.now(f"{ROOT}/observation") or {}
    uids = {pod["name"]: pod["uid"] for pod in observation.get("pods", ())}
    return uids.get(workload.name)
