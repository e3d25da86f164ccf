"""The block to paste: where acting waits for somebody to be named, and nowhere else."""

from datetime import UTC, datetime

import pytest

from evictd.cli.proposal import proposal
from evictd.shell.configuration import load_text
from evictd_schemas import Observation, Pod

WEB = Pod(namespace="shop", name="web", uid="a")
DATABASE = Pod(namespace="shop", name="db", uid="b", labelled=True, protected=True)
NO_FIGURES = "has no statistics, which goes last; priority 0"
NOT_NAMED = "no candidate: neither a label nor `workloads:` names it"
BLOCK = [
    "# Order of attic for memory.available, first to go first.",
    "# Who is named here may go. A greater priority stays longer; protect: true never goes.",
    "workloads:",
    f'  "shop/db":  {{priority: 0, protect: true}}  # protected by its owner; {NO_FIGURES}',
    f'  "shop/web": {{priority: 0}}  # {NOT_NAMED}; {NO_FIGURES}',
]


def proposed(text: str, *pods: Pod, complete: bool = True) -> list[str]:
    configuration = load_text(text, "f").configuration
    seen = Observation(
        node="attic",
        time=datetime(2026, 1, 1, tzinfo=UTC),
        pods=pods,
        pods_complete=complete,
        signals={},
    )
    return [*proposal(configuration, seen)]


def test_who_told_it_to_act_and_named_nobody_gets_a_block_of_everybody() -> None:
    assert sorted(proposed("mode: act", WEB, DATABASE)) == sorted(BLOCK)


def test_the_block_pasted_leaves_nothing_to_propose() -> None:
    pasted = "\n".join(proposed("mode: act", WEB, DATABASE))
    assert proposed(f"mode: act\n{pasted}", WEB, DATABASE) == []


@pytest.mark.parametrize("text", ["mode: observe", "mode: dry-run", "mode: act\ncandidates: all"])
def test_nothing_is_proposed_where_acting_waits_for_nobody(text: str) -> None:
    assert proposed(text, WEB) == []


def test_nothing_is_proposed_of_workloads_that_are_not_all_known() -> None:
    assert proposed("mode: act", WEB, complete=False) == []
    assert proposed("mode: act") == []
