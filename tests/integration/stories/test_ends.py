"""How a process ends: replaced by a newer one, asked to, or before it began."""

from __future__ import annotations

import signal
import time

import pytest
from tests.integration.processes import ROLES, STOP_SECONDS, Site, until
from tests.integration.stories.conftest import DEMO, Hand, pod

REPLACED = 9
WRONG_CONFIGURATION = 3


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("controller", "controller"),
        ("evictor", "evictor"),
        ("evaluator", "up"),
        ("up", "responder"),
        ("up", "up"),
    ],
)
def test_a_newer_process_of_a_role_replaces_the_older_one(
    older: str, newer: str, separate: Site
) -> None:
    """It ends by itself with a code of its own, and leaves the newer one's status alone."""
    with separate.running(older):
        first = separate.processes.pop(older)
        epoch = separate.status(older)["epoch"]
        folder = separate.folder / "another"
        separate.start(
            newer, EVICTD_STATEFOLDER=str(folder / "state"), RUNTIME_DIRECTORY=str(folder / "run")
        )
        separate.await_ready(newer, after_epoch=epoch)
        assert first.wait(STOP_SECONDS) == REPLACED
        assert "a newer process of this role serves this node" in separate.log(older)
        assert "Traceback" not in separate.log(older)
        separate.await_hearing()
        status = separate.status(newer)
        assert (status["status"], status["connection"]) == ("ready", 1), "it was cut off"
        assert separate.processes[newer].poll() is None


def test_the_newer_process_goes_on_where_the_older_one_was(separate: Site) -> None:
    """A whole second system on the same machine takes the eviction over, and it happens once."""
    hand = Hand()
    victim = pod("web", uses_mib=512, request_mib=256)
    with separate.running("up"):
        separate.publish(hand.topic, hand.observation(0, 400, victim), retain=True)
        until("it begins", lambda: separate.ear.events(DEMO, "ResponderActive"))
        first = separate.processes.pop("up")
        epoch = separate.status("up")["epoch"]
        separate.start("up", EVICTD_STATEFOLDER=str(separate.folder / "another"))
        assert first.wait(STOP_SECONDS) == REPLACED
        separate.await_ready("up", after_epoch=epoch)
        separate.publish(hand.topic, hand.observation(10, 912), retain=True)
        until("it ends", lambda: separate.ear.events(DEMO, "Evicted"))
        assert len(separate.ear.events(DEMO, "EvictionRequested")) == 1
        assert len(separate.ear.below(f"evictd/v1/{DEMO}/evictions/")) <= 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", [ROLES, ("up",)], ids=["separate", "joined"])
def test_asked_to_end_it_says_so_and_ends_in_time(
    workers: tuple[str, ...], number: signal.Signals, separate: Site
) -> None:
    """Each process says `disconnected`, and no last will speaks after it."""
    with separate.running(*workers):
        began = time.monotonic()
        for process in separate.processes.values():
            process.send_signal(number)
        codes = {name: process.wait(STOP_SECONDS) for name, process in separate.processes.items()}
        assert time.monotonic() - began < STOP_SECONDS
        assert set(codes.values()) == {0}
        separate.await_hearing()
        said = {name: separate.status(name)["status"] for name in workers}
        assert set(said.values()) == {"disconnected"}
        assert all("Traceback" not in separate.log(name) for name in workers)


@pytest.mark.parametrize("command", [("up",), ("run", "evictor")])
def test_with_a_wrong_configuration_nothing_begins(
    command: tuple[str, ...], separate: Site
) -> None:
    """All that is wrong is named with its place, and the exit code tells a service manager."""
    file = separate.folder / "evictd.yaml"
    file.write_text("mode: acting\nevictionHard:\n  memory.availble: 500Mi\n")
    result = separate.ends(*command)
    assert result.returncode == WRONG_CONFIGURATION
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert [line.split(": ")[0] for line in lines] == [f"{file}:1:7", f"{file}:3:3"]
    assert "memory.available" in lines[1]
    assert not (separate.folder / "state").exists()
    assert result.stdout == ""
