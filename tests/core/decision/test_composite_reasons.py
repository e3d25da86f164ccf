"""What is said of a composite line that is met in part, and of one that is not met for long
enough."""

from msgspec import structs
from tests.core.decision.stage import Stage, amount, rules_of

from evictd.core.rules import Rules
from evictd.core.signals.thresholds import Amount, Part, Threshold

SWAP = Part(signal="swap.available", value=Amount(quantity=amount("1Gi"), text="1Gi"))
STALL = Part(signal="psi.memory.full.avg10", value=Amount(quantity=80, text="80"))


def rules_with(**fields: object) -> Rules:
    """One hard line for memory at 2 GiB, with more to it."""
    line = Threshold(
        **{
            "signal": "memory.available",
            "value": Amount(quantity=amount("2Gi"), text="2Gi"),
            **fields,
        }
    )
    return structs.replace(rules_of(), thresholds=(line,))


def reason_of(rules: Rules, memory: str, **signals: str) -> str:
    """The second look: the first may be one that only warns."""
    stage = Stage(rules)
    stage.pod("web", uses="512Mi")
    stage.observe("8Gi")
    named = {"swap.available": "4Gi", "psi.memory.full.avg10": "99", **signals}
    decision = stage.observe(memory, signals=named).decision
    assert decision is not None
    return decision.reason


def test_a_line_of_which_one_condition_of_two_is_met_says_so() -> None:
    assert reason_of(rules_with(any_of=(SWAP, STALL)), "1Gi") == (
        "memory.available is 1Gi, below the hard threshold 2Gi, but only 1 of 2 conditions is met:"
        " neither swap.available<1Gi nor psi.memory.full.avg10<80"
    )


def test_of_several_that_must_all_hold_those_are_named_that_do_not() -> None:
    rules = rules_with(all_of=(SWAP, STALL))
    reason = reason_of(rules, "1Gi", **{"swap.available": "500Mi"})
    assert reason == (
        "memory.available is 1Gi, below the hard threshold 2Gi, but only 2 of 3 conditions are met:"
        " not psi.memory.full.avg10<80"
    )


def test_a_line_whose_own_signal_is_fine_is_not_spoken_of() -> None:
    assert reason_of(rules_with(any_of=(SWAP,)), "4Gi") == "nothing is short"


def test_a_hard_line_that_has_to_last_says_for_how_long_it_has() -> None:
    assert reason_of(rules_with(sustained_seconds=10), "1Gi") == (
        "memory.available is 1Gi, below the hard threshold 2Gi for 0 s, not due yet"
    )
