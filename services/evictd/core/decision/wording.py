"""Amounts as people and messages read them. [kubelet-eviction 1.1, 9.3]"""

from evictd.core.signals.names import STALL_SIGNALS, Resource, resource_of
from evictd.core.signals.quantities import Format, QuantityError, canonical, parse, round_away
from evictd_schemas import Number, Pod, PodReference, ThresholdStatus

_BYTES = frozenset({Resource.MEMORY, Resource.EPHEMERAL_STORAGE})


def bytes_text(amount: Number) -> str:
    """Bytes with the largest binary suffix that leaves a whole number."""
    return canonical(_whole(amount), Format.BINARY)


def amount_text(signal: str, amount: Number) -> str:
    """An observed amount: BinarySI for bytes, DecimalSI for inodes and process ids."""
    if signal in STALL_SIGNALS:
        return f"{amount:g}"
    if resource_of(signal) in _BYTES:
        return bytes_text(amount)
    return canonical(_whole(amount), Format.DECIMAL)


def line_text(threshold: ThresholdStatus) -> str:
    """The line of a threshold: a quantity as configured, anything else as its absolute amount."""
    try:
        return parse(threshold.value).text
    except QuantityError:
        return bytes_text(threshold.quantity or 0)


def rounded_text(signal: str, amount: Number) -> str:
    """An amount of the resource for people: at most one digit after the point."""
    if resource_of(signal) not in _BYTES:
        return f"{amount:,.0f}"
    size, unit = float(abs(amount)), "B"
    for larger in ("Ki", "Mi", "Gi", "Ti", "Pi"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    shown = f"{size:.1f}".removesuffix(".0")
    return f"{shown}{unit}" if unit != "B" else f"{shown} bytes"


def reading_text(signal: str, amount: Number) -> str:
    """A reading of the signal, or its line, for people: of a stall that is no amount of memory."""
    if signal in STALL_SIGNALS:
        return f"{amount:g}"
    return f"{'-' if amount < 0 else ''}{rounded_text(signal, abs(amount))}"


def name_text(pod: Pod | PodReference) -> str:
    """A pod as people name it."""
    return f"{pod.namespace}/{pod.name}"


def _whole(amount: Number) -> int:
    return amount if isinstance(amount, int) else round_away(round(amount))
