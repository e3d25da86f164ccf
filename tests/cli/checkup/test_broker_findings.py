"""What a trial of the broker, and a Mosquitto's configuration, amount to."""

from pathlib import Path
from typing import Any

import pytest

from evictd.cli.checkup import broker, broker_file
from evictd.cli.checkup.broker import BrokerFacts
from evictd.cli.checkup.findings import Finding, State
from evictd.shell.broker.folder import CONFIGURATION
from evictd.shell.bus.link_trial import Trial

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures" / "mosquitto"
URL = "mqtt://127.0.0.1:1883"
WELL = Trial(seconds=0.01, listed=40, came_back=True)
REFUSED = Trial(failure="[code:135] Not authorized")


def facts(trial: Trial | None = WELL, **fields: Any) -> BrokerFacts:
    """A broker on this machine with the operator's login, unless something else is said."""
    told = {"url": URL, "here": True, "login": "operator", "anonymous": REFUSED, **fields}
    return BrokerFacts(trial=trial, **told)


def found(told: BrokerFacts) -> dict[str, Finding]:
    return {one.check: one for one in broker.findings(told)}


def test_a_broker_of_ones_own_that_is_well_has_no_problem() -> None:
    assert {one.state for one in broker.findings(facts())} == {State.OK}


def test_without_a_broker_there_is_one_problem_that_says_how_to_get_one() -> None:
    (only,) = broker.findings(BrokerFacts(missing="no broker has run yet"))
    assert (only.state, only.text) == (State.PROBLEM, "no broker has run yet")
    assert "evictd up" in only.remedy


@pytest.mark.parametrize(
    ("failure", "fields", "words"),
    [
        ("[code:135] Not authorized", {}, "the login operator or its password"),
        ("[code:135] Not authorized", {"login": None}, "it wants a login"),
        ("[Errno 111] Connection refused", {"owned": True}, "start `evictd up`"),
        ("Operation timed out", {"owned": True, "running": True}, "end that process"),
        ("[Errno 111] Connection refused", {}, "not WebSockets"),
        ("Operation timed out", {}, "beyond loopback"),
    ],
)
def test_one_that_cannot_be_reached_names_the_usual_causes(
    failure: str, fields: dict[str, Any], words: str
) -> None:
    (only,) = broker.findings(facts(Trial(failure=failure), **fields))
    assert only.state is State.PROBLEM
    assert failure in only.text
    assert words in only.remedy


@pytest.mark.parametrize(
    ("trial", "state", "words"),
    [
        (Trial(listed=790, came_back=True), State.OK, "whole"),
        (Trial(listed=850, came_back=True), State.NOTE, "cuts at 1000"),
        (Trial(listed=1020, listed_in_parts=3000, came_back=True), State.PROBLEM, "1020 of 3000"),
        (Trial(listed=3000, listed_in_parts=3000, came_back=True), State.OK, "whole"),
    ],
)
def test_a_list_that_was_cut_shows_when_it_is_asked_for_in_parts(
    trial: Trial, state: State, words: str
) -> None:
    listed = found(facts(trial))["broker list"]
    assert listed.state is state
    assert words in listed.text
    assert state is State.OK or "max_queued_messages 100000" in listed.remedy


@pytest.mark.parametrize(
    ("login", "came_back", "state"),
    [
        ("operator", True, State.OK),
        ("operator", False, State.PROBLEM),
        ("collector", False, State.OK),
        ("collector", True, State.PROBLEM),
        ("viewer", True, State.PROBLEM),
        ("somebody", False, State.PROBLEM),
        ("somebody", True, State.OK),
    ],
)
def test_an_access_list_is_in_force_where_workers_may_not_speak_as_the_operator(
    login: str, came_back: bool, state: State
) -> None:
    trial = Trial(listed=1, came_back=came_back)
    assert found(facts(trial, login=login))["broker access"].state is state


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, State.OK),
        ({"anonymous": WELL}, State.PROBLEM),
        ({"anonymous": Trial(listed=3)}, State.PROBLEM),
        ({"login": None, "anonymous": None}, State.NOTE),
        ({"login": None, "anonymous": None, "here": False}, State.PROBLEM),
        ({"login": None, "anonymous": None, "here": None}, State.PROBLEM),
    ],
)
def test_whoever_gets_in_without_a_login_is_a_problem_beyond_this_machine(
    fields: dict[str, Any], state: State
) -> None:
    assert found(facts(**fields))["broker strangers"].state is state


@pytest.mark.parametrize(
    ("fields", "states"),
    [
        ({"here": True}, {"broker place": State.OK}),
        ({"here": None}, {}),
        ({"here": False}, {"broker place": State.NOTE, "broker way": State.NOTE}),
        ({"here": False, "tls": True}, {"broker place": State.NOTE}),
        (
            {"here": False, "tls": True, "separate": True},
            {"broker place": State.PROBLEM},
        ),
    ],
)
def test_a_broker_elsewhere_is_a_problem_for_separate_workers(
    fields: dict[str, Any], states: dict[str, State]
) -> None:
    every = found(facts(**fields))
    told = {name: every[name].state for name in ("broker place", "broker way") if name in every}
    assert told == states


def test_a_broker_that_takes_its_time_is_worth_a_note() -> None:
    slow = Trial(seconds=2.5, listed=1, came_back=True)
    assert found(facts(slow))["broker"].state is State.NOTE


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "websockets-on-1883.conf",
            [
                (State.PROBLEM, "port 1883 speaks WebSockets"),
                (State.PROBLEM, "password_file is /mosquitto/conf/mosquitto.conf"),
                (State.PROBLEM, "allow_anonymous is true"),
                (State.NOTE, "no acl_file"),
                (State.NOTE, "max_queued_messages is not given"),
            ],
        ),
        (
            "autosave-on-changes.conf",
            [
                (State.NOTE, "max_queued_messages is not given"),
                (State.NOTE, "queue_qos0_messages"),
                (State.PROBLEM, "autosave_on_changes is true"),
            ],
        ),
        (
            "huge-queue.conf",
            [
                (State.PROBLEM, "max_queued_messages is 1000000"),
                (State.NOTE, "autosave_interval is 30"),
            ],
        ),
    ],
)
def test_the_mistakes_of_others_are_found_in_their_files(
    name: str, words: list[tuple[State, str]]
) -> None:
    every = [*broker_file.findings((FIXTURES / name).read_text(), name)]
    assert [one.state for one in every] == [state for state, _ in words]
    pairs = zip(every, words, strict=True)
    assert not [(one.text, text) for one, (_, text) in pairs if text not in one.text]


@pytest.mark.parametrize(
    "text",
    [
        CONFIGURATION.format(port=1883, folder="/var/lib/evictd/broker"),
        (ROOT / "deploy" / "mosquitto" / "mosquitto.conf").read_text(),
    ],
)
def test_the_files_that_evictd_ships_have_none_of_them(text: str) -> None:
    (only,) = broker_file.findings(text, "ours")
    assert (only.state, only.text) == (State.OK, "ours: nothing odd")


def test_a_packet_of_a_large_observation_must_fit() -> None:
    text = "max_queued_messages 100000\nmax_packet_size 65536\n"
    (only,) = broker_file.findings(text, "theirs")
    assert (only.state, only.text) == (State.PROBLEM, "max_packet_size is 65536")


@pytest.mark.parametrize("amount", ["²", "many", "-1", "", "1 000"])
def test_an_amount_that_is_no_number_is_as_if_it_were_not_given(amount: str) -> None:
    text = f"max_queued_messages 100000\nmax_packet_size {amount}\nautosave_interval {amount}\n"
    assert [one.state for one in broker_file.findings(text, "theirs")] == [State.OK]


def test_a_listener_on_loopback_may_let_everybody_in() -> None:
    text = "listener 1883 127.0.0.1\nallow_anonymous true\nmax_queued_messages 100000\n"
    assert [one.state for one in broker_file.findings(text, "theirs")] == [State.OK]
