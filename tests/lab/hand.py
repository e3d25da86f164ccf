"""What a person publishes by hand about a machine of whom nobody else speaks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

NODE = "demo-7"
POD_UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"


def pod(name: str, uid: str, *, uses_mib: int, request_mib: int, **more: Any) -> dict[str, Any]:
    """As an observation lists it."""
    return {
        "namespace": "shop",
        "name": name,
        "uid": uid,
        "requests": {"memory": request_mib << 20},
        "stats": {"memory": {"workingSetBytes": uses_mib << 20}},
        **more,
    }


WEB = pod("web", POD_UID, uses_mib=512, request_mib=256)
OTHERS = (
    pod(
        "db", "5b0e3a56-9a51-4c7e-8f2b-0f3f6f7d2b10", uses_mib=2048, request_mib=256, critical=True
    ),
    pod("cache", "9c1d7c1e-3f43-4e57-9a0b-64b7a4f6a9d2", uses_mib=128, request_mib=512),
)
"""A larger one that is critical, and one that keeps within its request."""


def observation(*pods: dict[str, Any], mebibytes: int = 400) -> dict[str, Any]:
    """Short of memory with all three workloads, unless it is said otherwise."""
    return {
        "node": NODE,
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "signals": {"memory.available": {"available": mebibytes << 20, "capacity": 4 << 30}},
        "pods": pods or (WEB, *OTHERS),
    }
