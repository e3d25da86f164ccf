"""Legal and probably not meant: what people have written down and regretted. [field cases B]"""

from collections.abc import Iterator

from evictd.core.signals.threshold_settings import Fault, value_of
from evictd.core.signals.thresholds import Amount, Share, Value
from evictd.shell.configuration.lines import default_texts, seconds_of, texts
from evictd.shell.configuration.problems import KeyPath
from evictd_schemas.configuration import NodeSettings

COUNTED = ("nodefs.inodesFree", "imagefs.inodesFree", "containerfs.inodesFree", "pid.available")
"""Signals that count things; bytes they are not."""
FEW = 1000
"""A line of fewer inodes or process ids than this is met only when nothing works any more."""
MANY = 10_000_000
"""More inodes than most file systems have: such a line is met at once and for ever."""
HALF = 0.5
"""Who asks for more than half of it free has probably thought in "used"."""


def of_node(settings: NodeSettings) -> Iterator[tuple[KeyPath, str]]:
    """Warnings about one node's settings, as path and text."""
    for name, signals in (
        ("evictionHard", texts(settings.eviction_hard)),
        ("evictionSoft", texts(settings.eviction_soft)),
    ):
        for signal, text in signals.items():
            if (oddity := _odd(signal, text)) is not None:
                yield (name, signal), oddity
    yield from _soft_below_hard(settings)
    yield from _unused_graces(settings)
    period = settings.eviction_pressure_transition_period
    if period is not None and seconds_of(period) == 0:
        yield ("evictionPressureTransitionPeriod",), f"{period} counts as 5m0s, as in the kubelet"


def of_default_lines(settings: NodeSettings) -> Iterator[tuple[KeyPath, str]]:
    """One line given switches the profile's others off, silently. [kubelet-eviction 3.1]

    Asked for the top level only: an exception for single nodes is about just these lines.
    """
    if settings.eviction_hard is None or settings.merge_default_eviction_settings:
        return
    given = texts(settings.eviction_hard)
    if not given:
        yield ("evictionHard",), "is empty: every hard line is off"
        return
    lost = [f"{name} {text}" for name, text in default_texts(settings).items() if name not in given]
    if lost:
        lines = ", ".join(lost)
        yield (
            ("evictionHard",),
            f"switches off the default {lines}; mergeDefaultEvictionSettings: true keeps them",
        )


def _odd(signal: str, text: str) -> str | None:
    if text == "100%":
        return "100% switches the signal off; it does not mean always"
    value = value_of(text)
    if isinstance(value, Share):
        is_much = HALF <= value.fraction < 1 and not signal.startswith("psi.")
        used = f"{100 * (1 - value.fraction):g}%"
        text = f"{text} is the share left free: this acts when only {used} is in use"
        return text if is_much else None
    if not isinstance(value, Amount):
        return None
    if signal in COUNTED:
        return _odd_count(signal, value)
    return f"m is a thousandth; did you mean {text[:-1]}Mi?" if text.endswith("m") else None


def _odd_count(signal: str, value: Amount) -> str | None:
    things = "process ids" if signal == "pid.available" else "inodes"
    if value.quantity < FEW:
        return f"is {value.quantity} {things}; did you mean {value.text}%?"
    if value.quantity > MANY:
        return (
            f"{value.text} is {value.quantity} {things}, which hardly any machine has: "
            "the line would be met for ever; did you mean 5%?"
        )
    return None


def _soft_below_hard(settings: NodeSettings) -> Iterator[tuple[KeyPath, str]]:
    hard = texts(settings.eviction_hard)
    for signal, soft in texts(settings.eviction_soft).items():
        if signal in hard and _is_not_above(value_of(soft), value_of(hard[signal])):
            text = f"{soft} is not above the hard line {hard[signal]}, which acts first"
            yield ("evictionSoft", signal), text


def _is_not_above(soft: Value | Fault | None, hard: Value | Fault | None) -> bool:
    match soft, hard:
        case Amount(quantity=one), Amount(quantity=other):
            return one <= other
        case Share(fraction=part), Share(fraction=whole):
            return part <= whole
    return False


def _unused_graces(settings: NodeSettings) -> Iterator[tuple[KeyPath, str]]:
    soft = texts(settings.eviction_soft)
    for signal in texts(settings.eviction_soft_grace_period):
        if signal not in soft:
            yield (
                ("evictionSoftGracePeriod", signal),
                "belongs to no line of evictionSoft and does nothing",
            )
