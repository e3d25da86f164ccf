"""systemd asked and told through `systemctl`: a real child process with recorded answers."""

from pathlib import Path

import anyio
import pytest
from tests.contract.runtime_contract import killed_after
from tests.contract.systemd_double import SystemdDouble
from tests.waiting import until

from evictd.core.duty import StartResult, StopOutcome, StopResult
from evictd.core.errors import HostError, PeerError
from evictd.runtimes.systemd import Manager, Systemctl, ending, manager, never, systemctl
from evictd.runtimes.systemd.systemctl import environment
from evictd.runtimes.systemd.unit import name_problem, span_seconds, units
from evictd.runtimes.systemd.whole import Whole

FIXTURES = Path(__file__).parents[1] / "fixtures" / "systemd"


@pytest.fixture
def machine(tmp_path: Path) -> SystemdDouble:
    return SystemdDouble(tmp_path)


async def test_systemd_is_there_only_where_it_manages_the_machine_and_answers(
    machine: SystemdDouble,
) -> None:
    assert await machine.manager.available()
    assert not await Manager(machine.systemctl, machine.root).available()
    assert not await Manager(Systemctl("/no/such/program"), machine.run_path).available()
    await machine.say("refuse", "Failed to connect to bus: Host is down\n")
    assert not await machine.manager.available()


async def test_many_units_and_patterns_are_shown_in_one_call(machine: SystemdDouble) -> None:
    for name in ("web.service", "batch-1.service", "batch-2.service"):
        await machine.unit(name)
    shown = await machine.manager.show(("web.service", "batch-*.service", "other.service"))
    assert [(unit.id, unit.load_state) for unit in shown] == [
        ("web.service", "loaded"),
        ("batch-1.service", "loaded"),
        ("batch-2.service", "loaded"),
        ("other.service", "not-found"),
    ]
    assert len(await machine.calls()) == 1


async def test_a_unit_is_stopped_and_its_end_confirmed(machine: SystemdDouble) -> None:
    await machine.unit("web.service", TriggeredBy="web.socket")
    outcome = await machine.manager.stop("web.service", None)
    why = "stopped by systemd; web.socket may start it again"
    assert outcome == StopOutcome(result=StopResult.GONE, why=why)
    assert await machine.state("web.service") == "inactive"
    assert [call.split()[0] for call in await machine.calls()] == ["show", "stop", "show"]


async def test_what_is_left_after_a_short_grace_is_killed(machine: SystemdDouble) -> None:
    await machine.unit("web.service", DEAF="yes")
    outcome = await machine.manager.stop("web.service", 1)
    assert outcome.result is StopResult.GONE
    assert outcome.why.startswith("stopped by systemd, ")
    assert killed_after(outcome, 1)
    assert "kill --signal=SIGKILL -- web.service" in await machine.calls()


async def test_systemd_hears_of_the_stop_before_anything_is_killed(
    machine: SystemdDouble,
) -> None:
    """What is only killed would be started again by `Restart=`."""
    await machine.unit("web.service", DEAF="yes")
    slow = anyio.Path(machine.root / "slow-stop")
    await slow.touch()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(machine.manager.stop, "web.service", 0)
        await until(lambda: looks_after_the_stop(machine, 3))
        assert "kill" not in await verbs(machine)
        await slow.unlink()
    assert "kill" in await verbs(machine)
    assert await machine.state("web.service") == "failed"


async def looks_after_the_stop(machine: SystemdDouble, count: int) -> bool:
    said = await verbs(machine)
    return "stop" in said and said[said.index("stop") :].count("show") >= count


async def verbs(machine: SystemdDouble) -> list[str]:
    return [call.split()[0] for call in await machine.calls()]


@pytest.mark.parametrize("name", ["ssh.service", "systemd-journald.service", "docker.service"])
async def test_what_must_never_be_stopped_is_refused_by_the_manager_too(
    machine: SystemdDouble, name: str
) -> None:
    await machine.unit(name)
    outcome = await machine.manager.stop(name, 0)
    assert outcome.result is StopResult.REFUSED
    assert outcome.why.startswith("it is protected: ")
    assert await machine.state(name) == "active"


async def test_an_alias_protects_as_much_as_a_name(machine: SystemdDouble) -> None:
    await machine.unit("net.service", Names="net.service dbus-org.example.network.service")
    outcome = await machine.manager.stop("net.service", 0)
    assert outcome.why == "it is protected: programs of this machine talk over it"


async def test_a_file_that_refuses_a_manual_stop_is_heeded(machine: SystemdDouble) -> None:
    await machine.unit("web.service", RefuseManualStop="yes")
    outcome = await machine.manager.stop("web.service", 0)
    assert outcome.result is StopResult.REFUSED
    assert "RefuseManualStop" in outcome.why


async def test_the_last_word_before_the_stop_is_the_askers(machine: SystemdDouble) -> None:
    await machine.unit("web.service")

    async def judge(whole: Whole) -> StopOutcome:
        return StopOutcome(result=StopResult.OTHER_UID, why=whole.unit.id)

    outcome = await machine.manager.stop("web.service", 0, judge)
    assert outcome == StopOutcome(result=StopResult.OTHER_UID, why="web.service")
    assert await machine.state("web.service") == "active"


@pytest.mark.parametrize("name", ["web*.service", "4711", "-.mount", "a b.service", "--now.mount"])
async def test_what_is_no_name_of_one_unit_reaches_no_program(
    machine: SystemdDouble, name: str
) -> None:
    assert (await machine.manager.stop(name, 0)).result is StopResult.NOT_FOUND
    assert (await machine.manager.start(name)).result is StartResult.NOT_FOUND
    assert await machine.calls() == []


async def test_a_unit_that_is_down_is_not_found_to_stop(machine: SystemdDouble) -> None:
    await machine.unit("done.service", ActiveState="inactive", SubState="dead")
    await machine.unit("once.service", SubState="exited")
    for name in ("done.service", "once.service", "never-made.service"):
        assert (await machine.manager.stop(name, 0)).result is StopResult.NOT_FOUND


async def test_a_stopped_unit_is_started_again(machine: SystemdDouble) -> None:
    await machine.unit("web.service")
    await machine.manager.stop("web.service", None)
    assert (await machine.manager.start("web.service")).result is StartResult.STARTED
    assert (await machine.manager.start("web.service")).result is StartResult.RUNNING


async def test_what_cannot_be_started_says_why(machine: SystemdDouble) -> None:
    await machine.unit("masked.service", LoadState="masked", ActiveState="inactive")
    await machine.unit("asked.service", RefuseManualStart="yes", ActiveState="inactive")
    await machine.unit("broken.service", FAILS="yes", ActiveState="failed")
    outcomes = {
        name: await machine.manager.start(f"{name}.service")
        for name in ("masked", "asked", "broken", "worker@7")
    }
    assert {name: (outcome.result, outcome.why) for name, outcome in outcomes.items()} == {
        "masked": (StartResult.REFUSED, "it is masked"),
        "asked": (StartResult.REFUSED, "its file forbids it"),
        "broken": (StartResult.FAILED, "Job for broken.service failed."),
        "worker@7": (StartResult.NOT_FOUND, "worker@7.service has no file any more"),
    }


async def test_a_program_that_hangs_is_killed_and_the_failure_told(
    machine: SystemdDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systemctl.Systemctl.run, "__kwdefaults__", {"seconds": 0.3})
    await machine.unit("web.service")
    await machine.say("hang")
    with anyio.fail_after(10):
        with pytest.raises(PeerError, match=r"systemctl show: no answer within 0\.3 s"):
            await machine.manager.show(("web.service",))
        outcome = await machine.manager.stop("web.service", 0)
        started = await machine.manager.start("web.service")
    assert (outcome.result, started.result) == (StopResult.FAILED, StartResult.FAILED)
    await machine.recover()
    assert await machine.state("web.service") == "active"


async def test_a_stop_that_never_ends_is_given_up_and_told(
    machine: SystemdDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a process that is stuck in the kernel."""
    monkeypatch.setattr(ending, "KILL_SECONDS", 0.5)
    await machine.unit("web.service", DEAF="immortal")
    outcome = await machine.manager.stop("web.service", 0)
    assert outcome.result is StopResult.FAILED
    assert outcome.why == "systemd says deactivating (stop-sigterm) of it after the stop"


async def test_a_start_that_takes_long_goes_on_without_us(
    machine: SystemdDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "START_SECONDS", 2.0)
    await machine.unit("slow.service", ActiveState="inactive", SubState="dead", FAILS="slow")
    outcome = await machine.manager.start("slow.service")
    assert outcome.result is StartResult.STARTED


async def test_a_refusal_of_systemd_is_told_in_its_own_words(machine: SystemdDouble) -> None:
    await machine.unit("web.service")
    await machine.say("refuse", "Failed to list units:\n Connection reset by peer\n")
    with pytest.raises(PeerError, match="Failed to list units:; Connection reset by peer"):
        await machine.manager.show(("web.service",))


async def test_garbage_is_no_unit(machine: SystemdDouble) -> None:
    await machine.unit("web.service")
    await machine.say("garbage", "Segmentation fault\n=\n\nId\n\n\x00=\x00\nNames=web.service\n")
    assert await machine.manager.show(("web.service",)) == ()
    assert (await machine.manager.stop("web.service", 0)).result is StopResult.NOT_FOUND


async def test_an_answer_without_end_is_given_up(
    machine: SystemdDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systemctl, "OUTPUT_BYTES_MAX", 1000)
    await machine.say("garbage", "x" * 2000)
    with pytest.raises(PeerError, match="more than 1000 bytes"):
        await machine.manager.show(("web.service",))


async def test_a_missing_program_is_the_machines_fault() -> None:
    with pytest.raises(HostError, match="no-such-program: cannot be run"):
        await Systemctl("no-such-program").run("show")


def test_the_child_is_told_only_what_finds_program_and_bus() -> None:
    told = environment({"PATH": "/bin", "EVICTD_BROKERPASSWORD": "secret", "LANG": "de"})
    assert told["PATH"] == "/bin"
    assert told["LC_ALL"] == "C"
    assert not {"EVICTD_BROKERPASSWORD", "LANG"} & set(told)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1min 30s", 90),
        ("500ms", 0.5),
        ("2h 1.5s", 7201.5),
        ("0", 0),
        ("infinity", None),
        ("", None),
        ("soon", None),
        ("5 s", None),
    ],
)
def test_spans_are_read_as_systemd_writes_them(text: str, seconds: float | None) -> None:
    assert span_seconds(text) == seconds


def test_figures_that_mean_none_are_none() -> None:
    shown = units(
        "Id=a.service\nMemoryMin=0\nMemoryLow=18446744073709551615\nMemoryMax=infinity\n"
        "MainPID=0\nActiveEnterTimestamp=\n\nId=b.service\nMemoryLow=1048576\nMainPID=77\n"
    )
    (first, second) = shown
    assert (first.memory_min_bytes, first.memory_low_bytes, first.memory_max_bytes) == (None,) * 3
    assert (first.main_process_id, first.active_since) == (None, None)
    assert (second.memory_low_bytes, second.main_process_id) == (1 << 20, 77)


def test_recorded_answers_of_systemd_257_are_read() -> None:
    """A scope, the bus, the root of all slices, users, a stranger, a socket."""
    shown = {unit.id: unit for unit in units((FIXTURES / "show-257.txt").read_text())}
    assert {name: unit.runs for name, unit in shown.items()} == {
        "job.scope": True,
        "dbus.service": True,
        "-.slice": True,
        "user.slice": True,
        "nope.service": False,
        "systemd-journald.socket": False,
    }
    scope, bus, root = shown["job.scope"], shown["dbus.service"], shown["-.slice"]
    assert (scope.is_transient, scope.stop_seconds, scope.main_process_id) == (True, 90, None)
    assert (bus.main_process_id, bus.control_group) == (242, "/system.slice/dbus.service")
    assert bus.triggered_by == ("dbus.socket",)
    assert str(bus.active_since) == "2026-11-30 06:16:24+00:00"
    assert (root.invocation_id, root.active_monotonic) == ("", "7229340")
    assert {"system.slice", "user.slice", "init.scope"} <= root.contents
    assert shown["nope.service"].load_state == "not-found"


@pytest.mark.parametrize(
    "name",
    ["web.service", r"foo@bar\x2dbaz.service", "run-r12.scope", "batch.slice", "a:b_c.service"],
)
def test_every_name_that_systemd_gives_is_one(name: str) -> None:
    assert name_problem(name) is None


def test_every_pattern_of_the_table_has_a_reason() -> None:
    assert all(why and patterns for why, patterns in never.NEVER)
    assert never.reason(("batch.service",)) is None
