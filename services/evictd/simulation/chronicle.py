"""What is written down of a story: one turn for each decision, and for each step without one."""

import msgspec
from msgspec import Struct

from evictd.core.node_conditions import of_status
from evictd.core.orders import OrderKind
from evictd.core.protocol.vocabulary import Intent, RequestType, Status
from evictd.simulation.cast import name_of
from evictd.simulation.joined import Joined
from evictd_schemas import Decision, Event, EvictionRequest, Number, Order, PodReference, Pressure


class Asked(Struct, frozen=True, kw_only=True, rename="camel"):
    """A pod that is asked to go, or (`withdrawn`) no longer has to.

    `grace_seconds` None: its own. `hard` waits for no responder, `dry_run` stops nothing.
    """

    pod: str
    grace_seconds: int | None = None
    hard: bool = False
    dry_run: bool = False
    withdrawn: bool = False
    message: str = ""


class Turn(Struct, frozen=True, kw_only=True, rename="camel"):
    """One decision, or a step in which none was taken (`decision` None).

    `signals` as the profile reads them; `conditions` those that hold; `unknown` those of which
    nothing is known. `reclaim`: steps that are ordered. `happened`: events, in words.
    `cleanup_seconds`: how long the kubelet would wait until the victims are cleaned up.
    `admission`: pod to whether the node takes it. `notifiers`: memory line to the usage in bytes at
    which cgroup v1 would call.
    """

    seconds: float
    note: str = ""
    signals: dict[str, Number] = {}
    conditions: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    decision: Decision | None = None
    reclaim: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    happened: tuple[str, ...] = ()
    cleanup_seconds: int | None = None
    admission: dict[str, bool] = {}
    notifiers: dict[str, int | None] = {}


class Chronicle:
    """The turns so far, and what belongs to the next one."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._asked: list[Asked] = []
        self._happened: list[str] = []
        self._reclaim: tuple[str, ...] = ()
        self._event_ids: set[str] = set()

    @property
    def waiting(self) -> bool:
        """Whether something was told that is in no turn yet."""
        return bool(self._asked or self._happened or self._reclaim)

    def happened(self, sentence: str) -> None:
        """Something that the world did."""
        self._happened.append(sentence)

    def emitted(self, event: Event) -> None:
        """An event; like every reader of the bus, it takes each id once."""
        if event.id not in self._event_ids:
            self._event_ids.add(event.id)
            self._happened.append(f"{event.data['reason']}: {event.data['message']}")

    def ordered(self, order: Order) -> None:
        """Something is to be given back, or somebody to come back or to be forgotten."""
        self._reclaim = order.steps
        if order.target is not None:
            what = "be forgotten" if order.kind == OrderKind.FORGET else "come back"
            self._happened.append(f"{name_of(order.target)} is to {what}")

    def asked(self, pod: PodReference, request: EvictionRequest) -> None:
        """A pod is asked to go, or let off."""
        spec = request.spec
        asked = Asked(
            pod=name_of(pod),
            grace_seconds=spec.grace_period_seconds,
            hard=spec.type == RequestType.HARD,
            dry_run=spec.dry_run,
            withdrawn=spec.intent == Intent.WITHDRAWN,
            message="" if spec.reason is None else spec.reason.message,
        )
        self._asked.append(asked)

    def turn(self, seconds: float, joined: Joined, decision: Decision | None) -> None:
        """Write down what has come together."""
        judged = joined.watch.judged
        readings = {} if judged is None else judged.signals
        self.turns.append(
            Turn(
                seconds=round(seconds, 3),
                signals={name: reading.available for name, reading in readings.items()},
                conditions=_of(joined.pressure, Status.TRUE),
                unknown=_of(joined.pressure, Status.UNKNOWN),
                decision=decision,
                reclaim=self._reclaim,
                asked=tuple(self._asked),
                happened=tuple(self._happened),
            )
        )
        self._asked, self._happened, self._reclaim = [], [], ()

    def add_rest(self) -> None:
        """What came after the last turn belongs to it."""
        last = self.turns[-1]
        self.turns[-1] = msgspec.structs.replace(
            last,
            asked=(*last.asked, *self._asked),
            happened=(*last.happened, *self._happened),
        )
        self._asked, self._happened = [], []

    def mark(self, index: int, **told: object) -> None:
        """Add to a turn what is told once a step."""
        self.turns[index] = msgspec.structs.replace(self.turns[index], **told)


def _of(pressure: Pressure | None, status: Status) -> tuple[str, ...]:
    return () if pressure is None else of_status(pressure, status)
