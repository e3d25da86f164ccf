"""`evictd status` beside an engine that takes connections and never answers."""

import json
import socket
from pathlib import Path

from tests.integration.processes import Site, until
from tests.sockets import within_reach


def test_an_engine_that_does_not_answer_is_told_by_status_within_seconds(tmp_path: Path) -> None:
    """While memory is looked at all the same."""
    with within_reach(tmp_path) as folder, socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(folder / "engine.sock"))
        deaf.listen()
        docker = {"enabled": True, "socket": str(folder / "engine.sock")}
        site = Site(folder=tmp_path, settings={"sources": {"runtimes": {"docker": docker}}})
        with site.running("up"):
            until("the worker says so", lambda: "docker" in site.status("up").get("message", ""))
            until("the machine is seen", lambda: site.ear.now(f"{site.root}/observation"))
            screen = site.call("status").stdout
            told = json.loads(site.call("status", "-o", "json").stdout)
            seen = site.ear.now(f"{site.root}/observation")
    assert [line for line in screen.splitlines() if line.startswith("late:        all: docker")]
    assert any(text.startswith("all: docker") for text in told["late"])
    assert told["source"] == "bus"
    assert "memory.available" in seen["signals"]
    assert seen["podsComplete"] is False


def test_status_ends_with_5_where_there_is_nothing_at_all(tmp_path: Path) -> None:
    site = Site(folder=tmp_path, settings={})
    (tmp_path / "evictd.yaml").write_text("{}")
    result = site.ends()
    assert result.returncode == 5
    assert "conditions:  " in result.stdout
    assert "none is running here" in result.stdout
