"""A node that boots again with a clock that is hours behind, as small machines without a battery
do: nothing waits for the old boot's time to come round."""

from datetime import timedelta

from tests.core.decision.stage import START, Stage, rules_of

LINE = "memory.available<1Gi"
BEHIND = START - timedelta(hours=3)


def test_the_next_victim_does_not_wait_for_a_clock_that_was_set_back() -> None:
    stage = Stage(rules_of(LINE))
    stage.pod("web", uses="512Mi")
    stage.pod("batch", uses="900Mi")
    stage.observe("8Gi")
    assert stage.observe("900Mi").victims == ["batch"]
    stage.gone("batch")
    stage.answer("batch")
    victims = [
        name
        for look in range(2)  # the first only shows that the figures are of another time
        for name in stage.observe(
            "900Mi",
            boot_id="two",
            uptime_seconds=5.0 + 10 * look,
            time=BEHIND + timedelta(seconds=10 * look),
        ).victims
    ]
    assert victims == ["web"]


def test_a_request_is_withdrawn_a_transition_period_after_the_boot() -> None:
    stage = Stage(rules_of(f"{LINE}/10", transition_seconds=60))
    stage.pod("web", uses="512Mi", termination_grace_period_seconds=3600)
    stage.observe("8Gi")
    stage.observe("900Mi")
    assert stage.observe("900Mi").victims == ["web"]
    stage.observe("8Gi")
    turns = [
        stage.observe(
            "8Gi",
            boot_id="two",
            uptime_seconds=5.0 + 10 * look,
            time=BEHIND + timedelta(seconds=10 * look),
        )
        for look in range(8)
    ]
    assert [name for turn in turns for name in turn.withdrawn] == ["web"]
