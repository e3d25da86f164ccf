"""A container that evictd stopped for memory comes back by itself when there is room for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.lab.node import Node, request
from tests.lab.projects import Compose, acting, composed, service

PROJECT = "home"
TAKES_MIB = 400
LINE_MIB = 900  # of 1536 for all containers: met by two, and no room for a second


@pytest.fixture
def project(docker_engine: Any, tmp_path: Path) -> Iterator[Compose]:
    """Compose, for a project of two that take the same; one of them may go."""
    services = {
        "batch": service(docker_engine, TAKES_MIB, labels={"evictd.priority": "low"}),
        "web": service(docker_engine, TAKES_MIB, labels={"evictd.protect": "true"}),
    }
    with composed(docker_engine, PROJECT, tmp_path, services) as compose:
        yield compose


def test_a_stopped_container_comes_back_when_there_is_room_for_it(
    docker_engine: Any, project: Any, tmp_path: Path
) -> None:
    """Not as soon as the condition is over, since there is no room for both; the same container,
    once, and then it is not down any more."""
    settings = acting(docker_engine, LINE_MIB, evictionPressureTransitionPeriod="2s")
    node = Node(folder=tmp_path, settings=settings)
    down = f"stopped/{PROJECT}/batch"
    with node.joined():
        project("up", "--detach")
        node.until("one is evicted", lambda: node.hears.events("Evicted"))
        node.until("that is written down", lambda: node.hears.newest(down))
        node.until("it is over", lambda: node.hears.events("NodeHasSufficientMemory"))
        node.looks_on(5)
        record = node.hears.newest(down)
        assert record["lastUsage"] > TAKES_MIB << 19  # it may still have been growing
        assert not node.hears.events("Restored")
        project("stop", "--timeout", "1", "web")
        node.until("it is back", lambda: node.hears.events("Restored"))
        node.until("it is not down any more", lambda: node.hears.newest(down) is None)
        node.until("the order is over", lambda: node.hears.newest("orders/restore") is None)
        node.until("it is seen", lambda: node.pod("batch"))
        node.looks_on()
        pod = node.pod("batch")
        assert pod is not None
        assert pod["runtimeId"] == record["runtimeId"]
        assert pod["uid"] != record["uid"]
        assert len(node.hears.events("Evicted")) == 1
        assert len(node.hears.events("Restored")) == 1
        lines = project("ps", "--all", "--format={{.Service}} {{.State}}")
        assert sorted(lines.splitlines()) == ["batch running", "web exited"]


HELD = {"verb": "Hold"}
FREE = {"verb": "Hold", "until": "2026-01-01T00:00:00Z"}
WISH = "wishes/acme.io/ann/quiet"


class Street:
    """A project of several, and a node that has room for everybody."""

    def __init__(self, engine: Any, folder: Path, compose: Compose) -> None:
        self.engine = engine
        self.compose = compose
        settings = acting(engine, 50, evictionPressureTransitionPeriod="2s")
        self.node = Node(folder=folder, settings=settings)

    def evict(self, *names: str) -> None:
        """As for a shortage of memory."""
        for name in names:
            self.node.until(f"{name} is listed", lambda name=name: self.node.pod(name))
            pod = self.node.pod(name)
            assert pod is not None
            self.node.publish(*request(pod, reason={"signal": "memory.available"}))
        for name in names:
            self.node.until(f"{name} is down", lambda name=name: self.record(name))
            self.node.until(f"{name} is not listed", lambda name=name: not self.node.pod(name))

    def record(self, name: str) -> Any:
        return self.node.hears.newest(f"stopped/{PROJECT}/{name}")

    def not_down(self, name: str) -> None:
        """It may be seen to run before the engine has answered who started it."""
        self.node.until(f"{name} is not down any more", lambda: self.record(name) is None)

    def life(self, name: str) -> str:
        """The one that is listed, else the one that was listed last."""
        seen = [message.content["pods"] for message in self.node.hears.all("observation")]
        return next(pod["uid"] for pods in reversed(seen) for pod in pods if pod["name"] == name)

    def told(self, reason: str) -> list[str]:
        return [event["data"]["message"] for event in self.node.hears.events(reason)]

    def why(self, name: str) -> str:
        """What keeps it down, as the newest Decision has it."""
        rows = self.node.hears.newest("decision")["absent"]
        return next((row["why"] for row in rows if row["pod"]["name"] == name), "")


@pytest.fixture
def street(docker_engine: Any, tmp_path: Path) -> Iterator[Callable[..., Street]]:
    """Whoever calls it makes one."""
    with ExitStack() as ends:

        def make(**services: dict[str, Any]) -> Street:
            made = {name: service(docker_engine, 1, **more) for name, more in services.items()}
            compose = ends.enter_context(composed(docker_engine, PROJECT, tmp_path, made))
            return Street(docker_engine, tmp_path, compose)

        yield make


def test_what_it_depends_on_has_to_be_healthy_first(street: Any) -> None:
    """By its own check."""
    check = {"test": ["CMD", "test", "-e", "/healthy"], "interval": "1s", "retries": 1}
    home = street(db={"healthcheck": check}, web={"depends_on": ["db"]})
    with home.node.joined():
        home.compose("up", "--detach")
        home.node.until("both are seen", lambda: home.node.pod("db") and home.node.pod("web"))
        assert home.node.pod("db")["ready"] is False
        home.evict("web")
        home.node.until("it waits", lambda: home.why("web") == f"{PROJECT}/db comes first")
        home.node.looks_on(3)
        assert home.record("web")
        home.compose("exec", "db", "touch", "/healthy")
        home.node.until("db is healthy", lambda: home.node.pod("db").get("ready", True))
        home.node.until("web is back", lambda: home.told("Restored"))
        home.node.until("it is seen", lambda: home.node.pod("web"))
        home.not_down("web")


def test_who_shares_its_network_is_restarted_with_it(street: Any) -> None:
    """The same container, in another life."""
    home = street(vpn={}, torrent={"network_mode": "service:vpn"})
    with home.node.joined():
        home.compose("up", "--detach")
        home.node.until("both are seen", lambda: home.node.pod("vpn") and home.node.pod("torrent"))
        before = home.node.pod("torrent")
        assert f"{PROJECT}/vpn" in before["dependsOn"]
        home.evict("vpn")
        home.node.until("vpn is back", lambda: home.told("Restored"))
        home.node.until("it lives again", lambda: home.life("torrent") != before["uid"])
        assert home.node.pod("torrent")["runtimeId"] == before["runtimeId"]
        assert not home.node.hears.newest("stopped/home/torrent")


def test_a_responder_killed_between_its_stop_and_its_start_leaves_nobody_down(street: Any) -> None:
    """What shares the network heeds no signal, so that its stop takes its grace."""
    deaf = ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]
    home = street(
        vpn={},
        torrent={"network_mode": "service:vpn", "command": deaf, "stop_grace_period": "6s"},
    )

    def running() -> list[str]:
        return home.compose("ps", "--format={{.Service}}").split()

    with home.node.separate():
        home.compose("up", "--detach")
        home.node.until("both are seen", lambda: home.node.pod("vpn") and home.node.pod("torrent"))
        before = home.node.pod("torrent")
        home.evict("vpn")
        home.node.until("vpn runs", lambda: "vpn" in running())
        began = len(home.node.hears.all("observation"))
        home.node.until("a second", lambda: len(home.node.hears.all("observation")) > began + 1)
        home.node.kill("responder")
        home.node.until("torrent has gone", lambda: "torrent" not in running())
        home.node.start("responder")
        home.node.until("it lives again", lambda: home.life("torrent") != before["uid"])
        assert home.node.pod("torrent")["runtimeId"] == before["runtimeId"]
        home.node.until("vpn is not down", lambda: not home.record("vpn"))


def test_a_restart_of_the_engine_and_a_removal_and_what_a_person_does_meanwhile(
    street: Any,
) -> None:
    """Who always restarts is back by itself, who does not is started by evictd, who was removed is
    forgotten, and while a person holds everything evictd starts nobody."""
    home = street(
        always={"restart": "always"}, batch={"restart": "unless-stopped"}, gone={}, keep={}
    )
    with home.node.joined():
        home.compose("up", "--detach")
        home.node.until("all are seen", lambda: home.node.pod("keep") and home.node.pod("gone"))
        home.node.publish(WISH, HELD)
        home.node.until("it is held", lambda: home.told("WishAnswered"))
        home.evict("always", "batch", "gone")
        home.compose("rm", "--force", "gone")
        home.node.until("it is missed", lambda: home.told("Forgotten"))
        assert home.told("Forgotten") == [
            f"{PROJECT}/gone will not be started again: it was removed"
        ]
        home.engine.reboot()
        home.node.until("one is back by itself", lambda: home.told("Restored"), 30)
        (sentence,) = home.told("Restored")
        assert sentence.startswith(f"{PROJECT}/always runs again, started by somebody else")
        home.node.looks_on(3)
        assert home.why("batch") == "held until taken back"
        home.node.publish(WISH, FREE)
        home.node.until("the other is back", lambda: len(home.told("Restored")) == 2)
        assert home.told("Restored")[1].startswith(f"{PROJECT}/batch was started again")
        home.node.until("it is seen", lambda: home.node.pod("batch"))
        home.not_down("batch")
        home.node.until("the order is over", lambda: not home.node.hears.newest("orders/restore"))


def test_what_was_made_anew_and_not_started_is_started_in_its_place(street: Any) -> None:
    home = street(batch={})
    with home.node.joined():
        home.compose("up", "--detach")
        home.node.until("it is seen", lambda: home.node.pod("batch"))
        home.node.publish(WISH, HELD)
        home.node.until("it is held", lambda: home.told("WishAnswered"))
        home.evict("batch")
        former = home.record("batch")["runtimeId"]
        home.compose("up", "--force-recreate", "--no-start", "batch")
        home.node.looks_on(3)
        assert home.record("batch")
        home.node.publish(WISH, FREE)
        home.node.until("it is back", lambda: home.told("Restored"))
        home.node.until("it is seen", lambda: home.node.pod("batch"))
        assert home.node.pod("batch")["runtimeId"] != former
        home.not_down("batch")
