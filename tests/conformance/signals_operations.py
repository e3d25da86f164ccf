"""Operations of the vectors about what is measured: texts, signals, thresholds, layouts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from tests.conformance.comparison import equal, equal_unordered

from evictd.core.cleanup import wait_seconds
from evictd.core.signals import percentages, quantities
from evictd.core.signals.layouts import reclaim_steps, with_allocatable, with_containerfs
from evictd.core.signals.names import (
    KUBELET_SIGNALS,
    SIGNALS,
    conditions_of,
    resource_of,
)
from evictd.core.signals.summary import (
    Summary,
    has_dedicated_image_fs,
    notifier_refresh_due,
    notifier_usage_bytes,
    readings,
)
from evictd.core.signals.threshold_settings import FlagError, flag_map, thresholds_of
from evictd.core.signals.thresholds import (
    Amount,
    Judge,
    Share,
    Threshold,
    Value,
    acting,
    by_priority,
    merged,
    value_identity,
)
from evictd_schemas import FileSystemStatistics, Layout, SignalReading

Given = Mapping[str, Any]

START = datetime(2026, 1, 1, tzinfo=UTC)
"""The moment that the vectors count their seconds from."""
KUBELET = Judge(single_precision=True)


def value_of(given: Given) -> Value:
    """A value of the vectors; a quantity wins over a percentage, an empty one is zero."""
    if "quantity" in given or "percentage" not in given:
        return Amount(quantity=given.get("quantity", 0))
    return Share(fraction=percentages.single(given["percentage"]))


def threshold_of(given: Given) -> Threshold:
    """A threshold of the vectors."""
    reclaim = given.get("min_reclaim")
    return Threshold(
        signal=given["signal"],
        operator=given["operator"],
        value=value_of(given["value"]),
        grace_seconds=given["grace_period_s"],
        minimum_reclaim=None if reclaim is None else value_of(reclaim),
    )


def thresholds_given(given: Sequence[Given]) -> tuple[Threshold, ...]:
    """A list of them."""
    return tuple(threshold_of(item) for item in given)


def written(threshold: Threshold) -> dict[str, Any]:
    """A threshold as the vectors write it."""
    reclaim = threshold.minimum_reclaim
    return {
        "signal": threshold.signal,
        "operator": threshold.operator,
        "value": _value_written(threshold.value),
        "grace_period_s": threshold.grace_seconds,
        "min_reclaim": None if reclaim is None else _value_written(reclaim),
    }


def time_of(seconds: float | None) -> datetime | None:
    """An offset of the vectors as a time."""
    return None if seconds is None else START + timedelta(seconds=seconds)


def readings_given(given: Mapping[str, Given]) -> dict[str, SignalReading]:
    """Observations of the vectors as readings of the wire."""
    return {
        signal: SignalReading(
            available=item.get("available", 0),
            capacity=item.get("capacity", 0),
            time=time_of(item.get("time_s")),
        )
        for signal, item in given.items()
    }


def summary_of(given: Given) -> Summary:
    """A Summary of the vectors: `time_s` stands for `time`."""
    return msgspec.convert(_with_times(given), Summary)


def layout_of(given: Given) -> Layout:
    """The layout of the vectors."""
    return Layout(
        dedicated_image_fs=given["dedicated_image_fs"],
        dedicated_container_fs=given["dedicated_container_fs"],
    )


def _with_times(given: Any) -> Any:
    if isinstance(given, Mapping):
        return {
            "time" if key == "time_s" else key: time_of(value)
            if key == "time_s"
            else _with_times(value)
            for key, value in given.items()
        }
    if isinstance(given, list):
        return [_with_times(item) for item in given]
    return given


def _value_written(value: Value) -> dict[str, Any]:
    match value:
        case Amount(quantity=quantity):
            return {"quantity": quantities.round_away(quantity)}
        case Share(fraction=fraction):
            return {"percentage": fraction}
        case _:
            raise TypeError(f"the vectors have no {value!r}")


def quantity(given: Given) -> dict[str, Any]:
    try:
        parsed = quantities.parse(given["text"])
    except quantities.QuantityError as error:
        return {"error": str(error.fault)}
    return {
        "value": parsed.value,
        "exact": quantities.exact_text(parsed.exact),
        "canonical": parsed.canonical,
        "format": str(parsed.format),
    }


def percentage(given: Given) -> dict[str, Any]:
    try:
        return {"fraction": percentages.parse(given["text"]).fraction}
    except percentages.PercentageError:
        return {"error": "malformed_percentage"}


def threshold_quantity(given: Given) -> dict[str, Any]:
    return {"quantity": KUBELET.absolute(value_of(given["value"]), given["capacity"])}


def parse_config(given: Given) -> dict[str, Any]:
    thresholds, problems = thresholds_of(
        given["eviction_hard"],
        given["eviction_soft"],
        given["eviction_soft_grace_period"],
        given["eviction_minimum_reclaim"],
        enforced=given["enforce_node_allocatable"],
        signals=KUBELET_SIGNALS,
    )
    if problems:
        return {"error": str(problems[0].code)}
    return {"thresholds": [written(threshold) for threshold in thresholds]}


def flag(separator: str, given: Given) -> dict[str, Any]:
    try:
        return {"map": flag_map(given["initial"], given["values"], separator)}
    except FlagError:
        return {"error": True}


def compare_value(given: Given) -> dict[str, Any]:
    one, other = value_of(given["a"]), value_of(given["b"])
    return {"equal": value_identity(one) == value_identity(other)}


def merge(given: Given) -> dict[str, Any]:
    both = merged(thresholds_given(given["a"]), thresholds_given(given["b"]))
    return {"merged": [written(threshold) for threshold in both]}


def reclaimable(given: Given) -> dict[str, Any]:
    thresholds = thresholds_given(given["thresholds"])
    first = acting(thresholds)
    return {
        "sorted_signals": [threshold.signal for threshold in by_priority(thresholds)],
        "act_on": None
        if first is None
        else {"signal": first.signal, "resource": resource_of(first.signal)},
    }


def thresholds_met(given: Given) -> dict[str, Any]:
    met = KUBELET.met(
        thresholds_given(given["thresholds"]),
        readings_given(given["observations"]),
        reclaim=given["enforce_min_reclaim"],
    )
    return {"met": [written(threshold) for threshold in met]}


def allocatable(given: Given) -> dict[str, Any]:
    both = with_allocatable(thresholds_given(given["thresholds"]))
    return {"thresholds": [written(threshold) for threshold in both]}


def containerfs(given: Given) -> dict[str, Any]:
    derived = with_containerfs(thresholds_given(given["thresholds"]), layout_of(given))
    return {
        "thresholds": [written(threshold) for threshold in derived.thresholds],
        "inert_entries": derived.inert,
        "warning": derived.configured,
    }


STEPS = {"containers": "delete_all_unused_containers", "images": "delete_unused_images"}
"""Our names of the reclaim steps and those of the vectors."""


def reclaim_map(given: Given) -> dict[str, Any]:
    steps = reclaim_steps(layout_of(given))
    return {
        "node_reclaim": {signal: [STEPS[step] for step in row] for signal, row in steps.items()},
        "ranked_signals": sorted(KUBELET_SIGNALS),
    }


def observations(given: Given) -> dict[str, Any]:
    return {
        "observations": {
            signal: {
                "available": reading.available,
                "capacity": reading.capacity,
                "time_s": _offset(reading.time),
            }
            for signal, reading in readings(summary_of(given["summary"])).items()
        }
    }


def _offset(time: datetime | None) -> float | None:
    if time is None:
        return None
    seconds = (time - START).total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


def image_fs(given: Given) -> dict[str, Any]:
    image, container = (
        None if given.get(key) is None else msgspec.convert(given[key], FileSystemStatistics)
        for key in ("image_fs", "container_fs")
    )
    return {
        "dedicated_image_fs": has_dedicated_image_fs(
            given["root_device"], given["image_device"], image, container
        )
    }


def memcg(given: Given) -> dict[str, Any]:
    usage_bytes = notifier_usage_bytes(
        threshold_of(given["threshold"]), summary_of(given["summary"]), KUBELET
    )
    return {"error": True} if usage_bytes is None else {"usage_threshold": usage_bytes}


def notifier_refresh(given: Given) -> dict[str, Any]:
    now_seconds, last_try_seconds, updated = 0.0, None, []
    for step in given["steps"]:
        now_seconds += step["advance_s"]
        updated.append(notifier_refresh_due(last_try_seconds, now_seconds))
        if updated[-1]:
            last_try_seconds = now_seconds
    return {"updated": updated}


def signal_resource(given: Given) -> dict[str, Any]:
    signal = given["signal"]
    known = signal in KUBELET_SIGNALS
    return {"resource": SIGNALS[signal].resource if known else None, "valid_signal": known}


def conditions(given: Given) -> dict[str, Any]:
    return {"conditions": sorted(conditions_of(given["signals"]))}


def cleanup_wait(given: Given) -> dict[str, Any]:
    return {"returns_at_s": wait_seconds(pod["cleaned_up_at_s"] for pod in given["pods"])}


def has_condition(given: Given) -> dict[str, Any]:
    """One condition looked for in a list of them, told apart by their types."""
    listed = next((value for value in given.values() if isinstance(value, list)), ())
    wanted = next(value for value in given.values() if isinstance(value, str))
    return {"has_condition": wanted in listed}


def _same_thresholds(expected: Given, actual: Given) -> None:
    """Configuration has no order."""
    assert set(expected) == set(actual), actual
    if "thresholds" in expected:
        assert equal_unordered(expected["thresholds"], actual["thresholds"]), actual
    rest = {key: value for key, value in expected.items() if key != "thresholds"}
    assert equal(rest, {key: value for key, value in actual.items() if key != "thresholds"})


def _same_condition(expected: Any, actual: Given) -> None:
    """A question answered by yes or no is compared by its answer, whatever its key."""
    if set(actual) == {"has_condition"}:
        answers = [*expected.values()] if isinstance(expected, Mapping) else [expected]
        assert answers == [actual["has_condition"]]
    else:
        assert equal(expected, actual), actual


def _same_priority(expected: Given, actual: Given) -> None:
    """Groups count, and the resource; inside a group the order is free."""
    assert [_group(signal) for signal in expected["sorted_signals"]] == [
        _group(signal) for signal in actual["sorted_signals"]
    ]
    assert sorted(expected["sorted_signals"]) == sorted(actual["sorted_signals"])
    act_on = expected["act_on"]
    if act_on is None:
        assert actual["act_on"] is None
    else:
        assert actual["act_on"]["resource"] == act_on["resource"]


def _group(signal: str) -> int:
    if signal in ("memory.available", "allocatableMemory.available"):
        return 0
    return 1 if signal in KUBELET_SIGNALS else 2


OPERATIONS = {
    ("quantity_parse", "quantity"): quantity,
    ("percentage_parse", "percentage"): percentage,
    ("threshold_quantity", "threshold_quantity"): threshold_quantity,
    ("threshold_config", "parse_config"): parse_config,
    ("cli_flags", "flag_langle"): lambda given: flag("<", given),
    ("cli_flags", "flag_equals"): lambda given: flag("=", given),
    ("threshold_compare", "compare_value"): compare_value,
    ("threshold_compare", "merge"): merge,
    ("threshold_priority", "reclaimable"): reclaimable,
    ("thresholds_met", "thresholds_met"): thresholds_met,
    ("allocatable_thresholds", "add_allocatable"): allocatable,
    ("containerfs_thresholds", "containerfs"): containerfs,
    ("filesystem_layout_maps", "reclaim_map"): reclaim_map,
    ("signal_observations", "observations"): observations,
    ("image_fs_detection", "image_fs"): image_fs,
    ("memcg_threshold", "memcg"): memcg,
    ("notifier_refresh", "notifier_refresh"): notifier_refresh,
    ("node_conditions", "signal_resource"): signal_resource,
    ("node_conditions", "conditions"): conditions,
    ("node_conditions", "has_condition"): has_condition,
    ("cleanup_wait", "cleanup_wait"): cleanup_wait,
}
COMPARISONS = {
    "threshold_config": _same_thresholds,
    "allocatable_thresholds": _same_thresholds,
    "containerfs_thresholds": _same_thresholds,
    "threshold_priority": _same_priority,
    "node_conditions": _same_condition,
}
