"""Lines of a plain host: its view of memory, composite lines, sustained ones."""

from tests.core.evaluation.node import GI, MEMORY, Node, line, only, statuses

from evictd.core.rules import HOST, KUBELET
from evictd.core.signals.thresholds import Amount, Largest, Part, Share, Threshold
from evictd_schemas import SignalReading


def test_the_host_profile_reads_its_view_of_memory() -> None:
    reading = SignalReading(available=GI // 2, capacity=8 * GI, views={"mem_available": 2 * GI})
    for profile, met in ((KUBELET, True), (HOST, False)):
        node = Node(line(MEMORY, 1), profile=profile)
        assert only(node.observe(readings={MEMORY: reading})).met is met


def stall(available: float) -> dict[str, SignalReading]:
    return {"psi.memory.full.avg10": SignalReading(available=available, capacity=100)}


COMPOSITE = Threshold(
    signal=MEMORY,
    value=Largest(of=(Share(fraction=0.05), Amount(quantity=GI))),
    any_of=(
        Part(signal="swap.available", value=Amount(quantity=GI), met_when_absent=True),
        Part(signal="psi.memory.full.avg10", value=Amount(quantity=80)),
    ),
)


def test_a_composite_threshold_needs_one_of_its_further_signals() -> None:
    node = Node(COMPOSITE, profile=HOST)
    assert only(node.observe(memory=0.5)).met
    assert not only(node.observe(memory=0.5, swap=2)).met
    half = only(node.observe(memory=0.5, swap=2, readings=stall(70.5)))
    assert half.met
    assert half.any_of is not None
    assert [(term.available, term.met) for term in half.any_of] == [(2 * GI, False), (70.5, True)]
    assert not only(node.observe(memory=2, readings=stall(10))).met


def test_a_hard_threshold_may_have_to_be_sustained() -> None:
    sustained = Threshold(
        signal="psi.memory.full.avg10", value=Amount(quantity=60), sustained_seconds=10
    )
    node = Node(sustained, profile=HOST)
    first = node.observe(readings=stall(50))
    assert (only(first).due, only(first).grace_period_seconds) == (False, 0)
    assert statuses(first)[0] == "True"
    assert only(node.observe(10, readings=stall(50))).due


def test_psi_io_raises_no_condition() -> None:
    node = Node(Threshold(signal="psi.io.full.avg10", value=Amount(quantity=60)), profile=HOST)
    reading = SignalReading(available=10, capacity=100)
    pressure = node.observe(readings={"psi.io.full.avg10": reading})
    assert only(pressure).met
    assert statuses(pressure) == ["Unknown", "Unknown", "Unknown"]
