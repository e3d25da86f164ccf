"""One step of the chain: the table is whole, and a step does little."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from evictd.core.protocol.chain import Chain, ordered
from evictd.core.protocol.progression import (
    NEXT,
    Sign,
    Target,
    Terms,
    forced,
    progress,
    silence_limit,
)
from evictd.core.protocol.vocabulary import FINAL_STATES, Interruption, State
from evictd_schemas import ResponderStatus, TargetResponder

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("acme.io/a", "acme.io/b", "imperative-eviction.k8s.io/evictor")


def chain_of(*states: State) -> Chain:
    priorities = (10_000, 5_000, 100)
    return tuple(
        TargetResponder(name=name, priority=priority, state=state)
        for name, priority, state in zip(NAMES, priorities, states, strict=True)
    )


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """Some that have had their turn, at most one whose turn it is, the rest not yet."""
    past = draw(st.integers(0, 3))
    active = draw(st.booleans())
    states = [draw(st.sampled_from(sorted(FINAL_STATES))) for _ in range(past)]
    states += [State.ACTIVE] * (active and past < 3)
    states += [State.INACTIVE] * (3 - len(states))
    return chain_of(*states)


entries = st.tuples(
    *(
        st.builds(
            ResponderStatus,
            name=st.just(name),
            start_time=st.just(NOW - timedelta(seconds=2000)),
            heartbeat_time=st.none() | st.just(NOW - timedelta(seconds=100)),
            completion_time=st.none() | st.just(NOW),
        )
        for name in NAMES
    )
)


def test_every_fact_and_sign_leads_somewhere() -> None:
    assert NEXT.keys() == {(target, sign) for target in Target for sign in Sign}


@given(chains(), entries, st.sampled_from(Target), st.booleans())
def test_a_step_ends_at_most_one_turn_and_begins_at_most_one(
    chain: Chain,
    status: tuple[ResponderStatus, ...],
    target: Target,
    hands_over: bool,
) -> None:
    step = progress(chain, status, target, NOW, hands_over=hands_over)
    changes = [
        (before.state, after.state)
        for before, after in zip(chain, step.chain, strict=True)
        if before.state != after.state
    ]
    assert [after for before, after in changes if before in FINAL_STATES] == []
    assert len([change for change in changes if change[0] == State.ACTIVE]) <= 1
    assert len([change for change in changes if change[1] == State.ACTIVE]) <= 1
    assert [item.state for item in step.chain].count(State.ACTIVE) <= 1


@given(chains(), entries)
def test_an_ended_or_unwanted_target_starts_nobody(
    chain: Chain, status: tuple[ResponderStatus, ...]
) -> None:
    for target in (Target.ENDED, Target.UNWANTED):
        step = progress(chain, status, target, NOW)
        started = [
            after
            for before, after in zip(chain, step.chain, strict=True)
            if before.state == State.INACTIVE != after.state
        ]
        assert started == []


@given(chains(), entries)
def test_forcing_leaves_the_default_responder_active_and_nobody_before_it(
    chain: Chain, status: tuple[ResponderStatus, ...]
) -> None:
    step = forced(chain, status)
    if chain[-1].state != State.INACTIVE:
        assert step is None
        return
    assert step is not None
    assert step.chain[-1].state == State.ACTIVE
    assert {item.state for item in step.chain[:-1]} <= FINAL_STATES
    assert step.interruption is Interruption.HARD


def test_one_that_does_not_take_part_is_passed_over() -> None:
    chain = chain_of(State.INACTIVE, State.INACTIVE, State.INACTIVE)
    step = progress(chain, (), Target.WANTED, NOW, takes_part=lambda item: item.name != NAMES[0])
    assert [item.state for item in step.chain] == [State.INACTIVE, State.ACTIVE, State.INACTIVE]


def test_a_start_deadline_counts_until_the_first_heartbeat() -> None:
    terms = Terms(start_seconds=60, heartbeat_seconds=600)
    begun = ResponderStatus(name=NAMES[0], start_time=NOW)
    beating = ResponderStatus(name=NAMES[0], start_time=NOW, heartbeat_time=NOW)
    assert silence_limit(begun, terms).time == NOW + timedelta(seconds=60)
    assert silence_limit(begun, terms).cause is Interruption.START_DEADLINE
    assert silence_limit(beating, terms).time == NOW + timedelta(seconds=600)
    assert silence_limit(beating, terms).cause is Interruption.HEARTBEAT_DEADLINE


@given(st.permutations(chain_of(State.INACTIVE, State.INACTIVE, State.INACTIVE)))
def test_the_stored_order_means_nothing(chain: list[TargetResponder]) -> None:
    assert [item.name for item in ordered(chain)] == list(NAMES)
