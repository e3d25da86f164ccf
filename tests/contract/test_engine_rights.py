"""What an engine lets us ask: each endpoint that is used is tried, and nothing is changed."""

import asyncio
from pathlib import Path

import pytest
from tests.contract.engine_double import EngineDouble
from tests.sockets import within_reach

from evictd.cli.checkup.endpoints import NEEDS, NEVER_TRIED
from evictd.runtimes.docker import endpoints, rights
from evictd.runtimes.docker.rights import NOBODY, Sight, asked, environment

REMOVING = ("DELETE /images/{id}", "DELETE /containers/{id}")
"""What only the removing of unused images and dead containers needs."""
USED = [name for name in NEEDS if name not in REMOVING]


def statuses(sight: Sight) -> dict[str, int | None]:
    return {answer.endpoint: answer.status for answer in sight.answers}


async def test_each_endpoint_that_is_used_is_asked_once(double: EngineDouble) -> None:
    double.add("1", "web")
    double.add("2", "db")
    assert list(statuses(await asked(double.address))) == USED
    assert list(statuses(await asked(double.address, images=True, containers=True))) == list(NEEDS)


def test_the_doctor_speaks_of_every_endpoint_that_an_engine_is_asked() -> None:
    assert {*NEEDS, *NEVER_TRIED} == {*endpoints.ALL}


async def test_nothing_is_changed(double: EngineDouble) -> None:
    """Only a container that cannot exist is stopped or started, and nothing is pruned."""
    double.add("1", "web")
    await asked(double.address, images=True, containers=True)
    changing = [line for line in double.asked if not line.startswith("GET ")]
    assert changing == [
        f"POST containers/{NOBODY}/stop",
        f"POST containers/{NOBODY}/start",
        f"DELETE images/{NOBODY}",
        f"DELETE containers/{NOBODY}",
    ]


async def test_what_a_proxy_refuses_is_told_endpoint_by_endpoint(double: EngineDouble) -> None:
    double.add("1", "web")
    double.refused = {"GET info", "POST containers", "GET images"}
    found = statuses(await asked(double.address))
    assert [name for name, status in found.items() if status == 403] == [
        "GET /info",
        "GET /images/{id}/json",
        "GET /images/json",
        "POST /containers/{id}/stop",
        "POST /containers/{id}/start",
    ]


async def test_a_refused_list_still_tells_whether_one_may_be_inspected(
    double: EngineDouble,
) -> None:
    double.refused = {"GET containers/json"}
    found = statuses(await asked(double.address))
    assert found["GET /containers/json"] == 403
    assert found["GET /containers/{id}/json"] == 404


async def test_a_call_that_hangs_is_given_up_and_the_others_are_made(
    double: EngineDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rights, "CALL_SECONDS", 0.2)
    double.hanging = {"info"}
    sight = await asked(double.address)
    hanging = next(answer for answer in sight.answers if answer.endpoint == "GET /info")
    assert hanging.status is None
    assert hanging.why == "no answer within 0.2 s"
    assert statuses(sight)["GET /events"] == 200
    assert sight.information is None


async def test_an_answer_without_end_is_given_up(
    double: EngineDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rights, "ANSWER_BYTES_MAX", 1 << 20)
    double.information = {"Name": "x" * (2 << 20)}
    sight = await asked(double.address)
    endless = next(answer for answer in sight.answers if answer.endpoint == "GET /info")
    assert (endless.status, endless.why) == (None, "more than 1 MiB")
    assert statuses(sight)["GET /events"] == 200


async def test_what_is_no_engine_is_told_in_one_line(tmp_path: Path) -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\xff\n" * 4000)
        writer.close()

    with within_reach(tmp_path) as folder:
        async with await asyncio.start_unix_server(babble, folder / "other.sock"):
            (only,) = (await asked(f"unix://{folder}/other.sock")).answers
    assert only.status is None
    assert 0 < len(only.why) <= rights.WHY_CHARACTERS_MAX
    assert "\n" not in only.why


@pytest.mark.parametrize(
    "address", ["unix:///nowhere/engine.sock", "ftp://engine", "unix://", "ssh://engine"]
)
async def test_an_engine_that_is_not_there_gives_one_answer_without_a_status(address: str) -> None:
    (only,) = (await asked(address)).answers
    assert only.status is None
    assert only.why


async def test_variables_and_kernel_are_read_from_what_the_engine_says(
    double: EngineDouble,
) -> None:
    double.information = {"MemoryLimit": False, "ServerVersion": "20.10.0"}
    number = double.add("1", "web")
    double.inspections[number]["Config"]["Env"] = ["EVICTD_PROTECT=true", "PATH=/bin:/sbin", "X"]
    sight = await asked(double.address)
    assert sight.information is not None
    assert sight.information.memory_limit is False
    (web,) = sight.containers
    assert dict(environment(web)) == {"EVICTD_PROTECT": "true", "PATH": "/bin:/sbin", "X": ""}


async def test_more_containers_than_a_person_waits_for_are_counted(
    double: EngineDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rights, "CONTAINERS_MAX", 2)
    for number in "1234":
        double.add(number, f"web-{number}")
    sight = await asked(double.address)
    assert len(sight.containers) == 2
    assert sight.containers_left_out == 2


async def test_an_answer_that_does_not_read_is_as_if_it_were_not_there(
    double: EngineDouble,
) -> None:
    double.information = {"MemoryLimit": "perhaps"}
    sight = await asked(double.address)
    assert statuses(sight)["GET /info"] == 200
    assert sight.information is None
