"""A machine that is not in mode `act`: whoever asks, nothing is stopped, and it says so.
[design, law 8]"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.kernel import PARENT, Kernel
from tests.integration.processes import HOME, ROLES, Site, until
from tests.integration.stories.conftest import uid

ROOT = f"evictd/v1/{HOME}"
REQUEST = f"{ROOT}/evictionrequests/acme.io/mover/{PARENT}/move-greedy"


@pytest.mark.parametrize("mode", ["observe", "dry-run"])
@pytest.mark.parametrize("workers", [ROLES, ("up",)], ids=["separate", "joined"])
def test_a_request_for_a_real_workload_stops_nothing(
    workers: tuple[str, ...],
    mode: str,
    request: pytest.FixtureRequest,
    machine: Kernel,
    acting: Callable[[], dict[str, Any]],
) -> None:
    """The Eviction ends dry, with the sentence of the responder; the workload hears nothing."""
    site: Site = request.getfixturevalue("joined" if workers == ("up",) else "separate")
    site.settings = acting() | {"mode": mode}
    greedy = machine.start("greedy")
    with site.running(*workers):
        until("it looks", lambda: (site.ear.now(f"{ROOT}/observation") or {}).get("pods"))
        (pod,) = site.ear.now(f"{ROOT}/observation")["pods"]
        target = {"pod": {"name": "greedy", "uid": pod["uid"]}}
        spec = {"target": target, "requester": "acme.io/mover", "intent": "Eviction"}
        site.publish(REQUEST, {"spec": spec}, retain=True)
        until("it ends dry", lambda: site.ear.events(HOME, "DryRunFinished"))
        (finished,) = site.ear.events(HOME, "DryRunFinished")
        assert mode in finished["data"]["message"]
        until("it has its status", lambda: failed_reason(site) == "DryRun")
        (completed,) = site.ear.events(HOME, "ResponderCompleted")
        assert completed["data"]["report"] == (
            f"would have stopped {PARENT}/greedy; mode is {mode}"
        )
        site.publish(REQUEST, b"", retain=True)
        until("its status goes with it", lambda: not site.ear.now(f"{REQUEST}/status"))
        assert greedy.lives
        assert greedy.signals == 0
        assert site.ear.events(HOME, "Evicted") == []


def test_a_request_for_another_life_gets_its_status_and_stops_nothing(
    joined: Site, machine: Kernel, acting: Callable[[], dict[str, Any]]
) -> None:
    """Also on a machine that acts: of that name another one runs now."""
    joined.settings = acting()
    greedy = machine.start("greedy")
    with joined.running("up"):
        target = {"pod": {"name": "greedy", "uid": uid("earlier")}}
        spec = {"target": target, "requester": "acme.io/mover", "intent": "Eviction"}
        joined.publish(REQUEST, {"spec": spec}, retain=True)
        until("it has its status", lambda: failed_reason(joined) == "EvictionInvalid")
        assert joined.ear.below(f"{ROOT}/evictions/") == {}
        assert joined.ear.events(HOME, "MessageRejected") == []
        assert greedy.lives
        assert greedy.signals == 0


@pytest.mark.parametrize(("mode", "requests"), [("observe", 0), ("dry-run", 1)])
def test_a_machine_that_runs_short_tells_who_would_go(
    mode: str, requests: int, joined: Site, machine: Kernel, acting: Callable[[], dict[str, Any]]
) -> None:
    """The decision is that of `act`; in `dry-run` one dry request a crossing goes with it."""
    joined.settings = acting() | {"mode": mode}
    greedy = machine.start("greedy")
    with joined.running("up"):
        until("it looks", lambda: (joined.ear.now(f"{ROOT}/observation") or {}).get("pods"))
        greedy.uses(900)
        until("it is told", lambda: victims(joined) or joined.ear.events(HOME, "DryRunFinished"))
        if requests:
            until("it ends dry", lambda: joined.ear.events(HOME, "DryRunFinished"))
        looks = len(joined.ear.messages)
        until("it looks on", lambda: len(joined.ear.messages) > looks + 6)
        assert len(joined.ear.events(HOME, "EvictionRequested")) == requests
        assert joined.ear.now(f"{ROOT}/decision")["mode"] == mode
        assert greedy.lives
        assert greedy.signals == 0
        assert joined.ear.events(HOME, "Evicted") == []


def test_a_machine_told_to_act_where_nobody_is_named_only_observes_and_says_what_to_paste(
    joined: Site, machine: Kernel, acting: Callable[[], dict[str, Any]]
) -> None:
    """The block names who runs here, and with it in the configuration it acts."""
    joined.settings = acting() | {"profile": "host"}
    greedy = machine.start("greedy")
    with joined.running("up"):
        until("it looks", lambda: (joined.ear.now(f"{ROOT}/observation") or {}).get("pods"))
        greedy.uses(900)
        until("it is short", lambda: joined.ear.events(HOME, "NothingLeftToEvict"))
        decision = joined.ear.now(f"{ROOT}/decision")
        assert decision["mode"] == "observe"
        assert "`evictd rank -o config` prints a block to paste" in decision["reason"]
        assert joined.ear.events(HOME, "EvictionRequested") == []
        assert greedy.lives
    told = joined.log("up")
    assert "\nworkloads:\n" in told
    assert f'"{PARENT}/greedy":' in told


def failed_reason(site: Site) -> str | None:
    """Why the request came to nothing."""
    status = site.ear.now(f"{REQUEST}/status") or {"conditions": []}
    reasons = {c["type"]: c["reason"] for c in status["conditions"] if c["status"] == "True"}
    return reasons.get("Failed")


def victims(site: Site) -> list[str]:
    """Who would go next."""
    decision = site.ear.now(f"{ROOT}/decision") or {"ranking": []}
    return [row["pod"]["name"] for row in decision["ranking"] if row["verdict"] == "Victim"]
