"""The five maps of a configuration, and the lines of its profile, as thresholds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from evictd.core.signals import durations, quantities
from evictd.core.signals.threshold_settings import Fault, thresholds_of
from evictd.core.signals.thresholds import Threshold
from evictd.shell.configuration.defaults import complete
from evictd.shell.configuration.problems import KeyPath
from evictd.shell.configuration.profiles import profile_of
from evictd_schemas.configuration import NodeSettings, Signals

NO_LINE_WORDS = frozenset({"false", "off", "no", "none", "never", "disabled"})
"""What people write who want no line for a signal. [field case B11]"""


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The thresholds in force, in order, and what is wrong with the settings they come from."""

    thresholds: tuple[Threshold, ...]
    problems: tuple[tuple[KeyPath, str], ...]


def lines_of(settings: NodeSettings) -> Lines:
    """The thresholds of one node: what is given, and the profile's own where nothing is."""
    profile = profile_of(settings)
    hard = texts(settings.eviction_hard)
    if takes_defaults(settings):
        hard = {**profile.named_hard, **hard}
    given, problems = thresholds_of(
        hard,
        texts(settings.eviction_soft),
        texts(settings.eviction_soft_grace_period),
        texts(settings.eviction_minimum_reclaim),
        enforced=complete(settings).enforce_node_allocatable or (),
        expressions=profile.expressions,
    )
    return Lines(
        thresholds=(*given, *_own_lines(settings)),
        problems=tuple(
            ((name, signal), sentence(problem.code, _text(settings, name, signal)))
            for problem in problems
            for name, signal in [problem.path]
        ),
    )


def default_texts(settings: NodeSettings) -> Mapping[str, str]:
    """The profile's own hard lines as signal and text, for people."""
    profile = profile_of(settings)
    own = {threshold.signal: threshold.value.text for threshold in profile.hard}
    return {**profile.named_hard, **own}


def texts(signals: Signals | None) -> dict[str, str]:
    """Signal name to text, of those that are given."""
    return {} if signals is None else dict(msgspec.to_builtins(signals))


def bytes_of(text: str) -> int | None:
    """A quantity as an integer, None when it is none."""
    try:
        return quantities.parse(text).value
    except quantities.QuantityError:
        return None


def seconds_of(text: str) -> float | None:
    """A duration in seconds, None when it is none."""
    try:
        return durations.parse_seconds(text)
    except durations.DurationError:
        return None


def sentence(code: Fault, text: str) -> str:
    """What is wrong with a text, and what was meant."""
    match code:
        case Fault.MISSING_GRACE_PERIOD:
            return "has no grace; evictionSoftGracePeriod needs one for each soft signal"
        case Fault.MALFORMED_DURATION:
            return f"{text!r} is no duration{duration_remedy(text)}"
        case Fault.MALFORMED_QUANTITY:
            return f"{text!r} is no quantity{quantity_remedy(text)}"
        case Fault.MALFORMED_PERCENTAGE:
            return f"{text!r} is no percentage; one is written like 10%"
        case Fault.PERCENTAGE_ABOVE_100:
            return f"{text!r} is more than all there is; a percentage is of the capacity"
        case Fault.NON_POSITIVE_QUANTITY:
            return f"{text!r} can never be undercut; 0% switches the signal off"
        case Fault.NON_POSITIVE_RECLAIM_PERCENTAGE:
            return f"{text!r} must be greater than 0%"
        case Fault.UNSUPPORTED_SIGNAL:
            return "is no signal"
        case _:
            return f"{text!r} must not be negative"


def duration_remedy(text: str) -> str:
    """What a duration without a known unit was meant to be."""
    return f"; did you mean {text}s?" if text.isdigit() else "; one is written like 1m30s"


def quantity_remedy(text: str) -> str:
    """What a quantity with a foreign suffix was meant to be."""
    if text.startswith(("max(", "min(")):
        return "; max() and min() are for profile host, of amounts such as max(5%,100Mi)"
    if text.strip().lower() in NO_LINE_WORDS:
        return "; 0% switches the signal off"
    found = re.fullmatch(r"([0-9.]+)\s*([kKmMgGtT])(i?)[bB]?", text.strip())
    if found is None:
        return "; one is written like 500Mi or 2G"
    number, letter, binary = found.groups()
    suffix = f"{letter.upper()}i" if binary or letter == "K" else letter.upper()
    return f"; did you mean {number}{'k' if suffix == 'K' else suffix}?"


def takes_defaults(settings: NodeSettings) -> bool:
    """Whether the profile's own hard lines hold as well. [kubelet-eviction 3.1]"""
    return settings.eviction_hard is None or settings.merge_default_eviction_settings is True


def _own_lines(settings: NodeSettings) -> tuple[Threshold, ...]:
    """The profile's own lines for what is not given."""
    profile = profile_of(settings)
    named = texts(settings.eviction_hard)
    hard = profile.hard if takes_defaults(settings) else ()
    soft = profile.soft if settings.eviction_soft is None else ()
    return (*(item for item in hard if item.signal not in named), *soft)


def _text(settings: NodeSettings, name: str, signal: str) -> str:
    maps = {
        "evictionHard": settings.eviction_hard,
        "evictionSoft": settings.eviction_soft,
        "evictionSoftGracePeriod": settings.eviction_soft_grace_period,
        "evictionMinimumReclaim": settings.eviction_minimum_reclaim,
    }
    return texts(maps[name]).get(signal, "")
