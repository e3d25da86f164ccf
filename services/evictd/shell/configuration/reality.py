"""What a configuration comes to on one machine: each line in the signal's own unit, and what cannot
have been meant there. Pure: an observation in, rows and warnings out. [field cases B, G]
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction

from evictd.core.decision.candidates import evictable
from evictd.core.evaluation.judgement import judge_of, readings_of, thresholds_shown
from evictd.core.evaluation.watch import Watch
from evictd.core.rules import Candidates, Mode, Rules
from evictd.core.signals.amounts import drawn_text, reading_text
from evictd.core.signals.names import MEMORY_AVAILABLE, SWAP_AVAILABLE
from evictd.core.signals.threshold_settings import Fault, line_of, reclaim_of
from evictd.core.signals.thresholds import Amount, Judge, Part, Readings, Share, Threshold, Value
from evictd.core.wording import name_text
from evictd.shell.configuration.cautions import DERIVED, NEVER_CLEARED
from evictd.shell.configuration.checks import given_at, placed
from evictd.shell.configuration.compile import override_of, rules_of, settings_of
from evictd.shell.configuration.lines import bytes_of, texts
from evictd.shell.configuration.loader import Loaded
from evictd.shell.configuration.oddities import COUNTED, FEW, MANY
from evictd.shell.configuration.problems import Note, Problem, meant
from evictd_schemas import Observation
from evictd_schemas.configuration import NodeSettings

TINY = Fraction(1, 10_000)
"""Fewer inodes or process ids than this share of all are there only when nothing works any more."""
DIGITS = re.compile(r"\d+")
ABSENT = "is not observed on this machine: the line is never met here"
NO_SWAP = "this machine has no swap: the line is never met here, and no swap is not swap used up"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One threshold in force. Amounts are texts; "" where the machine has no such signal."""

    text: str
    kind: str
    amount: str
    capacity: str
    left: str
    state: str


def lines_here(rules: Rules, observation: Observation) -> Iterator[Line]:
    """Every threshold in force, derived ones included, in the order of the configuration."""
    readings, judge = readings_of(rules, observation), judge_of(rules)
    for threshold in thresholds_shown(rules, Watch(), observation):
        reading = readings.get(threshold.signal)
        signal = threshold.signal
        yield Line(
            text=_line_text(threshold),
            kind="hard" if threshold.hard else f"soft, {threshold.grace_seconds:g} s",
            amount=""
            if reading is None
            else reading_text(signal, judge.absolute(threshold.value, reading.capacity)),
            capacity="" if reading is None else reading_text(signal, reading.capacity),
            left="" if reading is None else reading_text(signal, reading.available),
            state=_state(threshold, readings, judge),
        )


def cautions_here(loaded: Loaded, observation: Observation) -> tuple[Problem, ...]:
    """What is probably not meant, as the figures of the observation's node show it."""
    configuration, node = loaded.configuration, observation.node
    rules, settings = rules_of(configuration, node), settings_of(configuration, node)
    entry = override_of(configuration, node)
    base = () if entry is None else ("nodes", configuration.nodes.index(entry))
    found = [
        (given_at(configuration, base, path), text)
        for path, text in _node_notes(rules, settings, observation)
    ]
    found += _workload_notes(loaded, readings_of(rules, observation))
    found += _misspelt(loaded, observation)
    return tuple(placed(note, loaded.places) for note in found)


def _node_notes(rules: Rules, settings: NodeSettings, observation: Observation) -> Iterator[Note]:
    readings, judge = readings_of(rules, observation), judge_of(rules)
    reclaim = texts(settings.eviction_minimum_reclaim)
    for name, given in (
        ("evictionHard", texts(settings.eviction_hard)),
        ("evictionSoft", texts(settings.eviction_soft)),
    ):
        for signal, text in given.items():
            value = line_of(text)
            further = reclaim_of(reclaim[signal]) if signal in reclaim else None
            if value is None or isinstance(value, Fault) or isinstance(further, Fault):
                continue
            remark = _line_remark(signal, value, further, readings, judge)
            if remark is not None and signal not in DERIVED:
                yield (name, signal), remark
    yield from _soft_notes(rules, settings, readings, judge)
    yield from _candidate_notes(rules, observation)


def _line_remark(
    signal: str, value: Value, further: Value | None, readings: Readings, judge: Judge
) -> str | None:
    """The first that applies to one given line."""
    reading = readings.get(signal)
    if reading is None:
        return NO_SWAP if signal == SWAP_AVAILABLE else ABSENT
    amount, capacity = judge.absolute(value, reading.capacity), reading.capacity
    whole = reading_text(signal, capacity)
    shown = drawn_text(signal, value.text, amount)
    is_told = signal in COUNTED and amount > MANY
    if amount >= capacity and not is_told and not isinstance(value, Share):
        return f"{shown} is all of the {whole} there are here, or more: the line is met for ever"
    if further is not None and amount + judge.absolute(further, capacity) >= capacity:
        return f"with its minimum reclaim this is all of the {whole} there are: {NEVER_CLEARED}"
    if signal in COUNTED and FEW <= amount < capacity * TINY:
        return f"{shown} of {whole} is left only when nothing works any more"
    if judge.below(value, reading) and not is_told:
        left = reading_text(signal, reading.available)
        return f"{shown} is crossed already: {left} of {whole} are left"
    return None


def _soft_notes(
    rules: Rules, settings: NodeSettings, readings: Readings, judge: Judge
) -> Iterator[Note]:
    """A soft line at or below a hard one that is written in another way, or is the profile's."""
    given, hard = texts(settings.eviction_soft), texts(settings.eviction_hard)
    for soft in rules.thresholds:
        reading = readings.get(soft.signal)
        if reading is None or soft.hard or soft.signal not in given:
            continue
        for other in rules.thresholds:
            if other.signal != soft.signal or not other.hard or other.all_of or other.any_of:
                continue
            is_told = soft.signal in hard and type(soft.value) is type(other.value)
            line = judge.absolute(other.value, reading.capacity)
            is_above = judge.absolute(soft.value, reading.capacity) > line
            if not is_above and (not is_told or not isinstance(soft.value, Amount | Share)):
                hard_line = drawn_text(soft.signal, other.value.text, line)
                text = f"{soft.value.text} is not above {hard_line}, a hard line that acts first"
                yield ("evictionSoft", soft.signal), text


def _candidate_notes(rules: Rules, observation: Observation) -> Iterator[Note]:
    """`act` with nobody who may go: nothing would ever be done. [design, two profiles]"""
    pods = observation.pods
    if rules.mode is not Mode.ACT or pods is None or not observation.pods_complete:
        return
    if any(evictable(rules, pod) for pod in pods):
        return
    if not pods:
        yield (
            ("mode",),
            "is act, and no workload is seen here; sources.runtimes names what runs them",
        )
        return
    remedy = (
        "name them under workloads: or label them; evictd rank -o config prints a block to paste"
        if rules.candidates is Candidates.LABELLED
        else "each is protected, critical or evictd's own"
    )
    text = f"is act, and none of the {len(pods)} workloads here may be taken off: {remedy}"
    yield ("mode",), text


def _workload_notes(loaded: Loaded, readings: Readings) -> Iterator[Note]:
    """Somebody who is meant to use more than there is will never exceed it."""
    memory = readings.get(MEMORY_AVAILABLE)
    for pattern, workload in loaded.configuration.workloads.items():
        text = None if workload.request is None else workload.request.memory
        amount = None if text is None else bytes_of(text)
        if memory is not None and amount is not None and amount > memory.capacity:
            whole = reading_text(MEMORY_AVAILABLE, memory.capacity)
            yield (
                ("workloads", pattern, "request", "memory"),
                f"{text} is more than the {whole} of this machine: it would never exceed that",
            )


def _misspelt(loaded: Loaded, observation: Observation) -> Iterator[Note]:
    """A name that nobody here has, and that is nearly somebody's: what it says holds for nobody.

    Another number is no misspelling: that replica does not run now.
    """
    for pattern in loaded.configuration.workloads:
        names = [name_text(pod) if "/" in pattern else pod.name for pod in observation.pods or ()]
        if any(fnmatchcase(name, pattern) for name in names):
            continue
        kind = DIGITS.sub("", pattern)
        if said := meant(pattern, [name for name in names if DIGITS.sub("", name) != kind]):
            yield ("workloads", pattern), f"is nobody's name here{said}"


def _line_text(threshold: Threshold) -> str:
    text = f"{threshold.signal}<{threshold.value.text}"
    if threshold.all_of:
        text += " and " + " and ".join(map(_part_text, threshold.all_of))
    if threshold.any_of:
        text += f" and one of {', '.join(map(_part_text, threshold.any_of))}"
    lasting = threshold.sustained_seconds
    return f"{text} for {lasting:g} s" if lasting else text


def _part_text(part: Part) -> str:
    absent = " or no swap" if part.met_when_absent else ""
    return f"{part.signal}<{part.value.text}{absent}"


def _state(threshold: Threshold, readings: Readings, judge: Judge) -> str:
    """`met`, `clear`, or how many of several conditions hold. [field case B16]"""
    reading = readings.get(threshold.signal)
    if reading is None:
        return "not observed"
    if not threshold.all_of and not threshold.any_of:
        return "met" if judge.meets(threshold, readings, reclaim=False) else "clear"
    conditions = [
        judge.below(threshold.value, reading),
        *(judge.part_met(part, readings) for part in threshold.all_of),
    ]
    if threshold.any_of:
        conditions.append(any(judge.part_met(part, readings) for part in threshold.any_of))
    return f"{sum(conditions)} of {len(conditions)} met"
