"""What people wrote down and where it went wrong: every message word for word."""

from pathlib import Path

import pytest

from evictd.core.errors import HostError, InputError
from evictd.shell.configuration import ConfigurationError, load, load_text

FIXTURES = Path(__file__).parents[1] / "fixtures" / "configuration"

ERRORS = {
    "modus: act": "f:1:1: modus: is no key here; did you mean mode?",
    "mode: actt": "f:1:7: mode: 'actt' is none of act, dry-run, observe; did you mean act?",
    "mode: act\nmode: act": "f:2:1: mode: is here twice, first in line 1; which one is meant?",
    "mode: [act]": "f:1:7: mode: a list where one value should be",
    "mode: ''": "f:1:7: mode: '' is none of act, dry-run, observe",
    "no: yes": "f:1:1: no: is no key here; did you mean node?",
    "mergeDefaultEvictionSettings: yes": (
        "f:1:31: mergeDefaultEvictionSettings: 'yes' is not true or false; did you mean true?"
    ),
    "mergeDefaultEvictionSettings: 'true'": (
        "f:1:31: mergeDefaultEvictionSettings: 'true' is not true or false"
    ),
    "evictionMaxPodGracePeriod: 10:30": (
        "f:1:28: evictionMaxPodGracePeriod: '10:30' is not a whole number"
    ),
    "settleSeconds: soon": "f:1:16: settleSeconds: 'soon' is not a number",
    "cgroupPath: /a": "f:1:1: cgroupPath: is a key of sources; did you mean sources.cgroupPath?",
    "match: demo-*": 'f:1:1: match: is a key of nodes["*"]; did you mean nodes["*"].match?',
    "evictionHard: {mode: act}": (
        "f:1:16: evictionHard.mode: is a key of the top level; is it indented too far?"
    ),
    "evictionHard: [memory.available]": (
        "f:1:33: evictionHard.memory.available: '' is no quantity; one is written like 500Mi or 2G"
    ),
    "evictionHard: memory.available<1Gi, nodefs.availabl<5%": (
        "f:1:37: evictionHard.nodefs.availabl: is no key here; did you mean nodefs.available?"
    ),
    "sources: {procpath: /x}": "f:1:11: sources.procpath: is no key here; did you mean procPath?",
    "nodes: [{mode: act}]": "f:1:9: nodes[0].match: is missing",
    "nodes: [{match: ~}]": "f:1:17: nodes[0].match: has no value",
    "nodes:\n- match: demo-*\n  evictionHard: {memory.available: 0}": (
        "f:3:36: nodes[0].evictionHard.memory.available: '0' can never be undercut; "
        "0% switches the signal off"
    ),
    'stateFolder: "/a\\0b"': (
        "f:1:14: holds a NUL character or half of a surrogate pair, which no path and no name can"
    ),
    'node: "\\uD800"': (
        "f:1:7: holds a NUL character or half of a surrogate pair, which no path and no name can"
    ),
    f"broker: owned:{'9' * 20}": (
        f"f:1:9: broker: '{'9' * 20}' is no port; did you mean owned:1883?"
    ),
    f"broker: owned:{'9' * 5_000}": (
        f"f:1:9: broker: '{'9' * 5_000}' is no port; did you mean owned:1883?"
    ),
    "- a": "f:1:1: a list where keys with values should be",
    "a: [": (
        "f:1:5: not YAML: while parsing a flow node, expected the node content, "
        "but found '<stream end>'"
    ),
    "workloads:\n  *-batch: {priority: -1}": (
        "f:2:3: not YAML: found undefined alias '-batch'; a name or a pattern that begins with * "
        'stands in quotes, such as "*-batch"'
    ),
    "workloads: {*: {priority: -1}}": (
        "f:1:14: not YAML: while scanning an alias, expected alphabetic or numeric character, but "
        "found ':'; a name or a pattern that begins with * stands in quotes, such as "
        '"*-batch"'
    ),
    "a: 1\n\tb: 2": (
        "f:2:1: not YAML: while scanning for the next token, found character '\\t' that cannot "
        "start any token; YAML is indented by spaces, not by tabs"
    ),
    "a: &x [*x]": "f:1:4: nested too deeply or repeated too often",
    "{}: 3": "f:1:1: a key must be one word",
    "a: \x01": "f: character 1 is not allowed in YAML",
    'workloads: {"shop/*": {request: {memory: 500MB}}}': (
        "f:1:42: workloads[\"shop/*\"].request.memory: '500MB' is no quantity; did you mean 500M?"
    ),
    'workloads: {"shop/*": {responders: [{name: acme.io/drain, priority: 10}]}}': (
        'f:1:24: workloads["shop/*"].responders: [0].priority 10 is not within 1000 and 100000'
    ),
    "broker: 10.0.0.1:1883": (
        "f:1:9: broker: '10.0.0.1:1883' is no address; did you mean mqtt://10.0.0.1:1883?"
    ),
    "broker: owned:x": "f:1:9: broker: 'x' is no port; did you mean owned:1883?",
    "broker: http://a": "f:1:9: broker: 'http' is no protocol of ours; did you mean mqtt?",
    "broker: mqtt://": (
        "f:1:9: broker: 'mqtt://' names no broker; one is written like mqtt://host:1883"
    ),
    "broker: mqtt://me:secret@a:99999": (
        "f:1:9: broker: 'mqtt://(not shown)@a:99999' has no port that can be; "
        "one is written like mqtt://host:1883"
    ),
    "broker: mqtt://a:99999": (
        "f:1:9: broker: 'mqtt://a:99999' has no port that can be; "
        "one is written like mqtt://host:1883"
    ),
    "sources: {procPath: proc}": "f:1:21: sources.procPath: 'proc' is no absolute path",
    "sources: {memory: {cgroup: pods}}": (
        "f:1:28: sources.memory.cgroup: 'pods' is no absolute path"
    ),
    "sources: {intervalSeconds: 0.01}": (
        "f:1:1: sources.minimumIntervalSeconds: "
        "must be greater than 0 and not above intervalSeconds"
    ),
    "sources: {intervalSeconds: 1e999}": (
        "f:1:28: sources.intervalSeconds: '1e999' is not a number"
    ),
    "node: a/b": "f:1:7: node: 'a/b' cannot be a level of a topic: it holds one of / + #",
    "serve: ['']": "f:1:9: serve[0]: an empty pattern matches nothing",
    "hardRequesters: [mover]": (
        "f:1:18: hardRequesters[0]: 'mover' is no requester; one is named like acme.io/mover"
    ),
    "profile: kubelet\nevictionMaxPodGracePeriod: -1": (
        "f:2:28: evictionMaxPodGracePeriod: must not be negative in profile kubelet"
    ),
    "enforceNodeAllocatable: [pod]": (
        "f:1:26: enforceNodeAllocatable[0]: 'pod' is none of none, pods, system-reserved, "
        "kube-reserved, system-reserved-compressible, kube-reserved-compressible; "
        "did you mean pods?"
    ),
    "profile: kubelet\nevictionHard: {memory.available: 'max(5%,100Mi)'}": (
        "f:2:34: evictionHard.memory.available: 'max(5%,100Mi)' is no quantity; "
        "max() and min() are for profile host, of amounts such as max(5%,100Mi)"
    ),
    "evictionHardGracePeriod: -1": "f:1:26: evictionHardGracePeriod: must not be negative",
    "settleSeconds: -0.5": "f:1:16: settleSeconds: must not be negative",
    "evictionPressureTransitionPeriod: 90": (
        "f:1:35: evictionPressureTransitionPeriod: '90' is no duration; did you mean 90s?"
    ),
    "evictionPressureTransitionPeriod: -5s": (
        "f:1:35: evictionPressureTransitionPeriod: must not be negative"
    ),
    "evictionHard: {memory.available: 1K}": (
        "f:1:34: evictionHard.memory.available: '1K' is no quantity; did you mean 1Ki?"
    ),
    "evictionHard: {memory.available: 500mb}": (
        "f:1:34: evictionHard.memory.available: '500mb' is no quantity; did you mean 500M?"
    ),
    "evictionHard: {memory.available: much}": (
        "f:1:34: evictionHard.memory.available: 'much' is no quantity; "
        "one is written like 500Mi or 2G"
    ),
    "evictionHard: {memory.available: off}": (
        "f:1:34: evictionHard.memory.available: 'off' is no quantity; 0% switches the signal off"
    ),
    "evictionHard: {memory.available: {enabled: false}}": (
        "f:1:34: evictionHard.memory.available: keys with values where one value should be; "
        "0% switches the signal off"
    ),
    "evictionMinimumReclaim: {memory.available: {enabled: false}}": (
        "f:1:44: evictionMinimumReclaim.memory.available: keys with values where one value "
        "should be"
    ),
    "evictionHard: {memory.available: 101%}": (
        "f:1:34: evictionHard.memory.available: '101%' is more than all there is; "
        "a percentage is of the capacity"
    ),
    "evictionHard: {memory.available: five%}": (
        "f:1:34: evictionHard.memory.available: 'five%' is no percentage; one is written like 10%"
    ),
    "evictionHard: {memory.available: -5%}": (
        "f:1:34: evictionHard.memory.available: '-5%' must not be negative"
    ),
    "evictionMinimumReclaim: {memory.available: 0%}": (
        "f:1:44: evictionMinimumReclaim.memory.available: '0%' must be greater than 0%"
    ),
    "evictionSoftGracePeriod: {memory.available: 30mins}": (
        "f:1:45: evictionSoftGracePeriod.memory.available: '30mins' is no duration; "
        "one is written like 1m30s"
    ),
}


def complaint(text: str) -> str:
    """All that the loader says against a text."""
    with pytest.raises(ConfigurationError) as caught:
        load_text(text, "f")
    return str(caught.value)


def warnings(text: str) -> list[str]:
    """What the loader finds odd in a text that it takes."""
    return [str(warning) for warning in load_text(text, "f").warnings]


@pytest.mark.parametrize(("text", "expected"), ERRORS.items(), ids=list(ERRORS))
def test_a_mistake_is_named_with_its_place_and_what_was_meant(text: str, expected: str) -> None:
    assert complaint(text) == expected


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = "modus: act\nevictionSoft: {memory.available: -1%}\nsettleSeconds: soon\n"
    assert complaint(text).splitlines() == [
        "f:1:1: modus: is no key here; did you mean mode?",
        "f:2:34: evictionSoft.memory.available: '-1%' must not be negative",
        "f:3:16: settleSeconds: 'soon' is not a number",
    ]


def test_a_neighbour_without_its_name_hides_no_mistake() -> None:
    text = "budgets:\n- {name: a}\n- {minAvailable: x}\nresponders:\n- {webhook: ftp://a}\n"
    both = "needs either minAvailable or maxUnavailable, and not both"
    assert complaint(text).splitlines() == [
        f"f:2:3: budgets[0]: {both}",
        "f:3:3: budgets[1].name: is missing",
        "f:3:18: budgets[1].minAvailable: 'x' is neither a number up to 10000 nor a percentage",
        "f:5:3: responders[0].name: is missing",
        "f:5:13: responders[0].webhook: begins with neither http:// nor https://",
    ]


def test_what_only_follows_from_a_mistake_is_not_told_beside_it() -> None:
    """A misspelt line leaves no empty section, and a command that is no list is a command."""
    text = (
        "evictionHard: {memory.avalable: 1Gi}\n"
        "reclaim: {truncateLogs: {enabled: yes, above: 1Gi}}\n"
        "responders: [{name: acme.io/drain, command: save}]\n"
    )
    with pytest.raises(ConfigurationError) as refusal:
        load_text(text, "f")
    assert [str(problem.path[-1]) for problem in refusal.value.problems] == [
        "memory.avalable",
        "enabled",
        "command",
    ]
    assert not refusal.value.warnings


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        load(tmp_path / "absent.yaml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "picture.yaml").write_bytes(b"mode: \xff\xfe")
    with pytest.raises(InputError, match=r"is not UTF-8 \(byte 6\)"):
        load(tmp_path / "picture.yaml")


def test_a_huge_file_is_refused() -> None:
    assert complaint("#" * (1 << 20) + "\n") == (
        "f: larger than 1048576 bytes; is this the right file?"
    )


def test_aliases_cannot_make_a_short_text_endless() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)
    ]
    assert "nested too deeply or repeated too often" in complaint("\n".join(lines))


def test_a_secret_that_cannot_be_read_is_the_machine_s_fault(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="environment EVICTD_BROKERPASSWORD_FILE: cannot read"):
        load_text("", "f", variables={"EVICTD_BROKERPASSWORD_FILE": str(tmp_path / "no")})


NO_GRACE = "has no grace; evictionSoftGracePeriod needs one for each soft signal"
MISPLACED = "is a signal; did you mean evictionHard?"
FOR_EVER = (
    "100Mi is 104857600 inodes, which hardly any machine has: the line would be met for ever; "
    "did you mean 5%?"
)
KEEPS = "mergeDefaultEvictionSettings: true keeps them"

REAL_FILES = {
    "kubelet-misindented-disk-signals.yaml": f"""\
error 8:1: nodefs.available: nodefs.available {MISPLACED}
error 9:1: nodefs.inodesFree: nodefs.inodesFree {MISPLACED}
error 10:1: imagefs.available: imagefs.available {MISPLACED}
odd 6:1: evictionHard: switches off the default nodefs.available 10%, nodefs.inodesFree 5%, \
imagefs.available 15%, imagefs.inodesFree 5%; {KEEPS}""",
    "kubelet-flags-soft-without-grace.txt": f"""\
error 2:56: evictionSoft.nodefs.available: {NO_GRACE}
error 2:78: evictionSoft.imagefs.available: {NO_GRACE}
error 2:100: evictionSoft.nodefs.inodesFree: {NO_GRACE}
odd 1:1: evictionHard: switches off the default imagefs.inodesFree 5%; {KEEPS}
odd 2:56: evictionSoft.nodefs.available: 50% is the share left free: this acts when only 50% is \
in use
odd 2:78: evictionSoft.imagefs.available: 50% is the share left free: this acts when only 50% is \
in use""",
    "kubelet-soft-means-free-not-used.yaml": f"""\
error 7:22: evictionSoft.imagefs.available: {NO_GRACE}
error 8:21: evictionSoft.memory.available: {NO_GRACE}
error 9:21: evictionSoft.nodefs.available: {NO_GRACE}
error 10:22: evictionSoft.nodefs.inodesFree: {NO_GRACE}
odd 1:1: evictionHard: switches off the default psi.memory.full.avg10 60%, pid.available 5%; \
{KEEPS}
odd 7:22: evictionSoft.imagefs.available: 70% is the share left free: this acts when only 30% is \
in use
odd 9:21: evictionSoft.nodefs.available: 70% is the share left free: this acts when only 30% is \
in use
odd 10:22: evictionSoft.nodefs.inodesFree: 5% is not above the hard line 5%, which acts first""",
    "kubelet-flags-missing-percent-sign.txt": """\
odd 2:1: evictionSoft: evictionMaxPodGracePeriod is 0, so that a soft eviction too leaves a \
workload 1 s
odd 2:122: evictionSoft.imagefs.inodesFree: is 14 inodes; did you mean 14%?
odd 4:122: evictionHard.imagefs.inodesFree: is 10 inodes; did you mean 10%?""",
    "kubelet-inodes-as-bytes.yaml": f"""\
odd 5:23: evictionHard.nodefs.inodesFree: {FOR_EVER}
odd 7:24: evictionHard.imagefs.inodesFree: {FOR_EVER}""",
    "kubelet-only-memory-set.yaml": f"""\
odd 1:1: evictionHard: switches off the default psi.memory.full.avg10 60%, \
nodefs.available min(10%,20Gi), nodefs.inodesFree 5%, pid.available 5%; {KEEPS}""",
    "kubelet-transition-zero.yaml": """\
odd 13:5: evictionSoft: evictionMaxPodGracePeriod is 0, so that a soft eviction too leaves a \
workload 1 s
odd 25:39: evictionPressureTransitionPeriod: 0s counts as 5m0s, as in the kubelet""",
}


@pytest.mark.parametrize("name", REAL_FILES)
def test_a_file_from_the_field_gets_the_answer_its_owner_needed(name: str) -> None:
    assert answer(name) == REAL_FILES[name]


def answer(name: str, *, kubelet: bool = False) -> str:
    """All that is said of a file from the field, one line each."""
    text = (FIXTURES / name).read_text()
    try:
        loaded = load_text(text, name, kubelet=kubelet)
    except ConfigurationError as error:
        lines = [f"error {problem}" for problem in error.problems]
        odd = error.warnings
    else:
        lines, odd = [], loaded.warnings
    lines += [f"odd {warning}" for warning in odd]
    return "\n".join(lines).replace(f"{name}:", "")


def test_every_kubelet_file_from_the_field_is_covered() -> None:
    assert {path.name for path in FIXTURES.glob("kubelet-*")} == set(REAL_FILES)


AS_A_KUBELET = {
    "kubelet-only-memory-set.yaml": f"""\
odd 1:1: evictionHard: switches off the default nodefs.available 10%, nodefs.inodesFree 5%, \
imagefs.available 15%, imagefs.inodesFree 5%; {KEEPS}""",
    "kubelet-soft-means-free-not-used.yaml": REAL_FILES[
        "kubelet-soft-means-free-not-used.yaml"
    ].replace("psi.memory.full.avg10 60%, pid.available 5%", "imagefs.inodesFree 5%"),
}
"""Files that do not say whose they are."""


@pytest.mark.parametrize("name", AS_A_KUBELET)
def test_a_kubelet_file_without_its_type_line_is_one_where_that_is_said(name: str) -> None:
    assert answer(name, kubelet=True) == AS_A_KUBELET[name]


def test_an_empty_map_says_that_everything_is_off() -> None:
    assert warnings("evictionHard: {}") == ["f:1:1: evictionHard: is empty: every hard line is off"]


def test_a_hundred_per_cent_does_not_mean_always() -> None:
    assert "f:2:21: evictionHard.nodefs.available: 100% switches the signal off; " in "".join(
        warnings("evictionHard:\n  nodefs.available: 100%")
    )


def test_a_thousandth_of_a_byte_was_meant_to_be_mebibytes() -> None:
    text = "mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 500m}"
    assert warnings(text) == [
        "f:2:34: evictionHard.memory.available: m is a thousandth; did you mean 500Mi?"
    ]


def test_a_grace_without_a_line_does_nothing() -> None:
    (warning,) = warnings("evictionSoftGracePeriod: {memory.available: 30s}")
    assert warning.endswith("memory.available: belongs to no line of evictionSoft and does nothing")


def test_a_variable_of_ours_that_is_no_key_is_told() -> None:
    loaded = load_text("", "f", variables={"EVICTD_MODUS": "act", "PATH": "/bin"})
    assert [str(warning) for warning in loaded.warnings] == [
        "environment EVICTD_MODUS: is no key; did you mean EVICTD_MODE?"
    ]
