"""What a configuration comes to on one machine: 16 GiB, no swap, 100 GiB and 6,553,600 inodes."""

from datetime import UTC, datetime

import pytest
from msgspec import structs

from evictd.shell.configuration import cautions_here, lines_here, load_text, rules_of
from evictd_schemas import Layout, Observation, Pod, SignalReading

GIB = 1 << 30
KEEP = "mergeDefaultEvictionSettings: true\n"
"""So that warnings of the text alone do not stand in the way."""


def machine(*pods: Pod, complete: bool = True) -> Observation:
    """One look at it: 40 per cent of everything is free."""
    return Observation(
        node="here",
        time=datetime(2026, 1, 1, tzinfo=UTC),
        sequence=1,
        layout=Layout(),
        signals={
            "memory.available": SignalReading(
                available=5 * GIB,
                capacity=16 * GIB,
                views={"working_set": 5 * GIB, "mem_available": 6 * GIB},
            ),
            "nodefs.available": SignalReading(available=40 * GIB, capacity=100 * GIB),
            "nodefs.inodesFree": SignalReading(available=2_600_000, capacity=6_553_600),
            "imagefs.available": SignalReading(available=40 * GIB, capacity=100 * GIB),
            "imagefs.inodesFree": SignalReading(available=2_600_000, capacity=6_553_600),
            "pid.available": SignalReading(available=30_000, capacity=20_000_000),
            "psi.memory.full.avg10": SignalReading(available=99.5, capacity=100),
        },
        pods=pods,
        pods_complete=complete,
    )


def pod(name: str, *, labelled: bool = False, protected: bool = False) -> Pod:
    """A workload that runs there."""
    return Pod(
        uid=f"00000000-0000-4000-8000-{len(name):012d}",
        namespace="shop",
        name=name,
        labelled=labelled,
        protected=protected,
    )


def warnings(text: str, observation: Observation | None = None) -> list[str]:
    """What the machine has to say against a configuration."""
    found = cautions_here(load_text(text, "f"), observation or machine())
    return [str(problem).removeprefix("f:") for problem in found]


HERE = {
    # more than there is
    "evictionHard: {memory.available: 64Gi}": [
        (
            "2:34: evictionHard.memory.available: 64Gi is all of the 16Gi there are here, "
            "or more: the line is met for ever"
        )
    ],
    "evictionHard: {memory.available: 16Gi}": [
        (
            "2:34: evictionHard.memory.available: 16Gi is all of the 16Gi there are here, "
            "or more: the line is met for ever"
        )
    ],
    "evictionHard: {nodefs.available: 'max(5%,200Gi)'}": [
        (
            "2:34: evictionHard.nodefs.available: max(5%,200Gi) (200Gi) is all of the 100Gi "
            "there are here, or more: the line is met for ever"
        )
    ],
    "evictionHard: {nodefs.inodesFree: 7M}": [
        (
            "2:35: evictionHard.nodefs.inodesFree: 7M (7,000,000) is all of the 6,553,600 "
            "there are here, or more: the line is met for ever"
        )
    ],
    # told already by the text alone
    "evictionHard: {nodefs.inodesFree: 100Mi}": [],
    # next to nothing
    "evictionHard: {pid.available: 1500}": [
        (
            "2:31: evictionHard.pid.available: 1500 of 20,000,000 is left only "
            "when nothing works any more"
        )
    ],
    "evictionHard: {pid.available: 2000}": [],
    # crossed already, by the view that the profile takes
    "evictionHard: {memory.available: 7Gi}": [
        ("2:34: evictionHard.memory.available: 7Gi is crossed already: 6Gi of 16Gi are left")
    ],
    "evictionHard: {memory.available: 6Gi}": [],
    "profile: kubelet\nevictionHard: {memory.available: 6Gi}": [
        ("3:34: evictionHard.memory.available: 6Gi is crossed already: 5Gi of 16Gi are left")
    ],
    "evictionHard: {nodefs.available: 45%}": [
        (
            "2:34: evictionHard.nodefs.available: 45% (45Gi) is crossed already: "
            "40Gi of 100Gi are left"
        )
    ],
    # never cleared
    "evictionHard: {nodefs.available: 10%}\nevictionMinimumReclaim: {nodefs.available: 90Gi}": [
        (
            "2:34: evictionHard.nodefs.available: with its minimum reclaim this is all of the "
            "100Gi there are: once met it would never count as cleared"
        )
    ],
    "evictionHard: {nodefs.available: 10%}\nevictionMinimumReclaim: {nodefs.available: 2Gi}": [],
    # field case B17
    "evictionHard: {swap.available: 10%}": [
        (
            "2:32: evictionHard.swap.available: this machine has no swap: the line is never met "
            "here, and no swap is not swap used up"
        )
    ],
    "evictionHard: {allocatableMemory.available: 1Gi}": [
        (
            "2:45: evictionHard.allocatableMemory.available: is not observed on this machine: "
            "the line is never met here"
        )
    ],
    # soft beside hard, each written in its own way
    "evictionHard: {memory.available: 1Gi}\nevictionSoft: {memory.available: 5%}\n"
    "evictionSoftGracePeriod: {memory.available: 30s}": [
        ("3:34: evictionSoft.memory.available: 5% is not above 1Gi, a hard line that acts first")
    ],
    "evictionSoft: {nodefs.available: 5Gi}\nevictionSoftGracePeriod: {nodefs.available: 30s}": [
        (
            "2:34: evictionSoft.nodefs.available: 5Gi is not above min(10%,20Gi) (10Gi), "
            "a hard line that acts first"
        )
    ],
    "evictionSoft: {nodefs.available: 11Gi}\nevictionSoftGracePeriod: {nodefs.available: 30s}": [],
    # told already by the text alone
    "evictionHard: {nodefs.available: 5%}\nevictionSoft: {nodefs.available: 5%}\n"
    "evictionSoftGracePeriod: {nodefs.available: 30s}": [],
    # of an exception for this node, at its place
    "nodes: [{match: here, evictionHard: {memory.available: 64Gi}}]": [
        (
            "2:56: nodes[0].evictionHard.memory.available: 64Gi is all of the 16Gi "
            "there are here, or more: the line is met for ever"
        )
    ],
    "nodes: [{match: there, evictionHard: {memory.available: 64Gi}}]": [],
    "workloads: {db: {request: {memory: 32Gi}}}": [
        (
            "2:36: workloads.db.request.memory: 32Gi is more than the 16Gi of this machine: "
            "it would never exceed that"
        )
    ],
    "workloads: {db: {request: {memory: 16Gi}}}": [],
}


@pytest.mark.parametrize(("text", "expected"), HERE.items(), ids=list(HERE))
def test_the_machine_says_what_cannot_have_been_meant_on_it(text: str, expected: list[str]) -> None:
    assert warnings(KEEP + text) == expected


def test_act_with_nobody_who_may_go_is_told_with_the_way_out() -> None:
    seen = machine(pod("web"), pod("worker"), pod("database", labelled=True, protected=True))
    (warning,) = warnings("mode: act", seen)
    assert warning == (
        "1:7: mode: is act, and none of the 3 workloads here may be taken off: name them under "
        "workloads: or label them; evictd rank -o config prints a block to paste"
    )


def test_act_without_any_workload_is_told_and_where_nobody_was_asked_for_nothing_is() -> None:
    (warning,) = warnings("mode: act", machine())
    assert warning == (
        "1:7: mode: is act, and no workload is seen here; sources.runtimes names what runs them"
    )
    assert warnings("mode: act", structs.replace(machine(), pods=None)) == []


def test_act_with_only_protected_candidates_is_told_too() -> None:
    (warning,) = warnings("mode: act\ncandidates: all", machine(pod("db", protected=True)))
    assert warning.endswith("each is protected, critical or evictd's own")


@pytest.mark.parametrize(
    ("text", "observation"),
    [
        ("mode: act", machine(pod("web", labelled=True))),
        ("mode: act\ncandidates: all", machine(pod("web"))),
        ("mode: observe", machine(pod("web"))),
        ("mode: act", machine(pod("web"), complete=False)),
    ],
    ids=["one labelled", "all", "observe", "not all are known"],
)
def test_nothing_is_said_of_candidates_where_one_is_there_or_nobody_knows(
    text: str, observation: Observation
) -> None:
    assert warnings(text, observation) == []


def test_every_line_in_force_is_shown_in_the_unit_of_its_signal() -> None:
    rules = rules_of(load_text("", "f").configuration, "here")
    found = [
        (line.text, line.kind, line.amount, line.capacity, line.left, line.state)
        for line in lines_here(rules, machine())
    ]
    assert found == [
        (
            ("memory.available<max(5%,100Mi) "
            "and one of swap.available<10% or no swap, psi.memory.full.avg10<80%"),
            "hard", "819.2Mi", "16Gi", "6Gi", "1 of 2 met",
        ),
        (
            ("psi.memory.full.avg10<60% "
            "and one of memory.available<20%, swap.available<10% for 10 s"),
            "hard", "60", "100", "99.5", "0 of 2 met",
        ),
        ("nodefs.available<min(10%,20Gi)", "hard", "10Gi", "100Gi", "40Gi", "clear"),
        ("nodefs.inodesFree<5%", "hard", "327,680", "6,553,600", "2,600,000", "clear"),
        ("pid.available<5%", "hard", "1,000,000", "20,000,000", "30,000", "met"),
        (
            "memory.available<10% and psi.memory.full.avg10<90%",
            "soft, 30 s", "1.6Gi", "16Gi", "6Gi", "0 of 2 met",
        ),
        ("containerfs.available<min(10%,20Gi)", "hard", "", "", "", "not observed"),
        ("containerfs.inodesFree<5%", "hard", "", "", "", "not observed"),
    ]  # fmt: skip


def test_a_name_of_a_workload_that_is_nearly_right_is_told() -> None:
    """One that is like nobody's may belong to who does not run now."""
    here = machine(pod("db"), pod("web"), pod("web1"))
    entries = "shop/dbb: {protect: true}, shop/web: {}, nightly: {}, web2: {}, wbe: {}"
    assert warnings(f"workloads: {{{entries}}}", here) == [
        '1:13: workloads["shop/dbb"]: is nobody\'s name here; did you mean shop/db?',
        "1:77: workloads.wbe: is nobody's name here; did you mean web?",
    ]
