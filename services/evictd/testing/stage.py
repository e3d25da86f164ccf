"""A node in memory on which a responder is tried, without a broker and on virtual time.

The controller is the real one, and so is everything that carries out the responder's turns; the
test plays the workloads and whoever wants them to leave. Time is that of the event loop: under one
with virtual time, such as looptime's, twenty minutes of silence take none.

    async with staged(Responder(name="acme.io/drain", respond=drain)) as stage:
        await stage.evict("web")
        await stage.until(lambda: stage.state("web") == "Completed")
        assert stage.reports("web")[-1].message == "everything is saved"
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid5

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec import structs

from evictd.controller import Controller
from evictd.core.rules import Mode, Rules
from evictd.responder.author import Responder
from evictd.responder.registered import Registered, Registrant
from evictd.responder.turns import Turns
from evictd.shell.blocking import inline
from evictd.shell.bus import Delivery, Listing, Router
from evictd.shell.clock import LoopClock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal
from evictd.shell.supervise import Outside
from evictd_schemas import (
    DeclaredResponder,
    Eviction,
    EvictionRequest,
    EvictionRequestSpec,
    Observation,
    Pod,
    PodTarget,
    Reason,
    Report,
    Target,
    topics,
)
from evictd_schemas.topics import Role

NODE = "stage-1"
NAMESPACE = "shop"
REQUESTER = "stage.evictd.io/mover"
FORCER = "evictd.io/node-pressure"
"""Whom the node lets ask for Hard."""
LIVES = UUID("a2f1c0de-6f0b-5a53-9c52-3b7d7d0f7a55")
"""The name space of uids: the same test has the same uids in every run."""
PRIORITY = 10_000
LOOK_SECONDS = 0.05
LOOK_SECONDS_MAX = 1.0
"""What is waited for is looked at again after a pause that doubles."""
UNTIL_SECONDS = 7_200.0
"""Above every deadline of a chain of three, on virtual time."""


class Stage:
    """See the module. Names are those of workloads in the namespace `shop`."""

    def __init__(self, responder: Responder, tasks: TaskGroup) -> None:
        self.responder = responder
        self.bus = Router()
        self.clock = LoopClock()
        self._tasks = tasks
        self._pods: dict[str, Pod] = {}
        self._lives = 0
        self._sequence = 0
        self._said: list[tuple[str, Report]] = []
        self._playing: anyio.CancelScope | None = None
        self._left = anyio.Event()
        self._registered = self._presence()
        self.turns = self._turns()
        """What carries out the turns of the responder."""

    def eviction(self, name: str) -> Eviction | None:
        """The newest Eviction of a workload, None where there is none."""
        own = [
            item
            for item in self.evictions()
            if item.spec.target.pod and item.spec.target.pod.name == name
        ]
        return max(own, key=lambda item: (item.epoch, item.rev), default=None)

    def evictions(self) -> list[Eviction]:
        """Every Eviction there is, those that have ended too."""
        return [
            msgspec.json.decode(payload, type=Eviction)
            for topic, payload in self.bus.retained.items()
            if topics.matches(topics.EVICTION.everywhere(NODE), topic)
        ]

    def state(self, name: str) -> str | None:
        """Where the responder stands in the chain of a workload, None where it is in none."""
        eviction = self.eviction(name)
        chain = () if eviction is None else eviction.status.target_responders
        return next((item.state for item in chain if item.name == self.responder.name), None)

    def reports(self, name: str) -> list[Report]:
        """Everything that the responder has reported of a workload, oldest first."""
        return [report for pod, report in self._said if pod == name]

    async def evict(self, name: str, *, dry_run: bool = False, **fields: Any) -> None:
        """A workload is there, names the responder, and somebody wants it to leave.

        `fields` are those of the request, such as `type`, `deadline_seconds` or `reason`.
        """
        if name not in self._pods:
            await self.add(name)
        await self._ask(REQUESTER, name, dry_run=dry_run, **fields)

    async def add(
        self, name: str, *, labels: Mapping[str, str] | None = None, named: bool = True
    ) -> Pod:
        """A workload begins, a new life of it if it was there.

        `named`: it names the responder; else the responder has to select it.
        """
        self._lives += 1
        own = DeclaredResponder(
            name=self.responder.name, priority=self.responder.priority or PRIORITY
        )
        self._pods[name] = Pod(
            namespace=NAMESPACE,
            name=name,
            uid=str(uuid5(LIVES, f"{name} {self._lives}")),
            labels=dict(labels or {}),
            eviction_responders=(own,) if named else (),
        )
        await self.observe()
        return self._pods[name]

    async def remove(self, name: str) -> None:
        """A workload has ended."""
        del self._pods[name]
        await self.observe()

    async def withdraw(self, name: str) -> None:
        """Nobody wants it to leave any more."""
        for requester in (REQUESTER, FORCER):
            self.bus.publish(_request_topic(requester, name), b"", retain=True)
        await self.settle()

    async def force(self, name: str) -> None:
        """The machine cannot wait: the turn of every responder but the default one is over."""
        await self._ask(FORCER, name, type="Hard", reason=Reason(signal="memory.available"))

    async def observe(self) -> None:
        """The node is looked at."""
        self._sequence += 1
        observation = Observation(
            node=NODE,
            time=self.clock.now().utc,
            sequence=self._sequence,
            signals={},
            pods=tuple(self._pods.values()),
        )
        self.bus.publish(topics.OBSERVATION.at(NODE), msgspec.json.encode(observation), retain=True)
        await self.settle()

    async def lose_contact(self) -> None:
        """The broker has been away for so long that the responder must not trust its turn."""
        self.turns.contact(present=False)
        await self.settle()

    async def find_contact(self) -> None:
        """The broker is there again."""
        self.turns.contact(present=True)
        await self.settle()

    async def die(self) -> None:
        """The responder's process is lost; its last will says so."""
        await self._end()
        self.bus.publish(self._registered.member.topic, self._registered.will(), retain=True)
        await self.settle()

    async def restart(self) -> None:
        """The next process of the responder; the one that runs is ended orderly."""
        await self._end()
        self._registered = self._presence()
        self.turns = self._turns()
        await self.play()

    async def play(self) -> None:
        """The responder's process begins."""
        self._left = anyio.Event()
        self._playing = await self._tasks.start(self._play)
        self._registered.connect()
        self.bus.publish(self._registered.member.topic, self._registered.say("ready"), retain=True)
        await self.settle()

    async def after(self, seconds: float) -> None:
        """Let time pass."""
        await anyio.sleep(seconds)
        await self.settle()

    async def until(self, holds: Callable[[], object], seconds: float = UNTIL_SECONDS) -> None:
        """Let time pass until it is true. Raises `TimeoutError`."""
        pause_seconds = LOOK_SECONDS
        with anyio.fail_after(seconds):
            while not holds():
                await anyio.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, LOOK_SECONDS_MAX)

    async def settle(self) -> None:
        """Let everybody finish what they were given."""
        await anyio.sleep(LOOK_SECONDS)

    async def _play(self, *, task_status: anyio.abc.TaskStatus[anyio.CancelScope]) -> None:
        with anyio.CancelScope() as scope:
            task_status.started(scope)
            await self.turns.run()
        self._left.set()

    async def _end(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            await self._left.wait()
            self._playing = None

    async def _ask(self, requester: str, name: str, **fields: Any) -> None:
        pod = self._pods[name]
        spec = EvictionRequestSpec(
            target=Target(pod=PodTarget(name=pod.name, uid=pod.uid)),
            requester=requester,
            intent="Eviction",
            **fields,
        )
        payload = msgspec.json.encode(EvictionRequest(spec=spec))
        self.bus.publish(_request_topic(requester, name), payload, retain=True)
        await self.settle()

    def _presence(self) -> Registered:
        self._lives += 1
        registrant = Registrant(
            node=NODE,
            worker=Role.ANY_RESPONDER.value,
            roles=(),
            start_time=self.clock.now().utc,
            responder=self.responder,
        )
        return Registered(registrant, Epoch(self._lives))

    def _turns(self) -> Turns:
        return Turns(self.responder, NODE, self.bus, self.clock, self._registered.epoch)

    def controller(self) -> Controller:
        """The real one."""
        inbox: Inbox[Any] = Inbox(self.clock)
        return Controller(
            Outside(
                node=NODE,
                scope=NODE,
                bus=self.bus,
                epoch=Epoch(1),
                inbox=inbox,
                clock=self.clock,
                journal=MemoryJournal(),
                run_blocking=inline,
                rules=lambda node: Rules(node=node, mode=Mode.ACT),
            )
        )

    @property
    def filters(self) -> tuple[str, ...]:
        """A listener of what the responder reports."""
        return (topics.REPORT.everywhere(NODE, **topics.levels(self.responder.name)),)

    def deliver(self, delivery: Delivery) -> None:
        """Keep a report."""
        if not delivery.payload:
            return
        report = msgspec.json.decode(delivery.payload, type=Report)
        eviction = self.bus.retained.get(delivery.topic.partition("/responders/")[0])
        if eviction is not None:
            pod = msgspec.json.decode(eviction, type=Eviction).spec.target.pod
            self._said.append(("" if pod is None else pod.name, structs.replace(report, rev=0)))

    def listed(self, listing: Listing) -> None:
        """There is nothing before the play."""


@asynccontextmanager
async def staged(responder: Responder) -> AsyncIterator[Stage]:
    """A stage on which the responder is at work. Everything ends with the block."""
    async with anyio.create_task_group() as tasks:
        stage = Stage(responder, tasks)
        stage.bus.attach(stage)
        tasks.start_soon(stage.controller().run)
        await stage.settle()
        await stage.play()
        yield stage
        tasks.cancel_scope.cancel()


def _request_topic(requester: str, name: str) -> str:
    return topics.REQUEST.at(NODE, **topics.levels(requester), namespace=NAMESPACE, name=name)
