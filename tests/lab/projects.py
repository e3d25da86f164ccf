"""Compose projects in an engine of the lab, and the settings for which that engine is the machine.

An engine is Docker's or Podman's: what has an `image`, a `cgroup`, a `socket` and a client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HOLD = """
import signal, sys, threading
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
held = bytearray(int(sys.argv[1]) << 20)
threading.Event().wait()
"""
"""Takes so many MiB and keeps them until SIGTERM, on which it ends well."""

Compose = Callable[..., str]
Services = Mapping[str, dict[str, Any]]


def service(engine: Any, *words: object, program: str = HOLD, **more: Any) -> dict[str, Any]:
    """One that runs a program with these words; the rest is Compose's."""
    command = ["python3", "-c", program, *map(str, words)]
    return {"image": engine.image, "network_mode": "none", "command": command, **more}


@contextmanager
def composed(engine: Any, project: str, folder: Path, services: Services) -> Iterator[Compose]:
    """Compose, for a project that is not up yet; it is gone afterwards."""
    file = folder / "compose.yml"
    file.write_text(json.dumps({"services": services}))

    def compose(*arguments: str) -> str:
        words = ("compose", "--project-name", project, "--file", str(file), *arguments)
        return str(engine.docker(*words))

    try:
        yield compose
    finally:
        compose("down", "--timeout", "1")


def acting(engine: Any, line_mib: int, **more: Any) -> dict[str, Any]:
    """The engine's capped cgroup is the machine, which acts where less than the line is left."""
    return {
        "mode": "act",
        "evictionHard": {"memory.available": f"{line_mib}Mi"},
        "sources": {
            "memory": {"cgroup": f"/{engine.cgroup}"},
            "intervalSeconds": 1,
            "runtimes": {"docker": {"socket": str(engine.socket)}},
        },
        **more,
    }
