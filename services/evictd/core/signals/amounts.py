"""Amounts as messages tell them: written exactly, as the kubelet does, or rounded for people.

Nobody else writes an amount down. [kubelet-eviction 1.1, 9.3]
"""

from fractions import Fraction

from evictd.core.signals.names import BYTES, STALL_SIGNALS, Resource, in_bytes, resource_of
from evictd.core.signals.quantities import Format, canonical, round_away
from evictd_schemas import Number


def bytes_text(amount: Number) -> str:
    """Bytes with the largest binary suffix that leaves a whole number."""
    return canonical(_whole(amount), Format.BINARY)


def exact_text(signal: str, amount: Number | Fraction) -> str:
    """An amount of the signal to the last unit: BinarySI for bytes, DecimalSI for counts."""
    if signal in STALL_SIGNALS:
        return f"{float(amount):g}"
    exact = amount if isinstance(amount, Fraction) else _whole(amount)
    return canonical(exact, Format.BINARY if in_bytes(signal) else Format.DECIMAL)


def rounded_text(signal: str, amount: Number) -> str:
    """An amount of the signal's resource, for people: at most one digit after the point."""
    if resource_of(signal) not in BYTES:
        return f"{amount:,.0f}"
    size, unit = float(abs(amount)), " bytes"
    for larger in ("Ki", "Mi", "Gi", "Ti", "Pi"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{'-' if amount < 0 else ''}{f'{size:.1f}'.removesuffix('.0')}{unit}"


def measured_text(signal: str, amount: Number) -> str:
    """The same with its unit, for a sentence that does not name the signal beside it."""
    unit = " inodes" if resource_of(signal) is Resource.INODES else ""
    return f"{rounded_text(signal, amount)}{unit}"


def reading_text(signal: str, amount: Number | Fraction) -> str:
    """A reading of the signal or its line, for people: that of a stall is no amount of memory."""
    plain = float(amount) if isinstance(amount, Fraction) else amount
    return f"{plain:g}" if signal in STALL_SIGNALS else rounded_text(signal, plain)


def drawn_text(signal: str, configured: str, amount: Number | Fraction) -> str:
    """A line as it was configured, and what it comes to where that is not the same text."""
    meant = reading_text(signal, amount)
    same = signal in STALL_SIGNALS or configured == meant.replace(",", "")
    return configured if same else f"{configured} ({meant})"


def _whole(amount: Number) -> int:
    return amount if isinstance(amount, int) else round_away(round(amount))
