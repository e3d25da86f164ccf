"""`evictd restore`, `forget` and `hold` on a real machine; its responder is played by hand."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.integration.processes import HOME, PATIENCE_SECONDS, Site, until
from tests.integration.stories.conftest import DEMO, pod, settings, uid
from tests.integration.test_verbs import DB, ROOT, Person

NOWHERE = "mqtt://127.0.0.1:1"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One machine for all who leave each other's workloads alone."""
    found = Site(folder=tmp_path_factory.mktemp("machine"), settings=settings())
    with found.running("up"):
        yield found


class Owner(Person):
    """Somebody whose workload evictd has stopped."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.record = f"{ROOT}/stopped/shop/{self.name}"
        self.sees(DB)

    def lost(self, **fields: Any) -> None:
        """The record as a responder writes it."""
        now = datetime.now(UTC).isoformat()
        record = {"uid": uid(self.name), "time": now, "signal": "memory.available", **fields}
        self.site.publish(self.record, record, retain=True)
        until("it is there", lambda: self.site.ear.now(self.record))

    def order(self, name: str) -> Any:
        """The evictor's order about our workload, None while there is none."""
        found = self.site.ear.now(f"{ROOT}/orders/{name}")
        return found if found and found["target"]["name"] == self.name else None

    def wishes(self) -> list[str]:
        """What stands on the bus of this command line, of our workload or of everything."""
        return [
            topic
            for topic in self.site.ear.below(f"{ROOT}/wishes/evictd.io/cli")
            if self.name in topic or topic.endswith(("/hold", "/restore"))
        ]


@pytest.fixture
def owner(site: Site) -> Owner:
    return Owner(site)


def test_what_is_forgotten_is_let_go_of(owner: Owner) -> None:
    """By an order to whoever keeps the record; the wish is cleared with its answer."""
    owner.lost()
    with owner.meanwhile("forget", owner.name) as process:
        until("the responder is told", lambda: owner.order("forget"))
        owner.site.publish(owner.record, b"", retain=True)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (
        0,
        f"shop/{owner.name} is forgotten, and is not started again\n",
    )
    assert err == f"shop/{owner.name} is about to be forgotten\n"
    until("nothing is left of it", lambda: not owner.wishes() and not owner.order("forget"))
    owner.sees(DB)
    sentence = f"shop/{owner.name} will not be started again: a person wished so"

    def told() -> bool:
        events = owner.site.ear.events(DEMO, "Forgotten")
        return sentence in [event["data"]["message"] for event in events]

    until("it is told", told)


def test_a_person_has_started_again_what_waits_for_a_person(owner: Owner) -> None:
    """Whatever its record says; told how it went."""
    owner.lost(restore="manual", signal="nodefs.available")
    with owner.meanwhile("restore", owner.name) as process:
        until("the wish is there", owner.wishes)

        def placed() -> Any:
            owner.sees(DB)
            return owner.order("restore")

        until("the responder is told", placed)
        status = {"orderUid": owner.order("restore")["uid"], "state": "Finished"}
        owner.site.publish(owner.record, b"", retain=True)
        owner.site.publish(f"{ROOT}/orders/restore/status", status, retain=True)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, err
    assert re.fullmatch(rf"shop/{owner.name} was started again, \d+ s after it was stopped\n", out)
    assert "the next look at the machine tells when" in err
    until("nothing is left of it", lambda: not owner.wishes())


@pytest.mark.parametrize("whom", ["one", "--all"])
def test_a_wish_that_has_to_wait_says_why_and_may_be_taken_back(owner: Owner, whom: str) -> None:
    """It stands after the time is over."""
    owner.lost(restore="never", lastUsage=1 << 50)
    name = (owner.name,) if whom == "one" else ()
    with owner.meanwhile("restore", *(name or (whom,)), "--timeout", "4") as process:
        until("the wish is there", owner.wishes)
        owner.sees(DB)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (6, "")
    assert "but there is no room for the 1Pi that it used last" in err
    assert "`evictd restore --end` takes it back" in err
    (topic,) = owner.wishes()
    assert owner.types("restore", "--end", *name).stdout == f"{topic}\n"
    until("it is taken back", lambda: not owner.wishes())
    owner.site.publish(owner.record, b"", retain=True)


def test_ctrl_c_leaves_the_wish_standing(owner: Owner) -> None:
    owner.lost(restore="never", lastUsage=1 << 50)
    with owner.meanwhile("restore", owner.name) as process:
        until("the wish is there", owner.wishes)
        assert process.stderr is not None
        assert "will be started" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("the wish stands: ")
    assert owner.types("restore", "--end").returncode == 0
    owner.site.publish(owner.record, b"", retain=True)


def test_who_is_not_down_is_not_there_to_be_brought_back(owner: Owner) -> None:
    for verb in ("restore", "forget"):
        result = owner.types(verb, "shop/nobody")
        assert (result.returncode, result.stdout) == (4, "")
        assert owner.types(verb).returncode == 2


def test_a_hold_of_one_workload_is_in_force_at_once_and_ends(owner: Owner) -> None:
    owner.sees(owner.web, DB)
    held = owner.types("hold", "1h", owner.name, "--include-hard")
    assert held.returncode == 0, held.stderr
    assert held.stdout.startswith(f"{DEMO}: shop/{owner.name} is left alone until 20")
    (topic,) = owner.wishes()
    wish = owner.site.ear.now(topic)
    assert (wish["verb"], wish["target"], wish["includeHard"]) == (
        "Hold",
        f"shop/{owner.name}",
        True,
    )
    rest = datetime.fromisoformat(wish["until"]) - datetime.now(UTC)
    assert 3500 < rest.total_seconds() <= 3600
    assert (
        f"held:        shop/{owner.name} is left alone until"
        in owner.types("status", "--node", DEMO).stdout
    )
    ended = owner.types("hold", "--end", owner.name)
    assert ended.stdout.startswith(f"no longer: shop/{owner.name} is left alone until")
    until("it is taken back", lambda: not owner.wishes())
    assert owner.types("hold", "--end", owner.name).returncode == 4


def test_a_hold_of_this_machine_is_a_file_too_and_without_a_broker_that_alone(
    owner: Owner,
) -> None:
    """Both are taken back together."""
    (journal,) = owner.site.folder.rglob("responder.journal")
    file = journal.parent / "hold"
    assert owner.types("hold", "30m").returncode == 0
    assert owner.site.ear.now(f"evictd/v1/{HOME}/wishes/evictd.io/cli/hold")
    (wish,) = json.loads(file.read_text())
    assert wish["verb"] == "Hold"
    assert owner.types("hold", "--end").returncode == 0
    assert not file.exists()
    until(
        "it is taken back",
        lambda: not owner.site.ear.now(f"evictd/v1/{HOME}/wishes/evictd.io/cli/hold"),
    )
    alone = owner.types("hold", "30m", "shop/web", "--broker", NOWHERE)
    assert alone.returncode == 0, alone.stderr
    assert "by the file alone" in alone.stdout
    assert "no broker at" in alone.stderr
    assert owner.types("hold", "1h", "--file").returncode == 0
    ended = owner.types("hold", "--end", "web", "--broker", NOWHERE)
    assert ended.returncode == 5
    assert ended.stdout.startswith("no longer: shop/web is left alone until")
    assert owner.types("hold", "30m", "shop/web", "--file").returncode == 0
    assert {wish["target"] for wish in json.loads(file.read_text())} == {"shop/web", None}
    assert owner.types("hold", "--end", "--file").returncode == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [((), 2), (("soon",), 2), (("1h", "web", "db"), 2), (("31d",), 2), (("2000h",), 3)],
)
def test_a_hold_needs_an_end(owner: Owner, words: tuple[str, ...], code: int) -> None:
    assert owner.types("hold", *words).returncode == code


def test_status_tells_what_is_down_and_why_it_still_is(owner: Owner) -> None:
    owner.lost(lastUsage=1 << 50)
    other = pod("other", uses_mib=1, request_mib=1)
    owner.sees(DB, other)
    told = owner.types("status", "--node", DEMO).stdout
    assert re.search(
        rf"^down: +shop/{owner.name} for \d+s, short of memory.available; "
        r"comes back when it can: there is no room for the 1Pi that it used last$",
        told,
        re.MULTILINE,
    )
    owner.site.publish(owner.record, b"", retain=True)
