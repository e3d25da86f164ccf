"""What an engine says when it ends in the middle, or is none: an error of the peer, never ours."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.contract.engine_double import EngineDouble

from evictd.core.errors import PeerError
from evictd.runtimes.docker import DockerRuntime, Engine
from evictd.runtimes.docker.endpoints import LOOKING
from evictd.runtimes.docker.rights import asked
from evictd.runtimes.docker.statistics import Statistics

ID = "1" * 64
CALLS: dict[str, Callable[[Engine], Awaitable[Any]]] = {
    "information": lambda engine: engine.information(),
    "containers": lambda engine: engine.containers(),
    "inspect": lambda engine: engine.inspect(ID),
    "image": lambda engine: engine.image("web:1"),
    "statistics": lambda engine: engine.statistics(ID),
    "stop": lambda engine: engine.stop(ID, 0, 0),
    "start": lambda engine: engine.start(ID),
    "images": lambda engine: engine.images(),
    "dangling images": lambda engine: engine.dangling_images(),
    "build cache": lambda engine: engine.build_cache(),
    "removal of an image": lambda engine: engine.remove_image("web:1"),
    "removal of a container": lambda engine: engine.remove_container(ID),
    "size": lambda engine: engine.layer_bytes(ID),
    "image prune": lambda engine: engine.prune_dangling_images(),
    "build prune": lambda engine: engine.prune_build_cache(),
    "events": lambda engine: anext(engine.events(None), None),
}
GARBAGE = [
    b"",
    b"\n",
    b"null",
    b"{}",
    b"[]",
    b"[null]",
    b"[[]]",
    b"[7]",
    b"7",
    b'"text"',
    b"<html>502</html>",
    b'{"Id":',
    b'[{"Id": 7, "Names": 7}]',
    b'{"State": null, "Actor": []}',
    b'{"time": 1e300, "timeNano": "late"}',
    b"\xff\xfe\x00",
    b"[" * 10_000,
]


async def answered_or_blamed(double: EngineDouble, call: str) -> None:
    """One call, over a connection of its own; any other error than the peer's is raised."""
    engine = Engine(double.address)
    with suppress(PeerError):
        await CALLS[call](engine)
    await engine.close()


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda garbage: repr(garbage[:24]))
@pytest.mark.parametrize("call", CALLS)
async def test_whatever_it_answers_is_an_answer_or_an_error_of_the_peer(
    double: EngineDouble, call: str, garbage: bytes
) -> None:
    """Each call, with the texts of an engine or a proxy that goes down, or of something else."""
    double.garbage = garbage
    await answered_or_blamed(double, call)
    assert double.asked


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda garbage: repr(garbage[:24]))
@pytest.mark.parametrize("call", ["information", "events"])
async def test_what_it_says_of_its_version_may_be_anything_too(
    double: EngineDouble, call: str, garbage: bytes
) -> None:
    """The first question of each connection."""
    double.version = garbage
    await answered_or_blamed(double, call)
    assert double.asked[0] == "GET version"


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda garbage: repr(garbage[:24]))
async def test_who_asks_for_its_rights_is_told_what_did_not_read(
    double: EngineDouble, garbage: bytes
) -> None:
    """As `evictd doctor` does."""
    double.garbage = garbage
    sight = await asked(double.address, images=True, containers=True)
    assert len(sight.answers) > len(LOOKING)
    assert sight.containers == ()
    double.version = garbage
    assert (await asked(double.address)).answers


async def test_an_empty_answer_of_statistics_is_no_figure(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """An engine that ends, and a container that does, close the connection without a word."""
    double.add("1", "web")
    engine = Engine(double.address)
    information = await engine.information()
    double.garbage = b""
    assert await engine.statistics(ID) is None
    assert await Statistics(engine=engine).usage({"web": ID}, information, datetime.now(UTC)) == {}
    await engine.close()


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda garbage: repr(garbage[:24]))
async def test_a_runtime_that_knew_better_goes_on_after_it(
    double: EngineDouble, docker: DockerRuntime, garbage: bytes
) -> None:
    """The list is late or whole; afterwards everything is as before."""
    double.add("1", "web")
    before = await docker.list()
    double.garbage = garbage
    with suppress(PeerError):
        assert (await docker.list()).workloads == ()
    double.garbage = None
    assert await docker.list() == before
