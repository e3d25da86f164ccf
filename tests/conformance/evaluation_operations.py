"""Operations of the vectors about time, conditions and admission."""

from collections.abc import Mapping
from typing import Any

from tests.conformance.pods import pod_of
from tests.conformance.signals_operations import (
    START,
    readings_given,
    thresholds_given,
    time_of,
)

from evictd.core.evaluation import timing
from evictd.core.pod_admission import REFUSED, admits
from evictd.core.pods import critical, qos_class
from evictd.core.signals.names import ConditionType
from evictd_schemas import Moment

Given = Mapping[str, Any]


def moment_of(seconds: float) -> Moment:
    """An offset of the vectors as a moment of one boot, which may well lie before it."""
    return Moment(time=time_of(seconds) or START, boot_id="vectors", uptime_seconds=seconds)


def first_observed(given: Given) -> dict[str, Any]:
    last = {entry["threshold"]: moment_of(entry["at_s"]) for entry in given["last"]}
    observed = timing.first_observed(given["met"], last, moment_of(given["now_s"]))
    return {
        "first_observed": [
            {"threshold": index, "at_s": moment.uptime_seconds}
            for index, moment in observed.items()
        ]
    }


def grace_met(given: Given) -> dict[str, Any]:
    catalog = thresholds_given(given["catalog"])
    observed = {entry["threshold"]: moment_of(entry["at_s"]) for entry in given["observed"]}
    indices = {id(threshold): index for index, threshold in enumerate(catalog)}
    satisfied = timing.due(
        catalog, lambda threshold: indices[id(threshold)], observed, moment_of(given["now_s"])
    )
    return {"satisfied": [indices[id(threshold)] for threshold in satisfied]}


def updated_stats(given: Given) -> dict[str, Any]:
    readings, last = readings_given(given["observations"]), readings_given(given["last"])
    signals = [threshold.signal for threshold in thresholds_given(given["thresholds"])]
    updated = [name for name in signals if timing.updated(readings.get(name), last.get(name))]
    return {"updated_signals": updated}


def conditions_last(given: Given) -> dict[str, Any]:
    last = {condition: moment_of(seconds) for condition, seconds in given["last"].items()}
    observed = timing.last_observed(given["conditions"], last, moment_of(given["now_s"]))
    return {
        "last_observed": {
            condition: moment.uptime_seconds for condition, moment in observed.items()
        }
    }


def conditions_since(given: Given) -> dict[str, Any]:
    last = {condition: moment_of(seconds) for condition, seconds in given["last"].items()}
    reported = timing.observed_since(last, given["period_s"], moment_of(given["now_s"]))
    return {"conditions": sorted(reported)}


def admit(given: Given) -> dict[str, Any]:
    pod = pod_of(given["pod"])
    conditions = [ConditionType(name) for name in given["node_conditions"]]
    admitted = admits(conditions, pod, critical=critical(pod), qos_class=qos_class(pod))
    return {"admit": True} if admitted else {"admit": False, "reason": REFUSED}


OPERATIONS = {
    ("first_observed", "first_observed"): first_observed,
    ("grace_period", "grace_met"): grace_met,
    ("updated_stats", "updated_stats"): updated_stats,
    ("node_conditions", "conditions_last"): conditions_last,
    ("node_conditions", "conditions_since"): conditions_since,
    ("admission", "admit"): admit,
}
