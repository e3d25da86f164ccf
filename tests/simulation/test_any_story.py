"""Whatever happens to a machine: nobody goes who must not, at most one goes a pass, and while
memory stays short everybody goes in the end who may."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evictd.core.decision.report import Action
from evictd.simulation.chronicle import Turn
from evictd.simulation.scenario_file import scenario_of_text
from evictd.simulation.story import play

LINES: list[dict[str, Any]] = [
    {},
    {
        "evictionHard": {"memory.available": "300Mi", "pid.available": "5%"},
        "evictionSoft": {"memory.available": "1Gi", "nodefs.available": "20%"},
        "evictionSoftGracePeriod": {"memory.available": "20s", "nodefs.available": "30s"},
    },
]
CAPACITIES = {
    "memory.available": "4Gi",
    "nodefs.available": "100Gi",
    "pid.available": "32768",
    "swap.available": "4Gi",
}
PRESSED = {
    "memory.available": "50Mi",
    "swap.available": "0",
    "psi.memory.full.avg10": "10",
    "nodefs.available": "60Gi",
    "pid.available": "20000",
}
"""Below every line of memory, and nothing else is short."""
PRESSED_STEPS = 40
"""Ten seconds each: enough for the longest grace of everybody, one after the other."""

PODS = st.fixed_dictionaries(
    {
        "uses": st.fixed_dictionaries(
            {"memory": st.sampled_from(["1Mi", "500Mi", "1Gi"]), "processes": st.integers(1, 900)}
        )
    },
    optional={
        "asks": st.sampled_from(["50Mi", "800Mi"]),
        "critical": st.booleans(),
        "protected": st.booleans(),
        "priority": st.integers(-2, 2),
        "stopSeconds": st.sampled_from([0.5, 3, 20]),
        "terminationGracePeriodSeconds": st.sampled_from([0, 5, 30]),
        "restore": st.sampled_from(["auto", "never"]),
        "action": st.sampled_from(["restart", "webhook"]),
        "group": st.sampled_from(["a", "b"]),
        "dependsOn": st.lists(st.integers(0, 4).map("default/pod-{}".format), max_size=2),
    },
)
SIGNALS = st.fixed_dictionaries(
    {},
    optional={
        "memory.available": st.sampled_from(["50Mi", "250Mi", "900Mi", "3Gi"]),
        "pid.available": st.sampled_from(["10", "2000", "20000"]),
        "nodefs.available": st.sampled_from(["1Gi", "15Gi", "60Gi"]),
        "swap.available": st.sampled_from(["0", "3Gi"]),
        "psi.memory.full.avg10": st.sampled_from(["10", "70", "100"]),
    },
)
STEPS = st.fixed_dictionaries(
    {"after": st.sampled_from([0.25, 1, 10, 70, 400]), "signals": SIGNALS},
    optional={
        "observe": st.booleans(),
        "reboot": st.booleans(),
        "wallClock": st.sampled_from(["-3h", "24h"]),
        "reclaim": st.sampled_from([{"silent": True}, {"error": "in use"}]),
    },
)


def played(pods: list[dict[str, Any]], steps: list[dict[str, Any]], **configuration: Any) -> Any:
    """The story, and then a machine that stays short of memory."""
    named = [{"name": f"pod-{number}", **pod} for number, pod in enumerate(pods)]
    document = {
        "configuration": {
            "mode": "act",
            "candidates": "all",
            "evictionPressureTransitionPeriod": "60s",
            **configuration,
        },
        "intervalSeconds": 10,
        "capacities": CAPACITIES,
        "pods": named,
        "steps": [
            *steps,
            {"after": 10, "signals": PRESSED},
            {"after": 10, "times": PRESSED_STEPS},
        ],
    }
    return play(scenario_of_text(json.dumps(document), "story", Path()))


def victims(turn: Turn) -> list[str]:
    """Who is asked to go by the decision of a turn, not only to go sooner."""
    if turn.decision is None or turn.decision.action != Action.EVICT:
        return []
    return [asked.pod for asked in turn.asked if not asked.withdrawn]


def staying(pods: list[dict[str, Any]], *, together: bool) -> set[str]:
    """Who never goes, and whoever would have to take such a one along."""
    named = {f"pod-{number}": pod for number, pod in enumerate(pods)}
    stay = {name for name, pod in named.items() if pod.get("critical") or pod.get("protected")}
    for _ in pods if together else ():
        groups = {named[name].get("group") for name in stay} - {None}
        needed = {
            each.partition("/")[2] for name in stay for each in named[name].get("dependsOn", ())
        }
        stay |= {name for name in named if name in needed or named[name].get("group") in groups}
    return stay


@settings(deadline=None, max_examples=60)
@given(
    st.lists(PODS, min_size=1, max_size=5),
    st.lists(STEPS, max_size=12),
    st.sampled_from(["host", "kubelet"]),
    st.sampled_from(LINES),
)
def test_who_goes_and_who_stays(
    pods: list[dict[str, Any]],
    steps: list[dict[str, Any]],
    profile: str,
    lines: dict[str, Any],
) -> None:
    turns = played(pods, steps, profile=profile, **lines)
    exempt = staying(pods, together=profile == "host")
    assert all(len(victims(turn)) <= 1 for turn in turns)
    assert exempt.isdisjoint(name for turn in turns for name in victims(turn))
    last = next(turn.decision for turn in reversed(turns) if turn.decision is not None)
    assert {row.pod.name for row in last.ranking} == exempt
