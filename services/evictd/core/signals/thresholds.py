"""A threshold and how it is judged. [kubelet-eviction 1.4, 3.3, 5]"""

from typing import TypeAlias

from msgspec import Struct


class Amount(Struct, frozen=True, kw_only=True, tag=True):
    """An absolute value: bytes, inodes or process ids. `text` as configured, for messages."""

    quantity: int
    text: str = ""


class Share(Struct, frozen=True, kw_only=True, tag=True):
    """A fraction of the capacity, kept as the 32-bit float the kubelet stores. [kubelet-eviction 1.2]"""

    fraction: float
    text: str = ""


Value: TypeAlias = Amount | Share


class Threshold(Struct, frozen=True, kw_only=True):
    """One configured condition. It is hard exactly when the grace is zero."""

    signal: str
    value: Value
    grace_seconds: float = 0
    minimum_reclaim: Value | None = None
    operator: str = "LessThan"
    name: str | None = None
