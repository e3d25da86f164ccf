"""What the stories stand on: one machine with real processes, and messages about a machine that is
only played by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.integration.kernel import Kernel, kernel
from tests.integration.processes import Site

DEMO = "demo-7"
LINE_MIB = 500
TRANSITION_SECONDS = 30
MIB = 1 << 20
NEVER_SECONDS = 3600
"""Between two looks of a collector that has nothing to tell."""


class Hand:
    """Somebody who plays a machine and tells what it sees; its time is in its messages."""

    def __init__(self, node: str = DEMO) -> None:
        self.node = node
        self.topic = f"evictd/v1/{node}/observation"
        self._began = datetime.now(UTC) - timedelta(hours=1)
        self._sequence = itertools.count(1)

    def observation(self, seconds: float, available_mib: int, *pods: dict[str, Any]) -> Any:
        """What it sees so long after the beginning of the story."""
        return {
            "node": self.node,
            "time": (self._began + timedelta(seconds=seconds)).isoformat(),
            "sequence": next(self._sequence),
            "signals": {
                "memory.available": {"available": available_mib * MIB, "capacity": 4096 * MIB}
            },
            "pods": list(pods),
        }


def pod(name: str, *, uses_mib: int, request_mib: int, **more: Any) -> dict[str, Any]:
    """A workload as an observation has it; its uid follows from its name."""
    return {
        "namespace": "shop",
        "name": name,
        "uid": uid(name),
        "requests": {"memory": request_mib * MIB},
        "stats": {"memory": {"workingSetBytes": uses_mib * MIB}},
        **more,
    }


def uid(name: str) -> str:
    """A lower-case UUID that is always the same for a name."""
    digits = name.encode().hex().ljust(32, "0")[:32]
    cuts = (0, 8, 12, 16, 20, 32)
    return "-".join(digits[start:end] for start, end in itertools.pairwise(cuts))


def settings(**home: Any) -> dict[str, Any]:
    """This machine observes unless said otherwise, and nodes of a demonstration are acted upon."""
    return {
        "sources": {
            "intervalSeconds": NEVER_SECONDS,
            "runtimes": {"docker": {"enabled": False}},
        },
        "serve": ["demo-*"],
        "nodes": [
            {
                "match": "demo-*",
                "mode": "act",
                "profile": "kubelet",
                "candidates": "all",
                "evictionHard": {"memory.available": f"{LINE_MIB}Mi"},
                "evictionPressureTransitionPeriod": f"{TRANSITION_SECONDS}s",
            }
        ],
        **home,
    }


@pytest.fixture
def separate(broker: Any, tmp_path: Path) -> Site:
    """A machine whose workers are processes of their own on a broker of somebody else's."""
    return Site(folder=tmp_path, settings=settings(), broker=broker.url)


@pytest.fixture
def joined(tmp_path: Path) -> Site:
    """A machine where one process is all workers, with the broker that it owns."""
    return Site(folder=tmp_path, settings=settings())


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Kernel]:
    """Real workloads, and what the kernel says of them."""
    with kernel(tmp_path) as made:
        yield made


@pytest.fixture
def acting(machine: Kernel) -> Callable[[], dict[str, Any]]:
    """Settings with which this machine protects itself for real."""
    return lambda: settings(
        mode="act",
        profile="kubelet",
        evictionHard={"memory.available": f"{LINE_MIB}Mi"},
        evictionPressureTransitionPeriod="1s",
        sources=machine.sources,
    )
