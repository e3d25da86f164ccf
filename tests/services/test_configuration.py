"""What a configuration means: defaults, layers, overrides, rules of a node."""

import ast
import inspect
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from evictd.core.rules import HOST, KUBELET, Candidates, Mode, Rules
from evictd.shell.configuration import (
    ConfigurationError,
    load,
    load_text,
    rules_for,
    rules_of,
    served_patterns,
)
from evictd.shell.configuration.defaults import state_folder
from evictd.shell.configuration.profiles import HOST_DEFAULTS, KUBELET_DEFAULTS
from evictd_schemas import configuration as structs
from evictd_schemas.configuration import Configuration

ROOT = Path(__file__).parents[2]


def rules(text: str, node: str = "here") -> Rules:
    """The rules that a text gives a node."""
    return rules_of(load_text(text, "f").configuration, node)


def lines(found: Rules) -> list[str]:
    """Its thresholds, one text each."""
    return [
        f"{item.signal}<{item.value.text}"
        + (f"/{item.grace_seconds:g}s" if item.grace_seconds else "")
        for item in found.thresholds
    ]


def test_a_plain_host_gives_back_what_nothing_uses_and_a_kubelet_by_its_own_table() -> None:
    assert rules("").reclaim_steps == ("danglingImages", "buildCache")
    assert rules("profile: kubelet").reclaim_steps is None


def test_the_defaults_of_a_plain_host_are_pinned() -> None:
    assert msgspec.to_builtins(HOST_DEFAULTS) == {
        "mode": "observe",
        "profile": "host",
        "candidates": "labelled",
        "evictionPressureTransitionPeriod": "5m0s",
        "evictionMaxPodGracePeriod": -1,
        "evictionHardGracePeriod": 10,
        "settleSeconds": 1,
        "mergeDefaultEvictionSettings": False,
        "enforceNodeAllocatable": (),
        "localStorageCapacityIsolation": True,
        "hardRequesters": ("evictd.io/node-pressure", "evictd.io/local-storage"),
    }
    assert lines(rules("")) == [
        "memory.available<max(5%,100Mi)",
        "psi.memory.full.avg10<60%",
        "nodefs.available<min(10%,20Gi)",
        "nodefs.inodesFree<5%",
        "pid.available<5%",
        "memory.available<10%/30s",
    ]


def test_the_defaults_of_a_kubelet_are_pinned() -> None:
    assert msgspec.to_builtins(KUBELET_DEFAULTS) == {
        "mode": "observe",
        "profile": "kubelet",
        "candidates": "all",
        "evictionPressureTransitionPeriod": "5m0s",
        "evictionMaxPodGracePeriod": 0,
        "evictionHardGracePeriod": 1,
        "settleSeconds": 0,
        "mergeDefaultEvictionSettings": False,
        "enforceNodeAllocatable": ("pods",),
        "localStorageCapacityIsolation": True,
        "hardRequesters": ("evictd.io/node-pressure", "evictd.io/local-storage"),
    }
    assert lines(rules("profile: kubelet")) == [
        "memory.available<100Mi",
        "nodefs.available<10%",
        "nodefs.inodesFree<5%",
        "imagefs.available<15%",
        "imagefs.inodesFree<5%",
        "allocatableMemory.available<100Mi",
    ]


def test_what_is_about_the_process_has_pinned_defaults_too() -> None:
    assert msgspec.to_builtins(Configuration()) == {}
    found = load_text("", "f").configuration
    assert (found.broker, found.node, found.serve, found.nodes) == (None, None, None, ())
    assert found.sources.interval_seconds == 10.0


def test_nothing_is_stopped_until_somebody_says_so() -> None:
    found = rules("")
    assert (found.mode, found.profile, found.candidates) == (
        Mode.OBSERVE,
        HOST,
        Candidates.LABELLED,
    )


def test_a_line_on_a_host_needs_more_than_one_figure() -> None:
    """Memory is short only where swap is too, or work stalls; no swap counts as short."""
    memory, stall, *_ = rules("").thresholds
    assert [(part.signal, part.met_when_absent) for part in memory.any_of] == [
        ("swap.available", True),
        ("psi.memory.full.avg10", False),
    ]
    assert stall.sustained_seconds == 10
    assert [(part.signal, part.met_when_absent) for part in stall.any_of] == [
        ("memory.available", False),
        ("swap.available", False),
    ]


def test_one_line_given_replaces_the_default_hard_lines() -> None:
    assert lines(rules("profile: kubelet\nevictionHard: {pid.available: 5%}")) == [
        "pid.available<5%"
    ]
    assert lines(rules("evictionHard: {pid.available: 1%}")) == [
        "pid.available<1%",
        "memory.available<10%/30s",
    ]


def test_the_defaults_are_kept_where_that_is_asked_for() -> None:
    merge = "mergeDefaultEvictionSettings: true\n"
    assert lines(rules(merge + "profile: kubelet\nevictionHard: {nodefs.available: 5%}")) == [
        "memory.available<100Mi",
        "nodefs.available<5%",
        "nodefs.inodesFree<5%",
        "imagefs.available<15%",
        "imagefs.inodesFree<5%",
        "allocatableMemory.available<100Mi",
    ]
    assert "pid.available<1%" in lines(rules(merge + "evictionHard: {pid.available: 1%}"))
    assert "nodefs.inodesFree<5%" in lines(rules(merge + "evictionHard: {pid.available: 1%}"))


def test_a_line_of_a_host_may_be_the_greatest_or_the_least_of_several() -> None:
    text = "evictionHard: memory.available<max(3%,50Mi),nodefs.available<min(10%,20Gi)"
    assert lines(rules(text))[:2] == [
        "memory.available<max(3%,50Mi)",
        "nodefs.available<min(10%,20Gi)",
    ]
    with pytest.raises(ConfigurationError, match="is no quantity"):
        rules(f"profile: kubelet\n{text}")


@pytest.mark.parametrize("profile", ["host", "kubelet"])
def test_zero_per_cent_switches_a_line_off(profile: str) -> None:
    found = rules(
        f"profile: {profile}\nmergeDefaultEvictionSettings: true\n"
        "evictionHard: {nodefs.inodesFree: 0%}"
    )
    assert "nodefs.inodesFree" not in {line.signal for line in found.thresholds}


def test_soft_lines_carry_grace_and_reclaim() -> None:
    found = rules(
        "evictionSoft: {memory.available: 1Gi}\n"
        "evictionSoftGracePeriod: {memory.available: 1m30s}\n"
        "evictionMinimumReclaim: {memory.available: 200Mi}\n"
        "evictionHard: {}\n"
    )
    (line,) = found.thresholds
    assert line.grace_seconds == 90
    assert line.minimum_reclaim is not None
    assert line.minimum_reclaim.text == "200Mi"


def test_every_key_about_a_node_reaches_its_rules() -> None:
    found = rules(
        "mode: act\nprofile: kubelet\ncandidates: labelled\n"
        "evictionPressureTransitionPeriod: 30s\nevictionMaxPodGracePeriod: 60\n"
        "evictionHardGracePeriod: 3\nsettleSeconds: 2.5\n"
        "localStorageCapacityIsolation: false\nhardRequesters: [acme.io/mover]\n"
    )
    assert found == Rules(
        node="here",
        mode=Mode.ACT,
        profile=msgspec.structs.replace(KUBELET, hard_grace_seconds=3, settle_seconds=2.5),
        candidates=Candidates.LABELLED,
        thresholds=found.thresholds,
        transition_seconds=30,
        maximum_pod_grace_seconds=60,
        local_storage_capacity_isolation=False,
        hard_requesters=("acme.io/mover",),
    )


def test_a_zero_transition_period_means_the_default() -> None:
    assert rules("evictionPressureTransitionPeriod: 0s").transition_seconds == 300


def test_the_first_entry_that_matches_a_node_wins_over_everything() -> None:
    text = (
        "mode: observe\n"
        "nodes:\n"
        "- {match: demo-*, mode: act, evictionHard: {memory.available: 500Mi}}\n"
        "- {match: '*', mode: dry-run}\n"
    )
    loaded = load_text(text, "f", variables={"EVICTD_MODE": "observe"}, flags={"mode": "observe"})
    modes = {node: rules_of(loaded.configuration, node).mode for node in ("demo-1", "edge-7")}
    assert modes == {"demo-1": Mode.ACT, "edge-7": Mode.DRY_RUN}


def test_an_override_takes_from_the_top_level_what_it_does_not_give() -> None:
    text = "evictionMaxPodGracePeriod: 7\nnodes: [{match: demo-*, mode: act}]"
    assert rules(text, "demo-1").maximum_pod_grace_seconds == 7


LAYERS = [
    # file, environment, flag, mode, its origin
    (None, None, None, None, None),
    ("act", None, None, "act", "f:1:7"),
    ("act", "dry-run", None, "dry-run", "environment EVICTD_MODE"),
    ("act", "dry-run", "observe", "observe", "flag --mode"),
    (None, "dry-run", None, "dry-run", "environment EVICTD_MODE"),
    (None, None, "observe", "observe", "flag --mode"),
    ("act", "", None, "act", "f:1:7"),
]


@pytest.mark.parametrize(("file", "variable", "flag", "mode", "origin"), LAYERS)
def test_flags_win_over_the_environment_and_that_over_the_file(
    file: str | None, variable: str | None, flag: str | None, mode: str | None, origin: str | None
) -> None:
    loaded = load_text(
        f"mode: {file}" if file else "",
        "f",
        variables={} if variable is None else {"EVICTD_MODE": variable},
        flags={"mode": flag},
    )
    place = loaded.places.get(("mode",))
    assert loaded.configuration.mode == mode
    assert (None if place is None else str(place)) == origin


def test_each_kind_of_key_can_be_given_by_the_environment(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("correct horse\n")
    found = load_text(
        "",
        "f",
        variables={
            "EVICTD_NODE": "edge-7",
            "EVICTD_EVICTIONHARD": "memory.available<500Mi, pid.available < 5%,",
            "EVICTD_EVICTIONSOFTGRACEPERIOD": "memory.available=30s",
            "EVICTD_SERVE": "demo-*, edge-*",
            "EVICTD_SETTLESECONDS": "2.5",
            "EVICTD_SOURCES": "{procPath: /host/proc}",
            "EVICTD_BROKERPASSWORD_FILE": str(secret),
        },
    ).configuration
    assert found.node == "edge-7"
    assert found.eviction_hard is not None
    assert msgspec.to_builtins(found.eviction_hard) == {
        "memory.available": "500Mi",
        "pid.available": "5%",
    }
    assert found.serve == ("demo-*", "edge-*")
    assert found.settle_seconds == 2.5
    assert found.sources.proc_path == "/host/proc"
    assert found.broker_password == "correct horse"  # noqa: S105 - nobody's password


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("demo-*",)),
        ("broker: owned:1884", ("demo-*",)),
        ("broker: mqtt://127.0.0.1:1883", ("demo-*",)),
        ("broker: mqtt://localhost", ("demo-*",)),
        ("broker: 'mqtt://[::1]:1883'", ("demo-*",)),
        ("broker: mqtt://bus:1883", ()),
        ("broker: mqtt://bus:1883\nserve: [edge-*]", ("edge-*",)),
        ("serve: []", ()),
    ],
)
def test_demonstrations_are_served_only_where_no_other_machine_listens(
    text: str, expected: tuple[str, ...]
) -> None:
    assert tuple(served_patterns(load_text(text, "f").configuration)) == expected


def test_a_node_that_is_neither_home_nor_served_has_no_rules() -> None:
    found = load_text("serve: [edge-*]", "f").configuration
    assert rules_for(found, "home", "home") is not None
    assert rules_for(found, "home", "edge-7") is not None
    assert rules_for(found, "home", "demo-1") is None


def test_a_kubelet_s_own_file_is_taken_with_its_profile_and_its_other_keys_passed_over() -> None:
    found = load_text(
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
        "podPidsLimit: -1\nauthentication: {anonymous: {enabled: false}}\n"
        "evictionHard: {memory.available: 200Mi}\n",
        "f",
    ).configuration
    assert rules_of(found, "here").profile == KUBELET
    assert lines(rules_of(found, "here"))[0] == "memory.available<200Mi"


def test_the_shipped_file_observes_this_machine_and_acts_only_for_demonstrations() -> None:
    loaded = load(ROOT / "deploy" / "evictd.yaml")
    here = rules_of(loaded.configuration, "some-host")
    demo = rules_of(loaded.configuration, "demo-1")
    assert (here.mode, here.profile) == (Mode.OBSERVE, HOST)
    assert (demo.mode, demo.profile, demo.candidates) == (Mode.ACT, KUBELET, Candidates.ALL)
    assert lines(demo)[0] == "memory.available<500Mi"
    assert served_patterns(loaded.configuration) == ("demo-*",)
    assert loaded.warnings == ()


def field_texts() -> list[tuple[str, str]]:
    """Every field of the configuration's own Structs with the text below it."""
    module = ast.parse(inspect.getsource(structs))
    found = []
    for struct in (node for node in module.body if isinstance(node, ast.ClassDef)):
        for step, after in pairwise([*struct.body, ast.Pass()]):
            if isinstance(step, ast.AnnAssign):
                text = getattr(getattr(after, "value", None), "value", "")
                found.append((f"{struct.name}.{ast.unparse(step.target)}", " ".join(text.split())))
    return found


def test_every_field_says_what_it_is_and_the_documentation_says_the_same() -> None:
    documentation = (ROOT / "docs" / "configuration.md").read_text()
    texts = field_texts()
    assert len(texts) > 40
    assert not [name for name, text in texts if not text or text not in documentation]


def test_state_is_kept_where_a_restart_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert state_folder() == Path("/var/lib/evictd")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/ada")
    assert state_folder() == Path("/home/ada/.local/state/evictd")
