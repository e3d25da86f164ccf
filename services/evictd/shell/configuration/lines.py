"""Default lines of the two profiles, and the five maps of the configuration as thresholds."""

from collections.abc import Mapping

import msgspec

from evictd.core.signals.thresholds import Amount, Share, Threshold, Value
from evictd_schemas.configuration import Signals

KUBELET_HARD: Mapping[str, str] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""[kubelet-eviction 3.1]"""
HOST_HARD: Mapping[str, str] = {
    "memory.available": "5%",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "pid.available": "5%",
}
"""[design, two profiles]"""


def texts(signals: Signals | None) -> dict[str, str]:
    """Signal name to text, of those that are given."""
    return {} if signals is None else dict(msgspec.to_builtins(signals))


def thresholds_of(hard: Mapping[str, str]) -> tuple[Threshold, ...]:
    return tuple(Threshold(signal=signal, value=_value(text)) for signal, text in hard.items())


def _value(text: str) -> Value:
    if text.endswith("%"):
        return Share(fraction=float(text[:-1]) / 100, text=text)
    for suffix, factor in (("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)):
        if text.endswith(suffix):
            return Amount(quantity=int(float(text[:-2]) * factor), text=text)
    return Amount(quantity=int(text), text=text)
