"""What an engine's answers amount to: reached or not, each right, what its kernel can do."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from evictd.cli.checkup import endpoints, engine
from evictd.cli.checkup.endpoints import NEEDS
from evictd.cli.checkup.engine import EngineFacts, SocketFacts
from evictd.cli.checkup.findings import Finding, State
from evictd.runtimes.docker.rights import Answer, EngineSelf, EngineVersion, Sight

FIXTURES = Path(__file__).parents[2] / "fixtures" / "docker"
SOCKET = "/var/run/docker.sock"
PROXY = "tcp://engine-to-read:2375"


def answers(**statuses: int) -> tuple[Answer, ...]:
    """Every endpoint as a good engine answers, except for those whose last word is named."""
    return tuple(
        Answer(endpoint=name, status=next((n for w, n in statuses.items() if w in name), 200))
        for name in NEEDS
    )


def found(facts: EngineFacts) -> dict[str, Finding]:
    return {one.check: one for one in engine.findings(facts)}


def information(name: str) -> Sight:
    """A recorded engine."""
    read = msgspec.json.decode((FIXTURES / name).read_bytes(), type=EngineSelf)
    return Sight(information=read)


def test_without_an_engine_it_is_a_note_and_a_problem_where_one_is_configured() -> None:
    assert found(EngineFacts())["engine"].state is State.NOTE
    wanted = found(EngineFacts(wanted=True))["engine"]
    assert wanted.state is State.PROBLEM
    assert "DOCKER_HOST" in wanted.remedy


@pytest.mark.parametrize(
    ("socket", "named", "words"),
    [
        (SocketFacts(path=SOCKET), True, ["is not there", "DOCKER_HOST names this socket"]),
        (
            SocketFacts(path=SOCKET, exists=True, group="docker"),
            False,
            ["anna may not use", "group docker", "usermod -aG docker"],
        ),
        (SocketFacts(path=SOCKET, exists=True, usable=True), False, ["refused the connection"]),
        (None, True, ["refused the connection", "DOCKER_HOST names it", "proxy"]),
    ],
)
def test_an_engine_that_is_not_reached_says_which_reason_it_is(
    socket: SocketFacts | None, named: bool, words: list[str]
) -> None:
    sight = Sight(answers=(Answer(endpoint="GET /version", why="refused the connection"),))
    facts = EngineFacts(address=PROXY, named=named, socket=socket, sight=sight, user="anna")
    (only,) = engine.findings(facts)
    assert only.state is State.PROBLEM
    text = f"{only.text} {only.remedy}"
    assert not [word for word in words if word not in text]


def test_an_engine_that_lets_everything_through_has_no_problem() -> None:
    sight = Sight(answers=answers(), version=EngineVersion(version="27.0.1"))
    socket = SocketFacts(path=SOCKET, exists=True, usable=True)
    every = [*engine.findings(EngineFacts(address=f"unix://{SOCKET}", socket=socket, sight=sight))]
    assert {one.state for one in every} == {State.OK}
    assert every[0].text == f"Docker 27.0.1 at unix://{SOCKET}"


def test_behind_a_proxy_it_is_told_that_a_prune_was_not_tried() -> None:
    prunes = found(EngineFacts(address=PROXY, sight=Sight(answers=answers())))["engine prunes"]
    assert prunes.state is State.NOTE
    assert "not tried" in prunes.text


@pytest.mark.parametrize("status", [200, 204, 304, 404, 409])
def test_not_found_is_an_answer_of_the_engine_and_so_allowed(status: int) -> None:
    answer = Answer(endpoint="POST /containers/{id}/stop", status=status)
    assert endpoints.right(answer, acts=True).state is State.OK


@pytest.mark.parametrize("status", [401, 403, 405])
@pytest.mark.parametrize("endpoint", list(NEEDS))
def test_a_refused_endpoint_names_the_variable_of_the_proxy(endpoint: str, status: int) -> None:
    finding = endpoints.right(Answer(endpoint=endpoint, status=status), acts=True)
    seldom = endpoint == "GET /containers/{id}/stats"
    assert finding.state is (State.NOTE if seldom else State.PROBLEM)
    assert finding.check == f"engine {endpoint}"
    assert NEEDS[endpoint].variables[0] in finding.remedy
    assert f"-allow{endpoint.split(maxsplit=1)[0]}" in finding.remedy
    assert finding.means


def test_a_refused_stop_is_a_note_until_the_mode_is_act() -> None:
    answer = Answer(endpoint="POST /containers/{id}/stop", status=403)
    assert endpoints.right(answer, acts=False).state is State.NOTE
    assert "ALLOW_STOP" in endpoints.right(answer, acts=False).remedy
    assert endpoints.right(answer, acts=True).state is State.PROBLEM


def test_the_list_of_images_is_a_note_where_none_are_removed() -> None:
    """What a prune would take cannot be told then, and nothing else is missed."""
    answer = Answer(endpoint="GET /images/json", status=403)
    finding = endpoints.right(answer, acts=True, images=False)
    assert finding.state is State.NOTE
    assert "what a prune of images would take" in finding.means
    assert endpoints.right(answer, acts=True).state is State.PROBLEM
    assert (
        endpoints.right(answer, acts=False).means
        == "unused images cannot be found, once the mode is act"
    )


def test_a_worker_that_stops_nobody_needs_no_right_to_it() -> None:
    """The collector's proxy refuses it on purpose."""
    answer = Answer(endpoint="POST /containers/{id}/stop", status=403)
    finding = endpoints.right(answer, acts=True, stops=False)
    assert finding.state is State.OK
    assert "not needed here" in finding.text
    blind = Answer(endpoint="GET /containers/json", status=403)
    assert endpoints.right(blind, acts=True, stops=False).state is State.PROBLEM


@pytest.mark.parametrize("answer", [{"status": 500, "why": "broken"}, {"why": "no answer"}])
def test_a_call_that_fails_or_hangs_is_a_problem_of_the_engine(answer: dict[str, Any]) -> None:
    finding = endpoints.right(Answer(endpoint="GET /info", **answer), acts=False)
    assert finding.state is State.PROBLEM
    assert "log" in finding.remedy


def test_a_slow_call_is_worth_a_note() -> None:
    slow = Answer(endpoint="GET /containers/json", status=200, seconds=2.5)
    facts = EngineFacts(address=PROXY, sight=Sight(answers=(slow,)))
    assert found(facts)["engine speed"].text == "GET /containers/json took 2.5 s"


def test_podman_is_recognised() -> None:
    version = msgspec.json.decode(
        (FIXTURES / "podman-version.json").read_bytes(), type=EngineVersion
    )
    sight = Sight(answers=answers(), version=version)
    assert engine.is_podman(sight)
    assert found(EngineFacts(address=PROXY, sight=sight))["engine"].text.startswith("Podman ")


def test_a_pi_whose_kernel_keeps_no_account_of_memory_is_a_problem() -> None:
    every = {
        one.check: one for one in engine.kernel_findings(information("info-no-memory-cgroup.json"))
    }
    assert every["engine memory"].state is State.PROBLEM
    assert "memory cgroup" in every["engine memory"].remedy
    assert every["engine swap"].state is State.NOTE


def test_five_hundred_images_for_fourteen_containers_are_space_to_be_had() -> None:
    (only,) = engine.kernel_findings(information("info-many-images.json"))
    assert (only.state, only.text) == (State.NOTE, "508 images for 14 containers")


def test_an_engine_that_tells_nothing_of_its_kernel_is_not_judged() -> None:
    assert [*engine.kernel_findings(Sight())] == []
    assert [*engine.kernel_findings(Sight(information=EngineSelf()))] == []
    good = EngineSelf(memory_limit=True, swap_limit=True, pids_limit=False)
    checks = {one.check: one.state for one in engine.kernel_findings(Sight(information=good))}
    assert checks == {"engine memory": State.OK, "engine pids": State.NOTE}
