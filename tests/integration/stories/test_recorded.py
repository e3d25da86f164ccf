"""A whole eviction by real processes, recorded, is decided the same way again."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from tests.integration.processes import PATIENCE_SECONDS, ROLES, Site, until
from tests.integration.stories.conftest import DEMO, TRANSITION_SECONDS, Hand, pod

ROOT = f"evictd/v1/{DEMO}"
WEB = pod("web", uses_mib=512, request_mib=256)
DB = pod("db", uses_mib=2048, request_mib=256, critical=True)


def story(site: Site) -> None:
    """Memory runs short, one goes, the condition ends."""
    hand = Hand()
    site.publish(hand.topic, hand.observation(0, 400, WEB, DB))
    until("a responder has its turn", lambda: site.ear.events(DEMO, "ResponderActive"))
    site.publish(hand.topic, hand.observation(10, 400, WEB, DB))
    until("it is decided on", lambda: decided(site) == 2)  # looks that pile up are decided as one
    site.publish(hand.topic, hand.observation(12, 912, DB))
    until("it is evicted", lambda: site.ear.events(DEMO, "Evicted"))
    site.publish(hand.topic, hand.observation(14 + TRANSITION_SECONDS, 912, DB))
    until("it clears", lambda: site.ear.events(DEMO, "NodeHasSufficientMemory"))
    until("it is told", lambda: decided(site) == 4)


def decided(site: Site) -> int:
    """Which observation the newest Decision is about."""
    return int((site.ear.now(f"{ROOT}/decision") or {"sequence": 0})["sequence"])


@pytest.mark.parametrize("workers", [("up",), ROLES], ids=["joined", "separate"])
def test_live_and_replay_decide_the_same(
    workers: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    site: Site = request.getfixturevalue("joined" if workers == ("up",) else "separate")
    file = site.folder / "recording.jsonl"
    with site.running(*workers):
        recorder = subprocess.Popen(
            [sys.executable, "-m", "evictd", "record", file],
            env=site.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        until("the recording has begun", lambda: file.exists() and b'"topic"' in file.read_bytes())
        story(site)
        recorder.send_signal(signal.SIGINT)
        _, told = recorder.communicate(timeout=PATIENCE_SECONDS)
        assert recorder.returncode == 0, told
    replayed = site.call("replay", str(file))
    assert replayed.stdout == ""
    assert f"{ROOT}/decision: " in replayed.stderr
    assert f"{ROOT}/pressure: " in replayed.stderr
    assert replayed.stderr.endswith("all the same\n")
