"""The verbs of people on a real machine: evictd as a process, its own broker, no flags at all."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.kernel import PARENT, Kernel, kernel
from tests.integration.processes import HOME, PATIENCE_SECONDS, Site, until
from tests.integration.stories.conftest import DEMO, Hand, pod, settings, uid

DB = pod("db", uses_mib=2048, request_mib=256, critical=True)
ROOT = f"evictd/v1/{DEMO}"
NUMBERS = itertools.count(1)
DRAIN = {"name": "acme.io/drain", "priority": 10000}


class Person:
    """Somebody at a terminal of that machine, with a workload that nobody else touches."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.name = f"web-{next(NUMBERS)}"
        self.web = pod(self.name, uses_mib=512, request_mib=256, terminationGracePeriodSeconds=30)
        self.request = (
            f"{ROOT}/evictionrequests/evictd.io/cli/shop/{self.name}-{uid(self.name)[:8]}"
        )
        self.eviction = f"{ROOT}/evictions/shop/pod-1-{self.name}"

    def sees(self, *pods: dict[str, Any]) -> None:
        """The demo node looks like this now. By hand nobody counts: the time is the number."""
        hand = Hand()
        seen = hand.observation(0, 3000, *pods)
        del seen["sequence"]
        self.site.publish(hand.topic, seen, retain=True)
        until("it is judged", lambda: self._judged(seen["time"]))

    def _judged(self, time: str) -> bool:
        pressure = self.site.ear.now(f"{ROOT}/pressure")
        return pressure is not None and pressure["time"] >= time[:19]

    def types(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command to its end, whatever that is."""
        return self.site.ends(*arguments)

    def reads(self, *arguments: str) -> Any:
        """One command that gives JSON."""
        result = self.types(*arguments, "-o", "json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    @contextmanager
    def meanwhile(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A command that runs while something else happens."""
        process = subprocess.Popen(
            [sys.executable, "-m", "evictd", *arguments],
            env=self.site.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One machine for all who leave each other's workloads alone."""
    found = Site(folder=tmp_path_factory.mktemp("machine"), settings=settings())
    with found.running("up"):
        yield found


@pytest.fixture
def person(site: Site) -> Person:
    """At a machine whose demo node shows a workload and a critical one."""
    somebody = Person(site)
    somebody.sees(somebody.web, DB)
    return somebody


def test_no_flag_is_needed_where_evictd_runs(person: Person) -> None:
    plain, status = person.types(), person.types("status")
    assert plain.returncode == status.returncode == 0
    assert plain.stdout.startswith(f"{HOME}: mode observe, observed ")
    assert f"also:        {DEMO}: nothing is short" in plain.stdout
    nodes = {row["node"]: row for row in person.reads("get", "nodes")}
    assert nodes[DEMO]["workloads"] == 2
    assert person.types("get", "workloads", "-o", "name").stdout == f"shop/{person.name}\nshop/db\n"


def test_everything_that_can_be_asked_for_is_answered(person: Person) -> None:
    for kind in ("signals", "conditions", "workloads", "responders", "workers", "nodes"):
        result = person.types("get", kind, "-o", "wide")
        assert (result.returncode, result.stderr) == (0, ""), kind
        assert len(result.stdout.splitlines()) > 1, kind
    assert person.types("get", "nodes", "-o", "yaml").stdout.startswith("- node: ")


def test_a_pipe_gets_no_colour_and_data_alone(person: Person) -> None:
    nothing = person.types("get", "evictions", "--node", HOME)
    assert (nothing.stdout, nothing.stderr) == ("", f"no evictions of node {HOME}\n")
    assert "\x1b" not in person.types("get", "workloads", "-o", "wide").stdout


def test_a_request_is_followed_to_the_end_and_remembered(person: Person) -> None:
    asking = ("--wait", "--reason", "moving house", "--timeout", "20")
    with person.meanwhile("request", f"shop/{person.name}", *asking) as process:
        until("the Eviction is there", lambda: person.site.ear.now(person.eviction))
        shown = person.types("describe", "eviction", f"pod-1-{person.name}")
        assert re.search(r"^Reason: +moving house$", shown.stdout, re.MULTILINE)
        assert "imperative-eviction.k8s.io/evictor" in shown.stdout
        topics = [row["topic"] for row in person.reads("get", "requests")]
        assert person.request in topics
        person.sees(DB)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (0, f"{person.request}\n")
    assert "imperative-eviction.k8s.io/evictor is at work" in err
    assert err.splitlines()[-1].startswith(f"shop/{person.name} is gone after ")
    until("the request is cleared", lambda: not person.site.ear.now(person.request))
    (past,) = person.reads("history", "--node", DEMO, "--workload", person.name, "--evicted")
    assert past["status"]["reason"]["message"] == "moving house"


def test_what_is_refused_is_told_at_once(person: Person) -> None:
    refused = person.types("request", "shop/db")
    assert refused.returncode == 1
    assert refused.stderr == "refused: shop/db is critical and is never evicted.\n"
    rejected = person.types("request", person.name, "--type", "Hard")
    assert rejected.returncode == 1
    assert "evictd.io/cli is none of the hardRequesters" in rejected.stderr
    until("nothing is left of it", lambda: not person.site.ear.now(person.request))


def test_a_request_may_be_taken_back(person: Person) -> None:
    asked = person.types("request", person.name, "--deadline", "600")
    assert asked.returncode == 0
    assert "is at work" in asked.stderr
    assert person.types("withdraw", person.name).stdout == f"{person.request}\n"
    until("it is gone", lambda: not person.site.ear.now(person.request))
    assert person.types("withdraw", person.name).returncode == 4


def test_time_that_is_over_and_ctrl_c_leave_the_request_standing(person: Person) -> None:
    late = person.types("request", person.name, "--wait", "--timeout", "0.5")
    assert late.returncode == 6
    assert f"`evictd withdraw shop/{person.name}-" in late.stderr
    assert person.site.ear.now(person.request)
    with person.meanwhile("request", person.name, "--wait") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{person.request}\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("the request stands: ")


def test_a_dry_run_makes_an_eviction_that_stops_nothing(person: Person) -> None:
    assert person.types("request", person.name, "--dry-run").returncode == 0
    found = person.site.ear.now(person.eviction)
    assert found["status"]["dryRun"]


def test_the_plan_is_the_chain_that_comes(person: Person) -> None:
    person.sees({**person.web, "evictionResponders": [DRAIN]}, DB)
    told = person.reads("plan", f"shop/{person.name}")
    assert [turn["name"] for turn in told["chain"]] == [
        "acme.io/drain",
        "imperative-eviction.k8s.io/evictor",
    ]
    assert (told["handoverSecondsMax"], told["graceSeconds"]) == (2400, 30)
    person.types("request", person.name)
    chain = person.site.ear.now(person.eviction)["status"]["targetResponders"]
    assert [item["name"] for item in chain] == [turn["name"] for turn in told["chain"]]
    assert person.types("plan", "nobody").returncode == 4


def test_who_watches_sees_it_happen(person: Person) -> None:
    with (
        person.meanwhile("watch", "events", "-o", "json") as events,
        person.meanwhile("watch", "evictions") as evictions,
    ):
        assert evictions.stdout is not None
        assert events.stdout is not None
        assert evictions.stdout.readline().startswith("NODE")  # it listens from here on
        probe = {"specversion": "1.0", "id": "1", "source": "test", "type": "evictd.Probe.v1"}
        heard = threading.Event()
        thread = threading.Thread(target=lambda: (events.stdout.readline(), heard.set()))
        thread.start()
        topic = f"{ROOT}/events/gateway/Probe"
        time = "2026-11-30T08:00:00Z"

        def listens() -> bool:
            person.site.publish(topic, {**probe, "time": time, "data": {}})
            return heard.wait(0.1)

        until("the events are listened to", listens)
        thread.join(PATIENCE_SECONDS)
        person.types("request", person.name)
        assert any(f"shop/pod-1-{person.name} " in line for line in evictions.stdout)
        told = (json.loads(line) for line in events.stdout)
        event = next(event for event in told if event.get("subject") == f"shop/{person.name}")
        assert event["data"]["reason"] == "EvictionRequested"
        evictions.send_signal(signal.SIGINT)
        assert evictions.wait(PATIENCE_SECONDS) == 130


def test_a_watch_ends_when_its_time_is_over(person: Person) -> None:
    result = person.types("watch", "events", "--timeout", "0.2")
    assert (result.returncode, result.stderr) == (0, "")


def test_after_the_end_the_machine_still_tells(tmp_path: Path) -> None:
    site = Site(folder=tmp_path, settings=settings())
    with site.running("up"):
        person = Person(site)
        person.sees(person.web)
        with person.meanwhile("request", person.name, "--wait") as process:
            until("the Eviction is there", lambda: site.ear.now(person.eviction))
            person.sees(DB)
            process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0
    status = person.types("status")
    assert status.returncode == 5
    assert "none is running here" in status.stdout
    assert f"evicted:     shop/{person.name} on {DEMO}, " in status.stdout
    assert person.types("history", "-o", "name").stdout == f"shop/pod-1-{person.name}\n"
    reading = person.types("get", "nodes", "--timeout", "0.5")
    assert reading.returncode == 5
    assert "no broker at mqtt://127.0.0.1:" in reading.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Kernel]:
    """Real workloads, and what the kernel says of them."""
    with kernel(tmp_path) as made:
        yield made


@pytest.mark.parametrize("mode", ["act", "observe"])
def test_a_real_workload_is_stopped_only_where_the_node_acts(
    mode: str, machine: Kernel, tmp_path: Path
) -> None:
    told = settings(mode=mode, profile="kubelet", sources=machine.sources)
    site = Site(folder=tmp_path, settings=told)
    web = machine.start("web")
    with site.running("up"):
        person = Person(site)
        until("it is observed", lambda: "web" in person.types("get", "workloads").stdout)
        ended = person.types("request", "web", "--wait", "--timeout", "15", "--reason", "moving")
        if mode == "observe":
            assert ended.returncode == 1
            assert ended.stderr.splitlines()[-1].endswith("mode is observe")
            assert web.lives
            return
        assert ended.returncode == 0, ended.stderr
        assert (web.lives, web.signals) == (False, 1)
        status = person.types("status").stdout
        assert f"down:        {PARENT}/web for " in status, status
        (past,) = person.reads("history", "--evicted")
        assert past["status"]["targetResponders"][-1]["state"] == "Completed"
        assert past["status"]["requesters"][0]["name"] == "evictd.io/cli"
