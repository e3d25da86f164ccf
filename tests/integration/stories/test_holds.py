"""A machine that a person leaves as it is: by a file, which counts without any broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.integration.kernel import PARENT, Kernel
from tests.integration.processes import HOME, Site, until

ROOT = f"evictd/v1/{HOME}"
REQUEST = f"{ROOT}/evictionrequests/acme.io/mover/{PARENT}/move-greedy"
REPORT = f"{ROOT}/evictions/{PARENT}/pod-1-greedy/responders/imperative-eviction.k8s.io/evictor"


def test_a_hold_file_that_a_person_has_touched_keeps_a_real_workload(
    joined: Site, machine: Kernel, acting: Callable[[], dict[str, Any]]
) -> None:
    """Whoever asks; when it is removed the eviction goes on."""
    joined.settings = acting()
    greedy = machine.start("greedy")
    with joined.running("up"):
        until("it looks", lambda: joined.ear.now(f"{ROOT}/observation"))
        (pod,) = joined.ear.now(f"{ROOT}/observation")["pods"]
        file = joined.folder / "state" / "hold"
        file.touch()
        target = {"pod": {"name": "greedy", "uid": pod["uid"]}}
        spec = {"target": target, "requester": "acme.io/mover", "intent": "Eviction"}
        joined.publish(REQUEST, {"spec": spec}, retain=True)
        sentence = f"by the file {file}"

        def told() -> bool:
            return sentence in (joined.ear.now(REPORT) or {"message": ""})["message"]

        until("it is told", told)
        assert greedy.lives
        assert greedy.signals == 0
        file.unlink()
        until("it goes", lambda: joined.ear.events(HOME, "Evicted"))
        assert not greedy.lives
