"""A condition that was held when a node booted again, with a clock that is hours behind."""

from datetime import timedelta

from tests.core.evaluation.node import GI, MEMORY, START, Node, line, statuses

from evictd.core.evaluation import Observed
from evictd_schemas import Observation, SignalReading


def after_boot(seconds: float) -> Observed:
    """What a machine without a battery for its clock sees, so long after it booted."""
    return Observed(
        observation=Observation(
            node="edge",
            time=START - timedelta(hours=3) + timedelta(seconds=seconds),
            sequence=10**15 + int(seconds),
            boot_id="two",
            uptime_seconds=seconds,
            signals={MEMORY: SignalReading(available=6 * GI, capacity=8 * GI)},
        )
    )


def test_a_condition_ends_a_transition_period_after_the_boot() -> None:
    node = Node(line(MEMORY, 1), transition=60)
    assert statuses(node.observe(memory=0.5))[0] == "True"
    assert [statuses(node.feed(after_boot(seconds)))[0] for seconds in (5, 60, 65, 75)] == [
        "True",
        "True",
        "False",
        "False",
    ]
