"""A stage with workloads that are down because of evictd, and a responder as told."""

from typing import Any

from tests.core.decision.stage import NODE, Stage, Turn, amount, rules_of, sent, uid_of

from evictd.core.decision import Fallen, Ordered, Plan, Recalled, Wished
from evictd_schemas import Order, OrderStatus, Stopped, Wish, topics

HARD = "memory.available<1Gi"
SOFT = "memory.available<2Gi/60"
WISH = topics.WISH.at(NODE, domain="acme.io", key="ann", name="mine")


class Household(Stage):
    """One node, after a shortage."""

    def fell(self, name: str, *, used: str | None = "1Gi", life: int = 1, **fields: Any) -> Turn:
        """The responder writes down that it stopped one; it is listed no more."""
        self.gone(name)
        return self.tell(
            Fallen(
                namespace="shop",
                name=name,
                stopped=Stopped(
                    **{
                        "uid": uid_of(f"{name} {life}"),
                        "time": self.now.utc,
                        "signal": "memory.available",
                        "last_usage": None if used is None else amount(used),
                        **fields,
                    }
                ),
            )
        )

    def lifted(self, name: str) -> Turn:
        """The record is taken back."""
        return self.tell(Fallen(namespace="shop", name=name, stopped=None))

    def status(self, order: Order, state: str, name: str = "restore") -> Turn:
        return self.tell(Ordered(name=name, status=OrderStatus(order_uid=order.uid, state=state)))

    def wish(self, verb: str | None, target: str | None = None, **fields: Any) -> Turn:
        """A person wishes something; no verb: takes it back."""
        wish = None if verb is None else Wish(verb=verb, target=target, **fields)
        return self.tell(Wished(topic=WISH, wish=wish))

    def began_anew(self) -> Turn:
        """The evictor restarts: what is retained comes first, its own words behind it."""
        before = self.plan
        self.plan = Plan()
        for name, absent in before.returns.absent.items():
            namespace, _, own_name = name.partition("/")
            self.tell(Fallen(namespace=namespace, name=own_name, stopped=absent.stopped))
        for topic, wish in before.wishes.items():
            self.tell(Wished(topic=topic, wish=wish))
        return self.tell(Recalled(decision=before.decision and sent(before.decision)))

    def calm(self, memory: str = "8Gi", *, looks: int = 1, after: float = 10) -> Turn:
        """So many looks with room."""
        turn = Turn(())
        for _ in range(looks):
            turn = self.observe(memory, after=after)
        return turn


def household(*lines: str, **fields: Any) -> Household:
    """Where nothing has been short yet."""
    stage = Household(rules_of(*(lines or (HARD,)), **fields))
    stage.observe("8Gi")
    return stage


def names(turn: Turn) -> list[str]:
    """Who is ordered back."""
    return [
        order.target.name
        for order in turn.orders
        if order.kind == "Restore" and order.target is not None
    ]


def ordered(turn: Turn) -> Order:
    (order,) = turn.orders
    return order
