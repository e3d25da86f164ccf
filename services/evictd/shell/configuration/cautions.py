"""Legal and probably not meant, as one key beside another. [field cases B, E2, I5]"""

from collections.abc import Callable, Iterator, Mapping

from evictd.core.signals.names import (
    CONTAINERFS_AVAILABLE,
    CONTAINERFS_INODES_FREE,
    KUBELET_SIGNALS,
)
from evictd.core.signals.threshold_settings import Fault, reclaim_of, value_of
from evictd.core.signals.thresholds import Amount, Share, Value
from evictd.shell.configuration import oddities
from evictd.shell.configuration.defaults import complete
from evictd.shell.configuration.lines import default_texts, lines_of, seconds_of, texts
from evictd.shell.configuration.patterns import shadowed
from evictd.shell.configuration.problems import Note
from evictd.shell.configuration.profiles import profile_of
from evictd_schemas.configuration import Configuration, NodeSettings

SHORT_SECONDS = 10.0
"""A condition that ends sooner comes and goes with every look. [kubelet-eviction 14.1]"""
INTERVAL_SECONDS_MAX = 60.0
"""Between two looks at a machine a leak must not fill it."""
DERIVED = (CONTAINERFS_AVAILABLE, CONTAINERFS_INODES_FREE)
"""[kubelet-eviction 3.4]"""
NEVER_CLEARED = "once met it would never count as cleared"
UNREACHED = "is never reached: {!r} above takes all that it matches"

Judge = Callable[[str, str], str | None]


def of_node(settings: NodeSettings) -> Iterator[Note]:
    """Warnings about one node's settings, as path and text."""
    hard, soft = texts(settings.eviction_hard), texts(settings.eviction_soft)
    reclaim = texts(settings.eviction_minimum_reclaim)
    yield from _odd("evictionHard", hard, oddities.of_line)
    yield from _odd("evictionSoft", soft, oddities.of_line)
    yield from _odd("evictionMinimumReclaim", reclaim, oddities.of_reclaim)
    yield from _soft_below_hard(hard, soft)
    yield from _never_cleared({**soft, **hard}, reclaim)
    yield from _graces(settings)
    yield from _without_line(settings)
    yield from _of_others(settings)
    yield from _transition(settings)


def of_default_lines(settings: NodeSettings) -> Iterator[Note]:
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


def of_process(configuration: Configuration) -> Iterator[Note]:
    """Warnings about what is no node's: patterns that nothing reaches, rare looks, a folder that
    moves."""
    names = list(configuration.workloads)
    for index, wider in shadowed(names):
        yield ("workloads", names[index]), UNREACHED.format(wider)
    for index, wider in shadowed([entry.match for entry in configuration.nodes]):
        yield ("nodes", index, "match"), UNREACHED.format(wider)
    seconds = configuration.sources.interval_seconds
    if seconds > INTERVAL_SECONDS_MAX:
        yield (
            ("sources", "intervalSeconds"),
            f"a leak has {seconds:g} s between two looks; the kubelet looks every 10 s",
        )
    folder = configuration.state_folder
    if folder is not None and not folder.startswith(("/", "~")):
        yield (
            ("stateFolder",),
            f"{folder} is below whatever folder a command is started in; give the whole path",
        )


def _odd(name: str, given: Mapping[str, str], judge: Judge) -> Iterator[Note]:
    for signal, text in given.items():
        if (oddity := judge(signal, text)) is not None:
            yield (name, signal), oddity


def _soft_below_hard(hard: Mapping[str, str], soft: Mapping[str, str]) -> Iterator[Note]:
    for signal, text in soft.items():
        if signal in hard and _is_not_above(value_of(text), value_of(hard[signal])):
            yield (
                ("evictionSoft", signal),
                f"{text} is not above the hard line {hard[signal]}, which acts first",
            )


def _is_not_above(soft: Value | Fault | None, hard: Value | Fault | None) -> bool:
    match soft, hard:
        case Amount(quantity=one), Amount(quantity=other):
            return one <= other
        case Share(fraction=part), Share(fraction=whole):
            return part <= whole
    return False


def _never_cleared(lines: Mapping[str, str], reclaim: Mapping[str, str]) -> Iterator[Note]:
    for signal, text in reclaim.items():
        match value_of(lines.get(signal, oddities.OFF)), reclaim_of(text):
            case Share(fraction=line), Share(fraction=further) if line + further >= 1:
                yield (
                    ("evictionMinimumReclaim", signal),
                    f"{text} beyond the line of {lines[signal]} is all there is: {NEVER_CLEARED}",
                )


def _graces(settings: NodeSettings) -> Iterator[Note]:
    soft = texts(settings.eviction_soft)
    for signal, text in texts(settings.eviction_soft_grace_period).items():
        path = ("evictionSoftGracePeriod", signal)
        if signal not in soft:
            yield path, "belongs to no line of evictionSoft and does nothing"
        elif seconds_of(text) == 0:
            yield path, f"{text} makes the soft line a hard one in every respect"
    if soft and complete(settings).eviction_max_pod_grace_period == 0:
        yield (
            ("evictionSoft",),
            "evictionMaxPodGracePeriod is 0, so that a soft eviction too leaves a workload 1 s",
        )


def _without_line(settings: NodeSettings) -> Iterator[Note]:
    lined = {threshold.signal for threshold in lines_of(settings).thresholds}
    for signal in texts(settings.eviction_minimum_reclaim):
        if signal not in lined and signal not in DERIVED:
            path = ("evictionMinimumReclaim", signal)
            yield path, "belongs to no line and does nothing"


def _of_others(settings: NodeSettings) -> Iterator[Note]:
    """Signals that are derived, and those that a kubelet does not have."""
    for name, signals in (
        ("evictionHard", settings.eviction_hard),
        ("evictionSoft", settings.eviction_soft),
    ):
        for signal in texts(signals):
            if signal in DERIVED:
                text = "is taken from nodefs or imagefs on nearly every machine, whatever is given"
                yield (name, signal), text
            elif signal not in KUBELET_SIGNALS and not profile_of(settings).own_signals:
                yield (name, signal), "is a signal of evictd's own; a kubelet would not start"


def _transition(settings: NodeSettings) -> Iterator[Note]:
    period = settings.eviction_pressure_transition_period
    seconds = None if period is None else seconds_of(period)
    path = ("evictionPressureTransitionPeriod",)
    if seconds == 0:
        yield path, f"{period} counts as 5m0s, as in the kubelet"
    elif seconds is not None and 0 < seconds < SHORT_SECONDS:
        yield path, f"{period} is so short that a condition near its line comes and goes"
