"""What those who run on a machine amount to: killers, healers, a second evictd, protection."""

import pytest

from evictd.cli.checkup import containers, killers, protection, rules
from evictd.cli.checkup.containers import OnBus, Twin
from evictd.cli.checkup.findings import Finding, State
from evictd.cli.checkup.killers import Killer, OurLines
from evictd.cli.checkup.protection import Guarded, GuardFacts
from evictd.cli.checkup.rules import RuleFacts
from evictd.runtimes.docker.labels import KNOWN
from evictd.runtimes.docker.rights import Being, Container, Settings, Sight

OURS = OurLines(memory_percent=5.0, memory_total_mib=8192.0, stall_percent=40.0)
NOHANG = "## a comment = 1\nsoft_threshold_min_mem = {} \nhard_threshold_min_mem = 2 %\n"
KUBELET_HARD = "--eviction-hard=memory.available<"


@pytest.mark.parametrize(
    ("killer", "state", "words"),
    [
        (Killer(name="earlyoom"), State.PROBLEM, "at 10% of memory left, evictd at 5%"),
        (Killer(name="earlyoom", arguments=("-m", "3,1", "-s", "5")), State.OK, "at 3%"),
        (Killer(name="earlyoom", arguments=("-m4", "-r", "60")), State.OK, "at 4%"),
        (Killer(name="earlyoom", arguments=("-M", "102400,51200")), State.OK, "at 1.2%"),
        (Killer(name="earlyoom", arguments=("-M", "1048576")), State.PROBLEM, "at 12.5%"),
        (Killer(name="earlyoom", arguments=("-m", "20", "-M", "102400")), State.OK, "at 1.2%"),
        (Killer(name="nohang"), State.PROBLEM, "at 5% of memory left"),
        (Killer(name="nohang", configuration=NOHANG.format("4 %")), State.OK, "at 4%"),
        (Killer(name="nohang", configuration=NOHANG.format("8 %")), State.PROBLEM, "at 8%"),
        (Killer(name="nohang", configuration=NOHANG.format("300 M")), State.OK, "at 3.7%"),
        (Killer(name="systemd-oomd"), State.OK, "at 60% of stalls for 30s"),
        (
            Killer(
                name="systemd-oomd",
                configuration="[OOM]\n#SwapUsedLimit=90%\nDefaultMemoryPressureLimit=10%\n"
                "DefaultMemoryPressureDurationSec=10s\n",
            ),
            State.PROBLEM,
            "at 10% of stalls for 10s",
        ),
        (Killer(name="psi-monitor"), State.OK, "at 40% of stalls"),
        (Killer(name="kubelet"), State.OK, "at 1.2% of memory left"),
        (
            Killer(name="kubelet", configuration="evictionHard:\n  memory.available: 10%\n"),
            State.NOTE,
            "at 10% of memory left",
        ),
        (
            Killer(
                name="k3s-server",
                arguments=("--kubelet-arg=eviction-hard=memory.available<1Gi,nodefs.available<5%",),
            ),
            State.NOTE,
            "at 12.5% of memory left",
        ),
        (Killer(name="kubelet", arguments=(KUBELET_HARD + "1G",)), State.NOTE, "at 11.6%"),
        (Killer(name="kubelet", arguments=(KUBELET_HARD + "1073741824",)), State.NOTE, "at 12.5%"),
        (Killer(name="kubelet", arguments=(KUBELET_HARD + "0%",)), State.OK, "at 0%"),
        (Killer(name="kubelet", arguments=(KUBELET_HARD + "much",)), State.NOTE, "is running"),
        (Killer(name="oomd", configuration='{"rulesets": []}'), State.NOTE, "of its own"),
        (Killer(name="low-memory-monitor"), State.NOTE, "is running"),
        (Killer(name="lmkd"), State.NOTE, "is running"),
    ],
)
def test_a_killer_whose_line_comes_before_ours_is_a_problem(
    killer: Killer, state: State, words: str
) -> None:
    (only,) = killers.findings((killer,), OURS)
    assert (only.check, only.state) == (f"killer {killer.name}", state)
    assert words in only.text
    assert state is State.OK or only.remedy


@pytest.mark.parametrize(
    ("configuration", "state", "words"),
    [
        ("", State.PROBLEM, "at 10% of memory left and as little swap, in a marked unit"),
        ("[OOM]\nSwapUsedLimit=97%\n", State.OK, "at 3% of memory left"),
    ],
)
def test_systemd_oomd_has_a_line_for_memory_and_swap_together_too(
    configuration: str, state: State, words: str
) -> None:
    """Where there is swap: it counts what is used, we what is left."""
    killer = Killer(name="systemd-oomd", configuration=configuration)
    with_swap = OurLines(memory_percent=5.0, stall_percent=40.0, swap=True)
    _, swap = killers.findings((killer,), with_swap)
    assert (swap.check, swap.state) == ("killer systemd-oomd", state)
    assert words in swap.text
    assert len([*killers.findings((killer,), OURS)]) == 1


@pytest.mark.parametrize("name", ["earlyoom", "systemd-oomd"])
def test_a_killer_beside_no_line_of_ours_decides_alone(name: str) -> None:
    (only,) = killers.findings((Killer(name=name),), OurLines())
    assert only.state is State.NOTE
    assert "decides alone" in only.means


def test_a_machine_without_other_killers_is_in_order() -> None:
    assert [one.state for one in killers.findings((), OURS)] == [State.OK]


def container(
    name: str = "/shop-web-1",
    image: str = "web:1",
    *variables: str,
    command: tuple[str, ...] = (),
    project: str | None = None,
) -> Container:
    """One that runs."""
    labels = {} if project is None else {"com.docker.compose.project": project}
    settings = Settings(image=image, env=variables, cmd=command, labels=labels)
    return Container(id=name, name=name, state=Being(running=True), config=settings)


def sight(*every: Container) -> Sight:
    return Sight(containers=every)


@pytest.mark.parametrize(
    ("variable", "label"),
    [
        ("EVICTD_PRIORITY=high", "evictd.priority"),
        ("evictd.protect=true", "evictd.protect"),
        ("EVICTD_DEPENDS_ON=db", "evictd.depends-on"),
        ("Evictd.Restore=auto", "evictd.restore"),
    ],
)
def test_a_label_that_was_given_as_a_variable_is_a_problem(variable: str, label: str) -> None:
    (only,) = containers.label_findings(sight(container("/c", "web:1", variable, "PATH=/")), ())
    assert only.state is State.PROBLEM
    assert variable.partition("=")[0] in only.text
    assert f"--label {label}=" in only.remedy


def test_variables_of_evictd_itself_and_of_others_are_no_labels() -> None:
    every = sight(
        container("/evictd-1", "evictd:local", "EVICTD_RESTORE=auto"),
        container("/web-1", "web:1", "PRIORITY=1", "EVICTD_URL=http://gateway"),
    )
    assert [one.state for one in containers.label_findings(every, ())] == [State.OK]


def test_what_the_runtime_says_of_labels_is_a_problem() -> None:
    told = "shop/web: label evictd.prioity is not known; is evictd.priority meant?"
    (only,) = containers.label_findings(sight(container()), (told,))
    assert (only.state, only.text) == (State.PROBLEM, told)


def test_every_label_has_its_variable() -> None:
    for name in KNOWN:
        wrong = name.upper().replace(".", "_").replace("-", "_") + "=1"
        (only,) = containers.label_findings(sight(container("/c", "web:1", wrong)), ())
        assert name in only.remedy


@pytest.mark.parametrize(
    ("image", "variables", "state"),
    [
        ("willfarrell/autoheal:1.2.0", (), State.NOTE),
        ("containrrr/watchtower", (), State.NOTE),
        ("containrrr/watchtower", ("WATCHTOWER_REVIVE_STOPPED=true",), State.PROBLEM),
        ("containrrr/watchtower", ("WATCHTOWER_REVIVE_STOPPED=false",), State.NOTE),
        ("pyouroboros/ouroboros", (), State.NOTE),
    ],
)
def test_who_may_undo_what_evictd_does_is_named(
    image: str, variables: tuple[str, ...], state: State
) -> None:
    (only,) = containers.healer_findings(sight(container("/healer", image, *variables)))
    assert only.state is state
    assert "healer" in only.text


def test_ordinary_containers_heal_nobody() -> None:
    assert [*containers.healer_findings(sight(container()))] == []


def responder(name: str, project: str) -> Container:
    return container(name, "evictd:local", command=("run", "responder"), project=project)


@pytest.mark.parametrize(
    ("every", "twins", "state"),
    [
        (sight(), (), State.OK),
        (sight(responder("/a-responder-1", "a")), (), State.OK),
        (sight(), (Twin(pid=7),), State.OK),
        (
            sight(responder("/a-responder-1", "a")),
            (Twin(pid=7, container="a" * 64),),
            State.OK,
        ),
        (sight(responder("/a-responder-1", "a"), responder("/b-1", "b")), (), State.PROBLEM),
        (sight(responder("/a-responder-1", "a")), (Twin(pid=7),), State.PROBLEM),
        (sight(), (Twin(pid=7, state_folder="/a"), Twin(pid=8, state_folder="/b")), State.PROBLEM),
        (sight(container("/g", "evictd:local", command=("run", "gateway"))), (), State.OK),
    ],
)
def test_two_that_stop_workloads_of_one_engine_are_a_problem(
    every: Sight, twins: tuple[Twin, ...], state: State
) -> None:
    (only,) = containers.twin_findings(every, twins)
    assert only.state is state


@pytest.mark.parametrize(
    ("every", "words"),
    [
        ([], []),
        ([OnBus(node="edge-7", worker="all", machine="m1")], []),
        ([OnBus(node="edge-8", worker="all", machine="m2")], []),
        ([OnBus(node="old-name", worker="all", machine="m1")], ["as edge-7 and as old-name"]),
        ([OnBus(node="edge-7", worker="all", machine="m2")], ["served from another machine"]),
        ([OnBus(node="edge-7", worker="all", machine="")], []),
    ],
)
def test_one_machine_has_one_name_on_the_bus(every: list[OnBus], words: list[str]) -> None:
    found = [*containers.bus_findings("edge-7", "m1", every)]
    problems = [one.text for one in found if one.state is State.PROBLEM]
    assert len(problems) == len(words)
    assert all(word in text for word, text in zip(words, problems, strict=True))


def guard(*processes: Guarded, swap_total: int = 0, acts: bool = True) -> list[Finding]:
    facts = GuardFacts(processes=processes, swap_total=swap_total, acts=acts)
    return [*protection.findings(facts)]


@pytest.mark.parametrize(
    ("process", "state"),
    [
        (Guarded(part="evictd", pid=7, oom_score_adj=-900), State.OK),
        (Guarded(part="evictd", pid=7, oom_score_adj=0), State.PROBLEM),
        (Guarded(part="evictd", pid=7), State.NOTE),
        (Guarded(part="broker", pid=8, oom_score_adj=0), State.NOTE),
        (Guarded(part="engine", pid=9, oom_score_adj=-500), State.OK),
    ],
)
def test_who_the_kernel_may_kill_first_is_told(process: Guarded, state: State) -> None:
    found = next(one for one in guard(process) if one.check == f"protection of {process.part}")
    assert found.state is state


def test_processes_of_one_part_and_score_are_one_line() -> None:
    workers = [Guarded(part="evictd", pid=pid, oom_score_adj=0) for pid in (7, 8)]
    found = guard(*workers, Guarded(part="evictd", pid=9, oom_score_adj=-900))
    assert [one.text for one in found] == [
        "processes 7, 8: oom_score_adj is 0",
        "process 9: oom_score_adj is -900",
    ]


def test_of_many_processes_some_are_named_and_the_rest_is_counted() -> None:
    found = guard(*(Guarded(part="broker", pid=pid, oom_score_adj=0) for pid in range(1, 14)))
    (told,) = (one.text for one in found if one.check == "protection of broker")
    assert told == "processes 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more: oom_score_adj is 0"


def test_an_evictd_that_only_watches_may_be_killed_with_less_harm() -> None:
    (only,) = guard(Guarded(part="evictd", pid=7, oom_score_adj=0), acts=False)
    assert only.state is State.NOTE


def test_an_evictd_that_does_not_run_is_a_note() -> None:
    assert [(one.state, one.check) for one in guard()] == [(State.NOTE, "protection of evictd")]


def test_evictd_may_be_swapped_out_only_where_there_is_swap() -> None:
    bare = Guarded(part="evictd", pid=7, oom_score_adj=-900, swapped_kib=4096)
    kept = Guarded(part="evictd", pid=7, oom_score_adj=-900, reserved_bytes=128 << 20)
    assert [one.state for one in guard(bare)] == [State.OK]
    assert guard(bare, swap_total=1 << 30)[1].text == (
        "process 7 may be swapped out, 4 MiB of it is now"
    )
    assert [one.state for one in guard(kept, swap_total=1 << 30)] == [State.OK, State.OK]


@pytest.mark.parametrize(
    ("facts", "checks"),
    [
        (RuleFacts(mode="act", lines=8), ["ok configuration", "ok mode"]),
        (RuleFacts(lines=8), ["ok configuration", "note mode"]),
        (RuleFacts(errors=("evictd.yaml:3:1: no",), lines=8), ["problem configuration"]),
        (
            RuleFacts(mode="act", lines=8, warnings=("too high",)),
            ["ok configuration", "note configuration", "ok mode"],
        ),
        (RuleFacts(mode="act"), ["ok configuration", "ok mode", "problem lines"]),
        (
            RuleFacts(mode="act", lines=8, failures={"memory": "no such file"}),
            ["ok configuration", "ok mode", "problem sources"],
        ),
    ],
)
def test_a_configuration_is_judged_by_what_it_amounts_to(
    facts: RuleFacts, checks: list[str]
) -> None:
    assert [f"{one.state} {one.check}" for one in rules.findings(facts)] == checks
