"""`evictd demo`: a whole story on a simulated machine, told line by line in less than a minute.

Every line is something that travelled over the bus; the story only chooses how the workloads
behave.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import anyio
import msgspec

from evictd.core.rules import KUBELET, Candidates, Mode, Rules
from evictd.core.signals.names import MEMORY_AVAILABLE
from evictd.core.signals.thresholds import Amount, Threshold
from evictd.shell.bus import Bus, Delivery, Listing, Router
from evictd.shell.clock import Clock, SystemClock
from evictd.simulation.collector import SimulatedCollector
from evictd.simulation.drain import DrainResponder
from evictd.simulation.machine import (
    MIB,
    SimulatedMachine,
    SimulatedWorkload,
    growing,
    steady,
    stepping,
)
from evictd.simulation.node import SimulatedNode
from evictd_schemas import DeclaredResponder, Event, Observation, topics

NODE = "demo-1"
DRAIN = "demo.evictd.io/save"
HARD_MIB = 500
SOFT_MIB = 1024
DB_SHRINKS_SECONDS = 36.0
STORY_SECONDS = 44.0
"""The end of the story, whatever has happened by then."""
Say = Callable[[str], None]


def machine(*, drains: bool = True) -> SimulatedMachine:
    """4 GiB, a shop.

    One batch job grows slowly and can save its work, one cache grows in a burst, and at the end the
    data base gives back what the batch job needs, but not the cache.
    """
    shop = SimulatedMachine(node=NODE, memory_mib=4096)
    shop.add(
        SimulatedWorkload(
            namespace="shop",
            name="db",
            memory=stepping(1200, DB_SHRINKS_SECONDS, 800),
            request_mib=1024,
            priority=1000,
        )
    )
    shop.add(SimulatedWorkload(namespace="shop", name="web", memory=steady(700), request_mib=800))
    shop.add(
        SimulatedWorkload(
            namespace="shop",
            name="batch",
            memory=growing(600, 110, 1250),
            request_mib=256,
            responders=(DeclaredResponder(name=DRAIN, priority=10000),) if drains else (),
        )
    )
    shop.add(
        SimulatedWorkload(
            namespace="shop",
            name="cache",
            memory=growing(200, 500, 1900),
            request_mib=256,
            starts_at_seconds=22,
        )
    )
    return shop


def rules_for(node: str) -> Callable[[str], Rules | None]:
    """The rules of that node, and of no other."""
    return lambda name: _rules(node) if name == node else None


def _rules(node: str) -> Rules:
    """Hard at once below 500 MiB, soft below 1 GiB for three seconds; conditions last six."""
    return Rules(
        node=node,
        mode=Mode.ACT,
        profile=KUBELET,
        candidates=Candidates.ALL,
        thresholds=(
            Threshold(
                signal=MEMORY_AVAILABLE,
                value=Amount(quantity=HARD_MIB * MIB, text=f"{HARD_MIB}Mi"),
            ),
            Threshold(
                signal=MEMORY_AVAILABLE,
                value=Amount(quantity=SOFT_MIB * MIB, text="1Gi"),
                grace_seconds=3,
            ),
        ),
        transition_seconds=6,
        maximum_pod_grace_seconds=10,
    )


class Teller:
    """A listener that says what it hears, with the seconds since the story began."""

    def __init__(self, say: Say, clock: Clock) -> None:
        self._say = say
        self._clock = clock
        self._start_seconds = clock.now().boot_seconds
        self._available_mib: int | None = None

    @property
    def filters(self) -> Sequence[str]:
        return (
            topics.OBSERVATION.at(NODE),
            topics.EVENT.everywhere(NODE),
            topics.REPORT.everywhere(NODE),
        )

    def deliver(self, delivery: Delivery) -> None:
        place = topics.place(delivery.topic)
        if place is None or not delivery.payload:
            return
        message = msgspec.json.decode(delivery.payload, type=place.kind.message)
        match message:
            case Observation():
                self._observed(message)
            case Event():
                self.tell(str(message.data["reason"]), str(message.data["message"]))
            case _:
                if message.message:
                    self.tell(place.participant, message.message)

    def listed(self, listing: Listing) -> None:
        """The story starts with nothing on the bus."""

    def tell(self, what: str, sentence: str) -> None:
        """One line."""
        seconds = self._clock.now().boot_seconds - self._start_seconds
        self._say(f"{seconds:5.1f}s  {self._figure():>9}  {what:<28} {sentence}")

    def _observed(self, observation: Observation) -> None:
        available = observation.signals[MEMORY_AVAILABLE].available
        self._available_mib = int(available) // MIB

    def _figure(self) -> str:
        return "" if self._available_mib is None else f"{self._available_mib} MiB"


async def tell(say: Say, clock: Clock) -> None:
    """Play the story with the real workers over a router in memory."""
    bus: Bus = Router()
    shop = machine()
    origin = clock.now().boot_seconds
    for workload in shop.workloads:
        workload.starts_at_seconds += origin
    teller = Teller(say, clock)
    bus.attach(teller)
    say(f"A simulated machine with 4 GiB, told on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.")
    say(f"Hard line: {HARD_MIB} MiB available. Soft line: {SOFT_MIB} MiB for three seconds.")
    node = SimulatedNode(machine=shop, rules=rules_for(NODE), clock=clock, bus=bus)
    with anyio.move_on_after(STORY_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(node.run)
            tasks.start_soon(DrainResponder(NODE, DRAIN, bus, clock).run)
            tasks.start_soon(SimulatedCollector(shop, bus, clock).run)
    say("The end. The same lines travel over MQTT when evictd runs: evictd/v1/+/events/#")


def run(say: Say) -> None:
    """Entry of the command line."""
    anyio.run(tell, say, SystemClock())
