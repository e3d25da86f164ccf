"""`evictd config`, `schema` and `version`."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from evictd.cli.assembly import ROLES, Assembly
from evictd.cli.figures import figures
from evictd.cli.last_configuration import remember
from evictd.core.errors import InputError
from evictd.shell.configuration import ConfigurationError, cautions_here, load_text
from evictd_schemas.configuration import Configuration
from evictd_schemas.export import documents

Run = Callable[..., Result]
Process = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).parents[2]


def test_a_right_file_is_in_order(run: Run, tmp_path: Path) -> None:
    (tmp_path / "evictd.yaml").write_text("mode: act\n")
    result = run("config", "check", "--node", "demo-1", tmp_path / "evictd.yaml")
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path}/evictd.yaml: in order\n")


MEMINFO = """\
MemTotal:       16777216 kB
MemFree:         1048576 kB
MemAvailable:    8388608 kB
SwapTotal:             0 kB
SwapFree:              0 kB
"""


@pytest.fixture
def machine(tmp_path: Path) -> str:
    """Sources of a machine of 16 GiB without swap, stall figures and runtimes."""
    proc = tmp_path / "proc"
    (proc / "sys/kernel").mkdir(parents=True)
    (proc / "self").mkdir()
    (proc / "meminfo").write_text(MEMINFO)
    (proc / "loadavg").write_text("0.1 0.2 0.3 1/300 4321\n")
    (proc / "vmstat").write_text("oom_kill 0\n")
    (proc / "self/mountinfo").write_text("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    (proc / "sys/kernel/pid_max").write_text("32768\n")
    (tmp_path / "cgroup").mkdir()
    return (
        f"sources: {{procPath: {proc}, cgroupPath: {tmp_path / 'cgroup'}, "
        "runtimes: {docker: {enabled: false}}}\nnode: edge-7\n"
    )


def test_each_line_is_shown_as_what_it_amounts_to_on_this_machine(
    run: Run, machine: str, tmp_path: Path
) -> None:
    (tmp_path / "e.yaml").write_text(
        f"{machine}evictionHard: {{memory.available: 10%, swap.available: 5%, pid.available: 5%}}\n"
        "evictionSoft: {}\n"
    )
    result = run("config", "check", tmp_path / "e.yaml")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2:] == [
        (
            "on this machine (edge-7): profile host, mode observe, candidates labelled; "
            "a condition stays 300 s after its signals recovered"
        ),
        "given back before anybody is stopped for a disk: danglingImages, buildCache",
        "",
        "LINE                  KIND  IS     OF      LEFT NOW  STATE",
        "memory.available<10%  hard  1.6Gi  16Gi    8Gi       clear",
        "pid.available<5%      hard  1,638  32,768  32,468    clear",
        "swap.available<5%     hard  -      -       -         not observed",
    ]
    assert "swap.available: this machine has no swap: the line is never met here" in result.stderr


def test_responders_are_named_with_what_runs_them(run: Run, machine: str, tmp_path: Path) -> None:
    """Configured alone they do nothing."""
    file = tmp_path / "e.yaml"
    file.write_text(f"{machine}responders: [{{name: acme.io/save, command: [save]}}]\n")
    said = "asked before a workload is stopped, while `evictd respond` runs: acme.io/save"
    assert said in run("config", "check", file).stdout.splitlines()


def test_a_source_that_cannot_be_read_is_named(run: Run, machine: str, tmp_path: Path) -> None:
    (tmp_path / "proc/meminfo").unlink()
    (tmp_path / "e.yaml").write_text(machine)
    result = run("config", "check", tmp_path / "e.yaml")
    assert result.exit_code == 0
    assert "\nmemory cannot be read: " in result.stdout


def test_a_start_tells_its_warnings_once(
    run: Run, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ended(_everything: Assembly) -> None:
        """As if SIGTERM had come at once."""

    def assembled(configuration: Configuration) -> Assembly:
        return Assembly(configuration=configuration, node="edge-7", roles=())

    monkeypatch.setattr("evictd.cli.up.up", ended)
    monkeypatch.setattr("evictd.cli.up.assembly", assembled)
    file = tmp_path / "e.yaml"
    file.write_text(
        "mergeDefaultEvictionSettings: true\n"
        "evictionHard: {memory.available: 12Gi, pid.available: 10}\n"
        f"stateFolder: {tmp_path / 'state'}\n{machine}"
    )
    result = run("up", "--config", file)
    assert result.exit_code == 0
    assert result.stderr.replace(f"warning: {file}:", "").splitlines() == [
        "2:55: evictionHard.pid.available: is 10 process ids; did you mean 10%?",
        "2:34: evictionHard.memory.available: 12Gi is crossed already: 8Gi of 16Gi are left",
    ]


def test_the_flags_of_a_unit_are_checked_as_a_kubelet_s(run: Run, tmp_path: Path) -> None:
    unit = tmp_path / "10-kubelet.conf"
    unit.write_text("[Service]\nExecStart=/usr/bin/kubelet --eviction-hard=nodefs.inodesFree<10\n")
    result = run("config", "check", "--kubelet", "--node", "edge-7", unit)
    assert result.exit_code == 0
    assert "evictionHard.nodefs.inodesFree: is 10 inodes; did you mean 10%?" in result.stderr


def test_a_wrong_file_is_told_line_by_line_and_ends_with_3(
    evictd_process: Process, tmp_path: Path
) -> None:
    (tmp_path / "e.yaml").write_text("modus: act\nevictionMinimumReclaim: {pid.available: 1K}\n")
    result = evictd_process("config", "check", "e.yaml")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.splitlines() == [
        "e.yaml:1:1: modus: is no key here; did you mean mode?",
        "e.yaml:2:41: evictionMinimumReclaim.pid.available: '1K' is no quantity; did you mean 1Ki?",
    ]


def test_warnings_are_told_apart_from_the_data(run: Run, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text("evictionHard: {}\n")
    result = run("config", "check", "--node", "demo-1", tmp_path / "e.yaml")
    assert result.exit_code == 0
    assert result.stderr == (
        f"warning: {tmp_path}/e.yaml:1:1: evictionHard: is empty: every hard line is off\n"
    )


def test_the_values_in_force_are_shown_with_their_origin(evictd_process: Process) -> None:
    result = evictd_process(
        "config", "show", "--origin", "--node", "demo-1", "--config", ROOT / "deploy/evictd.yaml",
        EVICTD_SETTLESECONDS="2.5", EVICTD_BROKERPASSWORD="correct horse",
    )  # fmt: skip
    rows = dict(line.split("  # ") for line in result.stdout.splitlines())
    shown = {name.strip(): origin.replace(str(ROOT), "") for name, origin in rows.items()}
    assert shown["mode: act"] == "/deploy/evictd.yaml:10:11"
    assert shown["evictionHard.memory.available: 500Mi"] == "/deploy/evictd.yaml:14:25"
    assert shown["evictionHardGracePeriod: 1"] == "default of profile kubelet"
    assert shown["settleSeconds: 2.5"] == "environment EVICTD_SETTLESECONDS"
    assert shown["brokerPassword: (not shown)"] == "environment EVICTD_BROKERPASSWORD"
    assert shown["broker: owned"] == "default"
    assert "correct horse" not in result.stdout + result.stderr


def test_without_a_file_it_is_the_one_that_evictd_runs_with_here(
    evictd_process: Process, tmp_path: Path
) -> None:
    """In force is what runs, not the defaults."""
    file = tmp_path / "e.yaml"
    file.write_text("mode: dry-run\n")
    remember(tmp_path, file)
    shown = evictd_process("config", "show", "--origin", EVICTD_STATEFOLDER=str(tmp_path))
    assert f"{file}:1:7" in next(line for line in shown.stdout.splitlines() if "mode:" in line)
    checked = evictd_process("config", "check", EVICTD_STATEFOLDER=str(tmp_path))
    assert checked.stdout.startswith(f"{file}: in order\n")


def test_a_login_that_is_part_of_a_url_is_not_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "broker: mqtt://me:secret@bus:1883\n"
        "responders: [{name: acme.io/x, webhook: 'https://me:secret@mover/x'}]\n"
    )
    result = run("config", "show", "--config", tmp_path / "e.yaml")
    assert "broker: mqtt://(not shown)@bus:1883\n" in result.stdout
    assert '"webhook":"https://(not shown)@mover/x"' in result.stdout
    assert "secret" not in result.stdout + result.stderr


@pytest.mark.parametrize("command", [("up",), *(("run", role.value) for role in ROLES)])
def test_whatever_starts_workers_takes_the_same_three_flags(
    command: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    """All that is wrong with any of them is told at once, and nothing begins."""
    (tmp_path / "e.yaml").write_text("modus: act\n")
    flags = ("--config", tmp_path / "e.yaml", "--broker", "bus:1883", "--node", "a/b")
    result = run(*command, *flags)
    assert isinstance(result.exception, ConfigurationError)
    assert result.exception.exit_code == 3
    places = [line.split(": ")[0] for line in str(result.exception).splitlines()]
    assert places == [f"{tmp_path}/e.yaml:1:1", "flag --broker", "flag --node"]


def test_a_flag_s_missing_file_is_one_clear_line(evictd_process: Process) -> None:
    result = evictd_process("config", "show", "--config", "absent.yaml")
    assert result.returncode == 3
    assert result.stderr == ("evictd: absent.yaml: cannot be read: No such file or directory\n")


def test_the_schema_refuses_what_the_loader_refuses(run: Run) -> None:
    schema = json.loads(run("config", "schema").stdout)
    assert schema["$defs"]["Configuration"]["additionalProperties"] is False
    assert "evictionHard" in schema["$defs"]["Configuration"]["properties"]


def test_every_document_of_the_contract_can_be_written_anywhere(run: Run, tmp_path: Path) -> None:
    result = run("schema", "export", tmp_path)
    assert result.exit_code == 0
    for path, text in documents():
        assert (tmp_path / path).read_text() == text


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("version").stdout == "evictd 0.1.0\n"


def test_an_unknown_verb_is_a_mistake_of_usage(evictd_process: Process) -> None:
    result = evictd_process("rnu")
    assert result.returncode == 2
    assert "No such command 'rnu'" in result.stderr


def test_help_lists_every_verb_without_loading_one(evictd_process: Process) -> None:
    result = evictd_process("--help")
    assert result.returncode == 0
    assert "health" in result.stdout
    assert "client-config" in result.stdout


def test_an_error_of_the_family_reaches_the_caller_as_it_is(run: Run, tmp_path: Path) -> None:
    result = run("config", "check", tmp_path / "absent.yaml")
    assert isinstance(result.exception, InputError)


def test_who_was_not_asked_for_is_not_told_as_nobody(machine: str) -> None:
    """A start in mode `act` does not ask the runtimes, and so warns of no missing workload."""
    found = load_text(f"mode: act\n{machine}", "f")
    here = figures(found.configuration, "edge-7", with_workloads=False)
    assert here.observation.pods is None
    assert [note for note in cautions_here(found, here.observation) if "mode" in str(note)] == []
