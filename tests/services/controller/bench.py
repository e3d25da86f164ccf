"""A controller on a bus in memory and on virtual time, with a collector, requesters and responders
played by the test, and a switch that kills it at any one of its deeds."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from evictd.controller import Controller
from evictd.core.protocol.case import Case
from evictd.core.rules import Mode, Rules
from evictd.shell.blocking import inline
from evictd.shell.bus import Delivery, Listener, Listing, Router
from evictd.shell.clock import LoopClock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal, Row
from evictd.shell.supervise import Outside
from evictd_schemas import Eviction, RequestStatus, topics

START = datetime(2026, 1, 1, tzinfo=UTC)
WEB = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
OTHER = "1d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
DEFAULT = "imperative-eviction.k8s.io/evictor"
DRAIN = "acme.io/drain"


class Crash(Exception):
    """The controller's process ends here, as with `kill -9`."""


class Fuse:
    """Burns through at the given deed, once."""

    def __init__(self, deeds: int | None) -> None:
        self.rest = deeds

    def burn(self) -> None:
        if self.rest is None:
            return
        self.rest -= 1
        if self.rest < 0:
            self.rest = None
            raise Crash


class FusedJournal:
    """A journal whose commit may be the last thing that happens, before it or after it."""

    def __init__(self, inner: MemoryJournal[Case, Any], fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    async def rows(self) -> Sequence[Row[Case, Any]]:
        return await self._inner.rows()

    async def commit(self, rows: Sequence[Row[Case, Any]]) -> None:
        self._fuse.burn()
        await self._inner.commit(rows)
        self._fuse.burn()


class FusedBus:
    """A bus on which a publish may be the last thing that happens."""

    def __init__(self, inner: Router, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def publish(
        self, topic: str, payload: bytes, *, retain: bool, publisher: Listener | None = None
    ) -> None:
        self._inner.publish(topic, payload, retain=retain, publisher=publisher)
        self._fuse.burn()

    def attach(self, listener: Listener) -> None:
        self._inner.attach(listener)

    def detach(self, listener: Listener) -> None:
        self._inner.detach(listener)


class Ear:
    """Hears every event."""

    filters = ("evictd/v1/+/events/#",)

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def deliver(self, delivery: Delivery) -> None:
        self.events.append(msgspec.json.decode(delivery.payload))

    def listed(self, listing: Listing) -> None:
        """It decides nothing."""


class Bench:
    """One node, its controller and everybody else."""

    def __init__(self) -> None:
        self.router = Router()
        self.journal: MemoryJournal[Case, Any] = MemoryJournal()
        self.ear = Ear()
        self.router.attach(self.ear)
        self.fuse = Fuse(None)
        self.rules = Rules(node="edge", mode=Mode.ACT)
        self.pods: list[dict[str, Any]] = []
        self.boot_id: str | None = None
        self.lives = 0
        self.sequence = 0
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """The controller runs, and one workload is there."""
        await self.start()
        await self.observe(web())

    async def start(self) -> Controller:
        """A new life of the controller on the same journal and bus."""
        clock = LoopClock(START)
        self.lives += 1
        self.inbox: Inbox[Any] = Inbox(clock)
        outside: Outside[Any, Any, Any] = Outside(
            node="edge",
            scope="+",
            bus=FusedBus(self.router, self.fuse),
            epoch=Epoch(self.lives),
            inbox=self.inbox,
            clock=clock,
            journal=FusedJournal(self.journal, self.fuse),
            run_blocking=inline,
            rules=lambda node: replace_node(self.rules, node) if node != "nobody" else None,
        )
        self.worker = Controller(outside, boot_id=self.boot_id)
        self._task = asyncio.create_task(self.worker.run())
        await self.settle()
        return self.worker

    async def kill(self) -> None:
        """End the process without a word."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    async def after(self, seconds: float) -> None:
        """Let virtual time pass."""
        await asyncio.sleep(seconds)
        await self.settle()

    async def settle(self) -> None:
        """Let the controller finish what it was given; one that crashed starts again."""
        for _ in range(20):
            await asyncio.sleep(0)
            if self._task is not None and self._task.done():
                error = self._task.exception()
                self._task = None
                if error is None or not crashed(error):
                    raise error or AssertionError("the controller ended")
                await self.start()

    async def observe(self, *pods: dict[str, Any], **fields: Any) -> None:
        """The collector lists these pods; none given: those of before."""
        if pods or fields.pop("empty", False):
            self.pods = list(pods)
        self.sequence += 1
        observation = {
            "node": "edge",
            "time": self.time(),
            "sequence": self.sequence,
            "signals": {},
            "pods": self.pods,
            **fields,
        }
        await self.say(topics.OBSERVATION.at("edge"), observation)

    async def request(
        self, name: str = "move", requester: str = "acme.io/mover", uid: str = WEB, **spec: Any
    ) -> None:
        """A requester publishes its wish; `pod` names another workload than web."""
        body = {
            "target": {"pod": {"name": spec.pop("pod", "web"), "uid": uid}},
            "requester": requester,
            "intent": "Eviction",
            **spec,
        }
        await self.say(request_topic(name, requester), {"spec": body})

    async def withdraw(self, name: str = "move", requester: str = "acme.io/mover") -> None:
        await self.say(request_topic(name, requester), None)

    async def report(
        self, responder: str = DEFAULT, name: str = "pod-1-web", **report: Any
    ) -> None:
        """A responder speaks of its work on the Eviction of that name."""
        domain, _, key = responder.partition("/")
        topic = topics.REPORT.at("edge", namespace="shop", name=name, domain=domain, key=key)
        eviction = self.eviction(name)
        uid = eviction.metadata.uid if eviction is not None else OTHER
        await self.say(topic, {"evictionUid": uid, **report})

    async def register(self, responder: str, **registration: Any) -> None:
        domain, _, key = responder.partition("/")
        await self.say(topics.REGISTRATION.at("edge", domain=domain, key=key), registration)

    async def say(self, topic: str, message: dict[str, Any] | None) -> None:
        payload = b"" if message is None else msgspec.json.encode(message)
        self.router.publish(topic, payload, retain=True)
        await self.settle()

    def time(self, seconds: float = 0) -> str:
        moment = START + timedelta(seconds=asyncio.get_running_loop().time() + seconds)
        return moment.isoformat()

    def eviction(self, name: str = "pod-1-web") -> Eviction | None:
        payload = self.router.retained.get(f"evictd/v1/edge/evictions/shop/{name}")
        return None if payload is None else msgspec.json.decode(payload, type=Eviction)

    def states(self, name: str = "pod-1-web") -> dict[str, str]:
        """The chain of an Eviction."""
        eviction = self.eviction(name)
        assert eviction is not None, f"no {name}"
        return {item.name: item.state for item in eviction.status.target_responders}

    def failed(self, name: str = "pod-1-web") -> tuple[str, str]:
        """Status and reason of Failed."""
        eviction = self.eviction(name)
        assert eviction is not None, f"no {name}"
        return condition(eviction.status.conditions, "Failed")

    def status(self, name: str = "move", requester: str = "acme.io/mover") -> RequestStatus | None:
        payload = self.router.retained.get(f"{request_topic(name, requester)}/status")
        return None if payload is None else msgspec.json.decode(payload, type=RequestStatus)

    def answer(self, name: str = "move", requester: str = "acme.io/mover") -> tuple[str, str]:
        """Status and reason of the request's Failed."""
        status = self.status(name, requester)
        assert status is not None, f"no status of {name}"
        return condition(status.conditions, "Failed")

    def names(self) -> list[str]:
        """Every Eviction there is."""
        return [
            topic.rpartition("/")[2]
            for topic in self.router.retained
            if topic.startswith("evictd/v1/edge/evictions/") and topic.count("/") == 5
        ]

    def reasons(self) -> list[str]:
        """Reasons of all events; one that was told again counts once."""
        told = {event["id"]: event["data"]["reason"] for event in self.ear.events}
        return list(told.values())

    def event(self, reason: str) -> dict[str, Any]:
        """The newest event of a reason."""
        found = [item for item in self.ear.events if item["data"]["reason"] == reason]
        assert found, f"no {reason} among {self.reasons()}"
        return found[-1]


def replace_node(rules: Rules, node: str) -> Rules:
    return msgspec.structs.replace(rules, node=node)


def condition(conditions: Sequence[Any], kind: str) -> tuple[str, str]:
    found = next(item for item in conditions if item.type == kind)
    return found.status, found.reason


def request_topic(name: str, requester: str) -> str:
    domain, _, key = requester.partition("/")
    return topics.REQUEST.at("edge", domain=domain, key=key, namespace="shop", name=name)


def crashed(error: BaseException) -> bool:
    """Whether it is the fuse that ended the process."""
    if isinstance(error, BaseExceptionGroup):
        return all(crashed(item) for item in error.exceptions)
    return isinstance(error, Crash)


def web(uid: str = WEB, **fields: Any) -> dict[str, Any]:
    """The workload that everybody wants to leave."""
    return {"namespace": "shop", "name": "web", "uid": uid, **fields}


def drained(**fields: Any) -> dict[str, Any]:
    """It, with a responder of its own."""
    return web(evictionResponders=[{"name": DRAIN, "priority": 10000, **fields}])
