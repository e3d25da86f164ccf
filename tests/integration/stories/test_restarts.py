"""What a restart of the whole process must not forget."""

import json
from pathlib import Path
from typing import Any

from tests.integration.conftest import Mosquitto
from tests.integration.processes import Site, until

SHORT = {"evictionHard": {"memory.available": "100000Gi"}, "profile": "kubelet"}
"""More than any machine has: it is short of memory."""
CALM = {"evictionHard": {"memory.available": "1Mi"}, "profile": "kubelet"}
"""Less than any machine that runs a test has left."""


def memory_pressure(site: Site) -> tuple[Any, Any]:
    """The condition's status, and the life of the process that says so."""
    pressure = site.ear.now(f"{site.root}/pressure")
    if not pressure:
        return None, None
    condition = next(one for one in pressure["conditions"] if one["type"] == "MemoryPressure")
    return condition["status"], pressure["epoch"]


def test_a_condition_lasts_its_transition_period_over_a_restart(
    shared_broker: Mosquitto, tmp_path: Path
) -> None:
    """The evaluator reads its own last words before it judges a first look. [design, law 5]"""
    site = Site(folder=tmp_path, settings=SHORT, broker=shared_broker.url, node="restart-1")
    with site.running("up"):
        until("memory is short", lambda: memory_pressure(site)[0] == "True")
        _, former = memory_pressure(site)
        site.end()
        (tmp_path / "evictd.yaml").write_text(json.dumps(CALM))
        site.start("up")
        site.await_ready("up", after_epoch=former)
        until("it judges again", lambda: (memory_pressure(site)[1] or 0) > former)
        assert memory_pressure(site)[0] == "True"
