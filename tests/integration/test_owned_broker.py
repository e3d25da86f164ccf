"""The broker that evictd owns, with its logins and its access list, for real."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiomqtt import Client, MqttError, ProtocolVersion
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.testing import capture_logs
from tests.waiting import until

from evictd.core.errors import HostError, InputError, PeerError
from evictd.core.exchange import Exchange
from evictd.shell.broker import OwnedBroker, access_list, owned, owned_address, processes
from evictd.shell.broker.access import USERS, Asking
from evictd.shell.broker.folder import Folder
from evictd.shell.bus.address import Address
from evictd.shell.bus.link_client import REFUSALS_MAX, connect
from evictd_schemas import topics
from evictd_schemas.topics import ALL, Role

NODE = "edge-7"
OBSERVATION = topics.OBSERVATION.at(NODE)
DECISION = topics.DECISION.at(NODE)


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that every account may pass through, as the system's state folder is."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path / "evictd"


@pytest.fixture
async def broker(folder: Path) -> AsyncIterator[OwnedBroker]:
    async with OwnedBroker(folder) as started:
        yield started


def client(address: Address) -> Client:
    return Client(
        address.host,
        address.port,
        username=address.username,
        password=address.password,
        protocol=ProtocolVersion.V5,
    )


async def retained(broker: OwnedBroker) -> dict[str, bytes]:
    """What the broker has, as the operator sees it."""
    found: dict[str, bytes] = {}
    marker = f"{topics.ROOT}/marker/observation"
    async with client(broker.address("operator")) as operator:
        await operator.subscribe("evictd/#", qos=1)
        await operator.publish(marker, b"x", qos=1)
        async for message in operator.messages:
            if message.topic.value == marker:
                return found
            found[message.topic.value] = bytes(message.payload)
    raise AssertionError("the connection ended")


async def says(broker: OwnedBroker, user: str, topic: str) -> bool:
    """Whether the broker takes state from this login; a refused one is acknowledged silently."""
    async with client(broker.address(user)) as speaker:
        await speaker.publish(topic, user.encode(), qos=1, retain=True)
    return (await retained(broker)).get(topic) == user.encode()


STATUS = {role: topics.WORKER.at(NODE, worker=role) for role in (*topics.WORKERS, ALL)}
EVICTION = topics.EVICTION.at(NODE, namespace="shop", name="web")
REQUEST = {
    key: topics.REQUEST.at(NODE, domain="evictd.io", key=key, namespace="shop", name="web")
    for key in ("node-pressure", "gateway", "cli")
}
STOPPED = topics.STOPPED.at(NODE, namespace="shop", name="web")
PRESSURE = topics.PRESSURE.at(NODE)


@pytest.mark.parametrize(
    ("user", "its_own", "not_its_own"),
    [
        ("collector", OBSERVATION, PRESSURE),
        ("evaluator", PRESSURE, DECISION),
        ("evictor", REQUEST["node-pressure"], REQUEST["gateway"]),
        ("controller", EVICTION, STOPPED),
        ("responder", STOPPED, EVICTION),
        ("gateway", REQUEST["gateway"], REQUEST["node-pressure"]),
        ("all", EVICTION, STATUS[Role.CONTROLLER]),
        ("demo", OBSERVATION, DECISION),
        ("operator", REQUEST["cli"], "elsewhere/topic"),
    ],
)
async def test_a_login_writes_its_own_topics_and_no_other(
    broker: OwnedBroker, user: str, its_own: str, not_its_own: str
) -> None:
    assert await says(broker, user, its_own)
    assert not await says(broker, user, not_its_own)


@pytest.mark.parametrize("user", ["health", "viewer"])
async def test_a_login_that_only_reads_writes_nothing(broker: OwnedBroker, user: str) -> None:
    assert not await says(broker, user, OBSERVATION)


@pytest.mark.parametrize("user", [str(role) for role in (*topics.WORKERS, ALL)])
async def test_each_worker_writes_its_status_and_reads_everything(
    broker: OwnedBroker, user: str
) -> None:
    assert await says(broker, user, topics.WORKER.at(NODE, worker=user))
    assert await says(broker, "operator", DECISION)
    async with client(broker.address(user)) as reader:
        await reader.subscribe(DECISION, qos=1)
        async with asyncio.timeout(10):
            message = await anext(aiter(reader.messages))
        assert message.payload == b"operator"


async def test_without_a_login_or_with_a_wrong_password_nobody_gets_in(
    broker: OwnedBroker,
) -> None:
    for address in (
        Address(host="127.0.0.1", port=broker.port),
        Address(host="127.0.0.1", port=broker.port, username="operator", password="guessed"),  # noqa: S106 - no password of anybody
    ):
        with pytest.raises(MqttError):
            async with client(address):
                pass


async def test_what_the_access_list_refuses_is_told_with_its_topic_and_once(
    broker: OwnedBroker,
) -> None:
    """The broker acknowledges what it refuses; only the reason code tells."""
    with capture_logs(processors=[merge_contextvars]) as told, bound_contextvars(worker="speaker"):
        async with connect(broker.address(Role.COLLECTOR.value), "speaker") as speaker:
            for _ in range(2):
                await speaker.publish(DECISION, b"{}", qos=1, retain=True)
            await speaker.publish(OBSERVATION, b"{}", qos=1, retain=True)
            for number in range(2 * REFUSALS_MAX):
                await speaker.publish(f"plant/{number}", b"{}", qos=1)
    refused = [line["topic"] for line in told if "refuses" in line["event"]]
    assert refused == [DECISION, *(f"plant/{number}" for number in range(REFUSALS_MAX - 1))]
    assert {line["reason"] for line in told} == {"Not authorized"}
    assert {line["worker"] for line in told} == {"speaker"}


def test_every_user_of_the_list_has_one_block_and_outsiders_only_their_own_names() -> None:
    text = access_list({"acme-mover": ("acme.io", "mover")})
    users = [line.split()[1] for line in text.splitlines() if line.startswith("user ")]
    assert users == [*USERS, "acme-mover"]
    mover = text.partition("user acme-mover\n")[2].splitlines()
    assert mover == [
        "topic read evictd/v1/#",
        "topic write evictd/v1/+/evictionrequests/acme.io/mover/+/+",
        "topic write evictd/v1/+/evictions/+/+/responders/acme.io/mover",
        "topic write evictd/v1/+/responders/acme.io/mover",
        "topic write evictd/v1/+/wishes/acme.io/mover/+",
    ]


ASKING = Asking(
    responder="acme.io/ask",
    exchange=Exchange(question="plant/{namespace}/{name}/evict", answer="plant/said/{name}"),
)


def test_who_asks_workloads_may_speak_and_hear_there_and_nobody_else() -> None:
    outsiders = {"asker": ("acme.io", "ask"), "mover": ("acme.io", "mover")}
    plain, text = access_list(outsiders), access_list(outsiders, [ASKING])
    blocks = {block.split("\n")[0]: block.splitlines() for block in text.split("\n\n")}
    asks = ["topic write plant/+/+/evict", "topic read plant/said/+"]
    added = sorted(set(text.splitlines()) - set(plain.splitlines()))
    answers = ["topic read plant/+/+/evict", "topic write plant/said/+"]
    assert added == sorted([*asks, *answers, "user workload"])
    assert [user for user, lines in blocks.items() if asks[0] in lines] == [
        "user operator",
        "user asker",
    ]
    assert blocks["user workload"] == ["user workload", *answers]


async def test_a_workload_hears_and_answers_its_question_and_nothing_else(folder: Path) -> None:
    async with OwnedBroker(folder, askings=[ASKING]) as broker:
        async with (
            client(broker.address("operator")) as asker,
            client(broker.address("workload")) as workload,
        ):
            await asker.subscribe("plant/#", qos=1)
            await workload.subscribe("#", qos=1)
            await asker.publish("plant/elsewhere", b"1", qos=1)
            await asker.publish("plant/shop/web/evict", b"2", qos=1)
            await workload.publish("plant/shop/web/evict", b"3", qos=1)
            await workload.publish(OBSERVATION, b"4", qos=1)
            await workload.publish("plant/said/web", b"5", qos=1)
            async with asyncio.timeout(10):
                asked = await anext(aiter(workload.messages))
                answered = await anext(aiter(asker.messages))
        assert (asked.topic.value, asked.payload) == ("plant/shop/web/evict", b"2")
        assert (answered.topic.value, answered.payload) == ("plant/said/web", b"5")
        assert await says(broker, "operator", OBSERVATION)


async def test_port_logins_and_state_outlive_an_orderly_end(folder: Path) -> None:
    async with OwnedBroker(folder) as first:
        assert await says(first, "collector", OBSERVATION)
    async with OwnedBroker(folder) as second:
        assert second.port == first.port
        assert second.address("operator").password == first.address("operator").password
        assert await retained(second) == {OBSERVATION: b"collector"}


async def test_another_process_finds_the_broker_with_a_login(
    broker: OwnedBroker, folder: Path
) -> None:
    found = await asyncio.to_thread(owned_address, folder, "operator")
    assert found == broker.address("operator")


def test_where_no_broker_has_run_there_is_no_address(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has run with"):
        owned_address(tmp_path, "operator")


async def test_nothing_it_writes_can_be_read_by_others(broker: OwnedBroker, folder: Path) -> None:
    def modes() -> dict[str, int]:
        found = {path.name: path.stat().st_mode & 0o077 for path in (folder / "broker").iterdir()}
        return found | {"logins": (folder / "broker-logins.json").stat().st_mode & 0o077}

    assert set((await asyncio.to_thread(modes)).values()) == {0}
    assert broker.port > 0


async def test_it_runs_as_the_account_of_its_package_or_as_we_do(
    broker: OwnedBroker, folder: Path
) -> None:
    account = await asyncio.to_thread(Folder(folder).account)
    owner = await asyncio.to_thread(os.stat, f"/proc/{broker.pid}")
    assert owner.st_uid == (os.geteuid() if account is None else account.pw_uid)


async def test_it_is_started_again_when_it_dies(broker: OwnedBroker) -> None:
    port, pid = broker.port, broker.pid
    os.kill(pid, signal.SIGKILL)
    await until(lambda: broker.restarts == 1 and broker.pid != pid)

    async def takes_logins() -> bool:
        try:
            return await says(broker, "collector", OBSERVATION)
        except MqttError:
            return False

    await until(takes_logins)
    assert broker.port == port


OWNER = """
import asyncio, sys
from pathlib import Path
from evictd.shell import logs
from evictd.shell.broker import OwnedBroker

logs.configure(worker="all", node="edge-7")

async def main():
    async with OwnedBroker(Path(sys.argv[1])) as broker:
        print(broker.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_it_ends_with_evictd_even_when_that_is_killed(folder: Path) -> None:
    def kill_owner() -> tuple[int, int | None]:
        with subprocess.Popen(
            [sys.executable, "-c", OWNER, folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as owner:
            assert owner.stdout is not None
            try:
                pid = int(owner.stdout.readline())
                return pid, processes.start_time(pid)
            finally:
                owner.kill()

    pid, started = await asyncio.to_thread(kill_owner)
    assert started is not None

    async def has_ended() -> bool:
        return await asyncio.to_thread(processes.start_time, pid) != started

    await until(has_ended)
    async with OwnedBroker(folder) as again:
        assert await says(again, "collector", OBSERVATION)


async def test_a_broker_left_by_an_earlier_life_is_ended_and_a_stranger_with_its_number_is_not(
    folder: Path,
) -> None:
    def leave(started_offset: int) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "600"])
        started = processes.start_time(process.pid)
        assert started is not None
        folder.mkdir(parents=True, exist_ok=True)
        Folder(folder).keep_record(port=0, pid=process.pid, started=started + started_offset)
        return process

    for offset, ended in ((0, True), (1, False)):
        process = await asyncio.to_thread(leave, offset)
        async with OwnedBroker(folder):
            gone = await asyncio.to_thread(processes.start_time, process.pid) is None
        process.kill()
        await asyncio.to_thread(process.wait)
        assert gone is ended


async def test_a_second_evictd_with_the_same_folder_is_told_so(
    broker: OwnedBroker, folder: Path
) -> None:
    with pytest.raises(HostError, match="another evictd runs with the state folder"):
        async with OwnedBroker(folder):
            pass
    assert await says(broker, "collector", OBSERVATION)


async def test_a_port_that_is_taken_is_named_with_the_broker_s_own_reason(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PeerError, match=rf"port {port}: .*Address already in use"):
            async with OwnedBroker(folder, port):
                pass


async def test_a_missing_mosquitto_is_an_error_that_names_package_and_compose(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(owned, "PROGRAM_FOLDERS", ())
    with pytest.raises(PeerError, match=r"package mosquitto .*docker compose up"):
        async with OwnedBroker(folder):
            pass


async def test_a_folder_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    await asyncio.to_thread((tmp_path / "file").touch)
    with pytest.raises(HostError, match="cannot be used"):
        async with OwnedBroker(tmp_path / "file"):
            pass
