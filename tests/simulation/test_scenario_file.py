"""Everything that is wrong in a scenario is told at once, each with its place."""

from pathlib import Path
from textwrap import dedent

import pytest

from evictd.core.errors import InputError
from evictd.shell.configuration import ConfigurationError
from evictd.simulation.chronicle import Turn
from evictd.simulation.scenario import Scenario
from evictd.simulation.scenario_file import load_scenario, scenario_of_text
from evictd.simulation.story import play

CALM = "steps: [{signals: {memory.available: 3Gi of 4Gi}}]\n"


def read(text: str, folder: Path = Path()) -> Scenario:
    return scenario_of_text(dedent(text), "s.yaml", folder)


def told(text: str, folder: Path = Path()) -> list[str]:
    """What reading says is wrong."""
    with pytest.raises(ConfigurationError) as caught:
        read(text, folder)
    return str(caught.value).splitlines()


def played(text: str, folder: Path = Path()) -> tuple[Turn, ...]:
    return play(read(text, folder))


def test_all_that_is_wrong_is_told_at_once() -> None:
    assert told("""\
        titel: x
        evictionHard: {memory.available: 1Gi}
        configuration:
          profile: kubelt
          evictionHard: {memory.available: 1GB}
        pods:
          - {name: web, uses: 512MB, prio: 3}
          - {uses: 1Gi}
        steps:
          - {signals: {memory.available: 1Gi}, after: soon}
          - {proc: {meminfo: "MemTotal: 1 kB"}}
          - {summaryFile: nothing.json, observation: {signals: {}}}
          - pods: [{name: a, startTime: yesterday}]
        """) == [
        "s.yaml:1:1: titel: is no key here; did you mean title?",
        ("s.yaml:2:1: evictionHard: is a key of the configuration;"
        " did you mean configuration.evictionHard?"),
        "s.yaml:4:12: profile: 'kubelt' is none of host, kubelet; did you mean kubelet?",
        "s.yaml:5:36: evictionHard.memory.available: '1GB' is no quantity; did you mean 1G?",
        "s.yaml:7:23: pods[0].uses.memory: '512MB' is no amount; did you mean 512M?",
        "s.yaml:7:30: pods[0].prio: is no key here; did you mean priority?",
        "s.yaml:8:5: pods[1].name: is missing",
        ("s.yaml:10:16: steps[0].signals.memory.available:"
        " has no capacity; write `1Gi of 4Gi`, or give `capacities`"),
        "s.yaml:10:47: steps[0].after: 'soon' is no duration such as 10 or 1m30s",
        "s.yaml:11:6: steps[1].proc: meminfo: MemFree is missing",
        ("s.yaml:12:19: steps[2].summaryFile: nothing.json: cannot be read:"
        " No such file or directory"),
        "s.yaml:12:33: steps[2].observation: summaryFile is given already; one source a step",
        ("s.yaml:13:33: steps[3].pods[0].startTime: 'yesterday' is no time;"
        " one is written like 2026-11-30T08:00:00Z"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("title: x\n", "s.yaml:1:1: steps: is missing"),
        ("steps: 3\n", ("s.yaml:1:8: steps: one value where a list should be; "
                        "one is written like [a, b]")),
        ("[]\n", "s.yaml:1:1: a list where keys with values should be"),
        ("configuration: absent.yaml\n" + CALM,
         "s.yaml:1:16: configuration: absent.yaml: cannot be read: No such file or directory"),
        ("steps: [{signals: {memory.available: much of 4Gi}}]\n",
         "s.yaml:1:20: steps[0].signals.memory.available: 'much' is no amount such as 512Mi"),
        ("steps: [{proc: {../secret: x}}]\n",
         "s.yaml:1:10: steps[0].proc: '../secret' is no file below /proc"),
        ("steps: [{summary: {node: {memory: {workingSetBytes: x}}}}]\n",
         ("s.yaml:1:53: steps[0].summary.node.memory.workingSetBytes: 'x' is no amount;"
         " one is written like 500Mi or 2G")),
        ("node: a/b\n" + CALM,
         "s.yaml:1:7: node: 'a/b' cannot be a level of a topic: it holds one of / + #"),
        ("steps: [{times: 100001}]\n", "s.yaml:1:1: steps: more than 100000 steps"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_place(text: str, line: str) -> None:
    assert told(text) == [line]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("steps: [{gone: [nobody]}]\n", "s.yaml:1:9: gone: there is no pod 'nobody'"),
        ("steps: [{pods: [{name: a, uid: b}]}]\n",
         "s.yaml:1:9: pods[0].uid: 'b' is no lower-case UUID"),
        ("steps: [{pods: [{name: a/b}]}]\n",
         "s.yaml:1:9: pods[0].name: 'a/b': it holds one of / + #"),
    ],
)  # fmt: skip
def test_an_observation_that_nobody_would_take_is_told_at_its_step(text: str, line: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        played(text)
    assert str(caught.value) == line


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent.yaml: cannot be read: No such file"):
        load_scenario(tmp_path / "absent.yaml")


def test_short_forms_say_the_same_as_long_ones() -> None:
    short = read("""\
        capacities: {memory.available: 4Gi}
        pods: [{name: web, uses: 512Mi, asks: 1Gi}]
        steps: [{signals: {memory.available: 25%}, after: 1m30s}]
        """)
    long = read("""\
        pods: [{name: web, uses: {memory: 536870912}, asks: {memory: 1073741824}}]
        steps:
          - {signals: {memory.available: {available: 1073741824, capacity: 4294967296}}, after: 90}
        """)
    assert short.pods == long.pods
    assert short.steps[0].figures == long.steps[0].figures
    assert short.steps[0].after_seconds == long.steps[0].after_seconds == 90


def test_a_configuration_may_be_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "evictd.yaml").write_text("mode: act\nnode: edge-7\n")
    rules = read("configuration: evictd.yaml\n" + CALM, tmp_path).rules
    assert (rules.node, rules.mode) == ("edge-7", "act")


def test_a_scenario_may_be_about_one_of_the_nodes() -> None:
    configuration = "configuration: {nodes: [{match: demo-*, mode: act}]}\n"
    assert read(configuration + CALM).rules.mode == "observe"
    rules = read("node: demo-1\n" + configuration + CALM).rules
    assert (rules.node, rules.mode) == ("demo-1", "act")


def test_documents_may_be_files_of_their_own(tmp_path: Path) -> None:
    """A Summary, an observation as it was published, and a folder of /proc files."""
    (tmp_path / "summary.json").write_text(
        '{"node": {"fs": {"availableBytes": 5, "capacityBytes": 100, "odd": null}}, "pods": []}'
    )
    (tmp_path / "observation.json").write_text(
        '{"node": "x", "time": "2026-11-30T08:00:00Z", "sequence": 3,'
        ' "signals": {"pid.available": {"available": 7, "capacity": 100}},'
        ' "pods": [{"namespace": "shop", "name": "web",'
        ' "uid": "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"}]}'
    )
    (tmp_path / "proc/pressure").mkdir(parents=True)
    (tmp_path / "proc/pressure/memory").write_text("some avg10=2.50 avg60=0 avg300=0 total=0\n")
    turns = played("""\
        configuration: {mode: act, candidates: all}
        steps:
          - summaryFile: summary.json
          - {after: 10, observationFile: observation.json}
          - {after: 10, procFolder: proc}
        """, tmp_path)  # fmt: skip
    assert [turn.signals for turn in turns] == [
        {"nodefs.available": 5},
        {"pid.available": 7},
        {"psi.memory.some.avg10": 97.5},
    ]


def test_pods_stand_until_a_step_changes_them() -> None:
    scenario = read("""\
        configuration: {profile: kubelet, evictionHard: {memory.available: 1Gi}}
        capacities: {memory.available: 4Gi}
        pods: [{name: a, uses: 1Gi, asks: 100Mi}, {name: b, uses: 2Gi, asks: 3Gi}]
        steps:
          - {signals: {memory.available: 500Mi}}
          - {after: 10, pods: [{name: b, asks: 1Gi}, {name: c, uses: {}}]}
          - {after: 10, gone: [a]}
        """)
    orders = [
        [row.pod.name for row in turn.decision.ranking]
        for turn in play(scenario)
        if turn.decision is not None
    ]
    assert orders == [["a", "b"], ["c", "b", "a"], ["c", "b"]]


def test_who_is_gone_comes_back_as_another_life() -> None:
    turns = played("""\
        configuration: {profile: kubelet, evictionHard: {memory.available: 1Gi}}
        capacities: {memory.available: 4Gi}
        pods: [{name: a, uses: 1Gi}]
        steps:
          - {signals: {memory.available: 500Mi}}
          - {after: 10, gone: [default/a]}
          - {after: 10, pods: [{name: a, uses: 1Gi}]}
        """)
    uids = [row.pod.uid for turn in turns if turn.decision for row in turn.decision.ranking]
    assert len(set(uids)) == len(uids) == 2


def test_workloads_of_the_configuration_hold_for_the_pods() -> None:
    turns = played("""\
        configuration:
          mode: act
          evictionHard: {memory.available: 1Gi}
          workloads: {db: {priority: 9}, "shop/*": {protect: true}}
        capacities: {memory.available: 4Gi}
        pods: [{name: db, uses: 1Gi}, {name: other, uses: 1Gi}, {namespace: shop, name: x}]
        steps: [{signals: {memory.available: 2Gi}}, {after: 10, signals: {memory.available: 1}}]
        """)
    decision = turns[-1].decision
    assert decision is not None
    assert {row.pod.name: (row.verdict, row.priority) for row in decision.ranking} == {
        "other": ("Protected", 0),
        "x": ("Protected", 0),
        "db": ("Victim", 9),
    }


def test_a_reclaim_that_nobody_answers_is_not_waited_for_for_ever() -> None:
    turns = played("""\
        configuration: {profile: kubelet, mode: act, evictionHard: {nodefs.available: 10%}}
        capacities: {nodefs.available: 100Gi}
        pods: [{name: web, uses: {layer: 1Gi}}]
        steps:
          - {signals: {nodefs.available: 5Gi}, reclaim: {silent: true}}
          - {after: 10}
          - {after: 60}
        """)
    actions = [(turn.seconds, turn.decision.action) for turn in turns if turn.decision]
    assert actions[:2] == [(0, "Reclaim"), (60, "Evict")]


def test_a_repeated_step_is_played_as_often() -> None:
    turns = played("steps: [{signals: {memory.available: 3Gi of 4Gi}, after: 10, times: 3}]\n")
    assert [turn.seconds for turn in turns] == [10, 20, 30]
