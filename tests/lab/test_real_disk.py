"""A machine whose disk, inodes or process ids run out: an engine on a small file system of its own.

What nobody needs is given back first; then at most one workload is stopped, the one that fills it.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import CGROUPS, ENGINE_SCRIPT, make_engine
from tests.lab.node import Node

from evictd.core.orders import CHOSEN_RECLAIM_STEPS, HOST_RECLAIM_STEPS
from evictd.runtimes.docker import DockerRuntime, Engine
from evictd.runtimes.reclaims import Reclaims, UnusedImages

DISK_MIB = 96
INODES = 4_500
LINE_MIB = 30
INODES_LINE = 3_000
ENGINES_OWN_MIB = 1
"""The engine writes a page of its own now and then, and sizes are told in whole MiB."""
PIDS_MAX = 320
PIDS_LINE = 120
IMAGE = "bare"
REST = "trap 'exit 0' TERM; while :; do sleep 0.2; done"
FILL = """
import time
with open("/filling", "wb", buffering=0) as file:
    while True:
        file.write(bytes(1 << 20))
        time.sleep(0.2)
"""
"""5 MiB a second, into its own layer."""
SCATTER = """
import itertools, time
for number in itertools.count():
    open(f"/many-{number}", "w").close()
    time.sleep(0 if number % 50 else 0.1)
"""
"""At most 500 files a second."""
CHAT = f"head -c 40M /dev/zero | tr '\\0' x | fold -w 1000; echo; echo after; {REST}"
"""40 MiB into its log, and then a line from time to time would follow."""
SPAWN = "trap 'exit 0' TERM; while :; do sleep 600 & sleep 0.04; done"


class Machine:
    """The engine, what runs on it, and its disk as somebody outside of all containers sees it."""

    def __init__(self, engine: Any, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.data = engine.socket.parent / "small"
        self.images = 0

    @property
    def disk(self) -> Path:
        """The data root by way of the engine's own process."""
        process = (self.engine.socket.parent / "dockerd.pid").read_text()
        return Path(f"/proc/{process}/root{self.data}")

    def run(self, name: str, *command: str, **labels: str) -> None:
        """A container with nothing in its image: programs are the machine's own."""
        words = (f"--label=evictd.{key}={value}" for key, value in labels.items())
        self.engine.docker(
            *("run", "--detach", "--network=none", "--stop-timeout=1", f"--name={name}"),
            *("--volume=/usr:/usr:ro", *words, IMAGE, *command),
        )

    def image(self, mebibytes: int, *tag: str) -> str:
        """One more image of that size, without a name unless one is given; its id."""
        self.images += 1
        file = self.folder / "image.tar"
        with tarfile.open(file, "w") as archive:
            for link in ("bin", "lib", "lib64"):
                entry = tarfile.TarInfo(link)
                entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{link}"
                archive.addfile(entry)
            entry = tarfile.TarInfo(f"content-{self.images}")
            entry.size = mebibytes << 20
            archive.addfile(entry, io.BytesIO(os.urandom(entry.size)))
        return str(self.engine.docker("import", str(file), *tag)).strip()

    def running(self) -> list[str]:
        """Names of containers that run."""
        return sorted(self.engine.docker("ps", "--format={{.Names}}").split())

    def available_mib(self) -> int:
        """What the file system has left."""
        figures = os.statvfs(self.disk)
        return int(figures.f_bavail * figures.f_frsize) >> 20

    def fill(self) -> None:
        """Somebody outside of every container crosses the line at one go."""
        (self.disk / "foreign").write_bytes(bytes((self.available_mib() - LINE_MIB + 5) << 20))

    def clear(self) -> None:
        """No containers, and no images but the bare one."""
        (self.disk / "foreign").unlink(missing_ok=True)
        names = self.engine.docker("ps", "--all", "--quiet").split()
        if names:
            self.engine.docker("rm", "--force", *names)
        self.engine.docker("image", "prune", "--force")


@pytest.fixture(scope="module")
def small_engine() -> Iterator[Any]:
    """An engine whose data root is a small file system; it is gone with the engine."""
    more = {"ENGINE_DATA_MIB": str(DISK_MIB), "ENGINE_DATA_INODES": str(INODES)}
    with make_engine(**more) as engine:
        yield engine
    assert not (engine.socket.parent / "small").exists()


@pytest.fixture
def machine(small_engine: Any, tmp_path: Path) -> Iterator[Machine]:
    """With one workload that rests, and has a megabyte of its own."""
    found = Machine(small_engine, tmp_path)
    if not small_engine.docker("image", "ls", "--quiet", IMAGE):
        found.image(0, IMAGE)
    found.run("web", "sh", "-c", f"head -c 1M /dev/zero > /held; {REST}")
    yield found
    found.clear()


def node_on(machine: Machine, line: dict[str, str], **more: Any) -> Node:
    """evictd beside the engine, where its files are to be seen."""
    settings = {
        "mode": "act",
        "candidates": "all",
        "evictionHard": line,
        "sources": {
            "intervalSeconds": 0.5,
            "fileSystems": {"nodefs": str(machine.data)},
            "pids": {"cgroup": f"/{machine.engine.cgroup}"},
            "runtimes": {"docker": {"socket": str(machine.engine.socket)}},
        },
        **more,
    }
    environment = machine.engine.environment
    beside = ["env", *(f"{key}={environment[key]}" for key in environment if "ENGINE_" in key)]
    return Node(
        folder=machine.folder,
        settings=settings,
        beside=(*beside, str(ENGINE_SCRIPT), "beside"),
    )


BYTES = {"nodefs.available": f"{LINE_MIB}Mi"}


def test_what_nobody_needs_is_enough(machine: Machine) -> None:
    """Images without a name go, as far as the disk itself says; nobody is stopped."""
    with node_on(machine, BYTES).joined() as node:
        for _ in range(3):
            machine.image(18)
        machine.fill()
        node.until("it is reclaimed", lambda: node.hears.events("ReclaimFinished"))
        node.looks_on()
        (finished,) = node.hears.events("ReclaimFinished")
        assert finished["data"]["enough"]
        (step,) = finished["data"]["steps"]
        assert step["step"] == "danglingImages"
        assert step["freedBytes"] > 3 * 17 << 20
        assert step["takenTotal"] >= 3
        assert not node.hears.events("EvictionRequested")
        assert machine.available_mib() > LINE_MIB
        assert machine.running() == ["web"]


@pytest.mark.parametrize("mode", ["observe", "dry-run"])
def test_who_does_not_act_names_what_would_go_and_takes_nothing(
    mode: str, machine: Machine
) -> None:
    """Once a crossing: with the engine's figures, image by image; the Decision keeps them."""
    with node_on(machine, BYTES, mode=mode).joined() as node:
        images = [machine.image(18) for _ in range(3)]
        machine.fill()
        node.until("it is told", lambda: node.hears.events("ReclaimFinished"))
        left = machine.available_mib()
        node.looks_on(4)
        (told,) = node.hears.events("ReclaimFinished")
        dangling, cache = told["data"]["steps"]
        assert told["data"]["dryRun"]
        assert sorted(dangling["taken"]) == sorted(image[: len("sha256:") + 12] for image in images)
        assert dangling["listedBytes"] >= 3 * 18 << 20
        assert (cache["takenTotal"], cache.get("error")) == (0, None)
        (kept,) = node.hears.newest("decision")["reclaims"]
        assert (kept["dryRun"], kept["steps"]) == (True, told["data"]["steps"])
        assert left < LINE_MIB
        assert machine.available_mib() == pytest.approx(left, abs=ENGINES_OWN_MIB)
        assert machine.running() == ["web"]


def test_what_is_switched_on_goes_before_anybody_is_stopped(machine: Machine) -> None:
    """A dead container first, then a log in place, whose owner goes on as if nothing had been."""
    switched_on = {
        "evictionMinimumReclaim": {"nodefs.available": "40Mi"},
        "reclaim": {
            "unusedImages": {"enabled": True},
            "deadContainers": {"enabled": True, "exitedFor": "0s"},
            "truncateLogs": {"enabled": True, "above": "1Mi"},
        },
    }
    with node_on(machine, BYTES, **switched_on).joined() as node:
        machine.run("dead", "sh", "-c", "head -c 24M /dev/urandom > /held")
        machine.engine.docker("wait", "dead")
        machine.run("chatty", "sh", "-c", CHAT)
        node.until("it is reclaimed", lambda: node.hears.events("ReclaimFinished"), 30)
        (finished,) = node.hears.events("ReclaimFinished")
        taken = {step["step"]: step for step in finished["data"]["steps"]}
        assert list(taken) == list(HOST_RECLAIM_STEPS + CHOSEN_RECLAIM_STEPS)
        assert taken["deadContainers"]["taken"] == ["_/dead"]
        assert taken["deadContainers"]["freedBytes"] > 20 << 20
        assert taken["truncateLogs"]["taken"] == ["_/chatty"]
        node.looks_on()
        assert not node.hears.events("EvictionRequested")
        assert machine.running() == ["chatty", "web"]
        assert "dead" not in machine.engine.docker("ps", "--all", "--format={{.Names}}").split()
        assert machine.available_mib() > LINE_MIB + 40
        node.end()
    kept = json.loads((machine.folder / "state" / "image-uses").read_text())
    assert kept["content"]["remembered"]["unused_seconds"], "an end writes down what was used when"


def test_an_image_goes_by_its_name_and_not_while_a_container_refers_to_it(machine: Machine) -> None:
    """A conflict is an answer. What was built here has no digest, and is not even offered."""
    image_id = machine.image(1, "spare:1")

    async def story() -> None:
        engine = Engine(machine.engine.host)
        all_of_them = UnusedImages(unused_seconds=0, minimum_age_seconds=0)
        runtime = DockerRuntime(engine, reclaims=Reclaims(unused_images=all_of_them))
        listed = {image.id: image for image in await engine.images()}
        assert listed[image_id].repo_tags == ("spare:1",)
        offered = await runtime.rehearse("unusedImages", stopped=frozenset())
        assert (offered.taken, offered.error) == ((), None)
        assert not await engine.remove_image(IMAGE), "web runs it"
        assert await engine.remove_image("spare:1")
        assert not await engine.remove_image("spare:1"), "it is gone"
        await runtime.close()

    asyncio.run(story())


def test_where_that_is_not_enough_the_one_that_fills_the_disk_is_stopped(machine: Machine) -> None:
    """After the images; who holds more and rests stays, and a stop is made once."""
    machine.image(4)
    machine.run("archive", "sh", "-c", f"head -c 48M /dev/urandom > /held; {REST}")
    with node_on(machine, BYTES).joined() as node:
        machine.run("writer", "python3", "-c", FILL)
        node.until("one is evicted", lambda: node.hears.events("Evicted"), 40)
        left = machine.available_mib()
        node.looks_on()
        (evicted,) = node.hears.events("Evicted")
        assert evicted["subject"] == "_/writer"
        assert node.hears.events("ReclaimFinished")[-1]["data"]["enough"] is False
        assert machine.running() == ["archive", "web"]
        assert left > 0
        same = pytest.approx(left, abs=ENGINES_OWN_MIB)
        assert machine.available_mib() == same, "growth has ended; nothing is removed"
        rows = {row["pod"]["name"]: row for row in _judged(node)["ranking"]}
        assert "wrote" in rows["writer"]["why"]
        assert "wrote" not in rows["archive"]["why"]
        (grown, *_) = _judged(node)["losses"][0]["growing"]
        assert grown["pod"]["name"] == "writer"
        assert grown["perSecond"] * grown["seconds"] == pytest.approx(grown["grown"])
        said = [
            one.content["status"]
            for one in node.hears.all("evictions/_/")
            if one.content and "status" in one.content
        ]
        assert "that explains the" in said[-1]["reason"]["message"]


def test_what_no_workload_writes_costs_nobody(machine: Machine) -> None:
    """Somebody else filled the disk: people are told what is known, and nothing is stopped."""
    with node_on(machine, BYTES).joined() as node:
        node.until("web is counted", lambda: _layer_bytes(node, "web"))
        machine.fill()
        node.until("it is told", lambda: node.hears.events("NothingLeftToEvict"))
        node.looks_on(3)
        (told,) = node.hears.events("NothingLeftToEvict")
        assert told["data"]["consumers"][0]["pod"] == "_/web"
        assert told["data"]["unattributed"] > 40 << 20
        assert told["data"]["lostUnattributed"] > 40 << 20
        assert not node.hears.events("EvictionRequested")
        assert machine.running() == ["web"]


def test_a_writer_of_many_files_goes_for_inodes(machine: Machine) -> None:
    """By inodes, while bytes are plenty."""
    line = {"nodefs.inodesFree": str(INODES_LINE)}
    with node_on(machine, line).joined() as node:
        machine.run("scatter", "python3", "-c", SCATTER)
        node.until("one is evicted", lambda: node.hears.events("Evicted"), 40)
        (evicted,) = node.hears.events("Evicted")
        assert evicted["subject"] == "_/scatter"
        assert evicted["data"]["signal"] == "nodefs.inodesFree"
        assert machine.running() == ["web"]
        assert machine.available_mib() > LINE_MIB


def test_of_process_ids_the_least_important_gives_back_what_it_took(machine: Machine) -> None:
    """The group of all containers has a budget; priority decides, not the count alone."""
    folder = CGROUPS / "pids" / machine.engine.cgroup
    limit = (folder if folder.is_dir() else CGROUPS / machine.engine.cgroup) / "pids.max"
    many = "i=0; while [ $i -lt 140 ]; do sleep 600 & i=$((i+1)); done;"
    machine.run("db", "sh", "-c", many + REST, priority="high")
    limit.write_text(str(PIDS_MAX))
    with node_on(machine, {"pid.available": str(PIDS_LINE)}).joined() as node:
        machine.run("spawner", "sh", "-c", SPAWN, priority="low")
        node.until("one is evicted", lambda: node.hears.events("Evicted"), 30)
        node.looks_on()
        (evicted,) = node.hears.events("Evicted")
        assert evicted["subject"] == "_/spawner"
        order = [row["pod"]["name"] for row in _judged(node)["ranking"]]
        assert order == ["spawner", "web", "db"]
        assert machine.running() == ["db", "web"]
        signal = node.hears.newest("observation")["signals"]["pid.available"]
        assert signal["available"] > PIDS_LINE


def _judged(node: Node) -> Any:
    """The decision by which somebody was asked to go."""
    found = [said.content for said in node.hears.all("decision")]
    return next(one for one in found if one and one["action"] == "Evict")


def _layer_bytes(node: Node, name: str) -> int:
    pod = node.pod(name) or {}
    containers = pod.get("stats", {}).get("containers", [{}])
    return int(containers[0].get("rootfs", {}).get("usedBytes", 0))
