"""`./up` and `./test`: shell that runs on any Debian, and says what is missing."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ("up", "test", "deploy/environment.sh")
Script = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A bare checkout with the files that the scripts read."""
    folder = tmp_path / "checkout"
    (folder / "deploy").mkdir(parents=True)
    for name in (*SCRIPTS, "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def sh(checkout: Path, tmp_path: Path) -> Script:
    """Run shell with the functions of the scripts, finding only the commands that it is given."""
    tools, fakes = tmp_path / "tools", tmp_path / "fakes"
    tools.mkdir()
    fakes.mkdir()  # apart from the links: writing through one would replace the machine's own
    for name in ("cat", "cksum", "id", "basename", "sh"):
        (tools / name).symlink_to(shutil.which(name) or name)

    def call(line: str, **commands: str) -> subprocess.CompletedProcess[str]:
        for name, text in commands.items():
            (fakes / name).write_text(f"#!/bin/sh\n{text}\n")
            (fakes / name).chmod(0o755)
        return subprocess.run(
            ["/bin/sh", "-euc", f". deploy/environment.sh; {line}"],
            cwd=checkout,
            env={"PATH": f"{fakes}:{tools}", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_posix_shell(name: str) -> None:
    assert subprocess.run(["/bin/sh", "-n", ROOT / name], check=False).returncode == 0


@pytest.mark.parametrize("name", ["up", "test"])
def test_a_script_can_be_run(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)
    assert (ROOT / name).read_text().startswith("#!/bin/sh\n")


def test_without_root_the_missing_package_is_named_with_the_line_and_the_other_way(
    sh: Script,
) -> None:
    result = sh("packages mosquitto", **{"apt-get": ":", "id": "echo 1000"})
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "evictd: missing: mosquitto; as root: apt-get install -y --no-install-recommends mosquitto",
        "evictd: with Docker nothing has to be installed: docker compose up",
    ]


def test_without_apt_there_is_docker(sh: Script) -> None:
    result = sh("packages mosquitto", id="echo 0")
    assert result.returncode == 1
    assert "there is no apt-get" in result.stderr
    assert "docker compose up" in result.stderr


def test_root_sees_the_line_before_it_runs_and_no_service_is_started(
    sh: Script, checkout: Path
) -> None:
    result = sh(
        "packages mosquitto mosquitto-clients",
        **{
            "apt-get": f'echo "RUNLEVEL=${{RUNLEVEL:-none}} $*" >>{checkout}/apt',
            "id": "echo 0",
        },
    )
    assert result.returncode == 0
    assert result.stderr.startswith("+ apt-get update && RUNLEVEL=1 apt-get install -y ")
    assert (checkout / "apt").read_text().splitlines() == [
        "RUNLEVEL=none -qq update",
        "RUNLEVEL=1 -qq install -y --no-install-recommends mosquitto mosquitto-clients",
    ]


def test_what_is_there_is_not_installed(sh: Script) -> None:
    result = sh("mosquitto_here", mosquitto=":", mosquitto_pub=":")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_python_that_is_too_old_is_passed_over(sh: Script) -> None:
    old = {"python3": "exit 1", "python3.14": "exit 1"}
    assert sh("find_python", **old).returncode == 1
    found = sh('find_python; echo "$python"', **old, **{"python3.12": "exit 0"})
    assert found.stdout == "python3.12\n"


def test_an_environment_is_made_once_and_again_after_an_interruption(
    sh: Script, checkout: Path
) -> None:
    """The mark is written last; the same two files mean the same environment."""
    binary = checkout / ".venv" / "bin" / "python"
    binary.parent.mkdir(parents=True)
    binary.write_text('#!/bin/sh\necho "$*" >>calls\n')
    binary.chmod(0o755)
    python = {"python3": "exit 0"}
    assert sh("virtual_environment", **python).returncode == 0
    first = (checkout / "calls").read_text()
    assert "--constraint constraints.txt --editable ." in first
    assert sh("virtual_environment", **python).returncode == 0
    assert (checkout / "calls").read_text() == first
    (checkout / ".venv" / "made-use").unlink()
    assert sh("virtual_environment", **python).returncode == 0
    assert len((checkout / "calls").read_text()) > len(first)
    (checkout / "constraints.txt").write_text("click==8.5.1\n")
    assert sh("virtual_environment", **python).returncode == 0
    assert (checkout / "calls").read_text().count("--editable") == 3


def test_the_test_tools_are_those_of_the_project_file(sh: Script) -> None:
    result = sh('printf %s "$DEV_PACKAGES"')
    listed = subprocess.run(
        ["python3", "-c", result.stdout], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pytest>=8" in listed.stdout.splitlines()


BESIDE = "-n 3 --dist loadfile"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", f"{BESIDE} tests/core tests/house"),
        ("-x -k ranking", f"{BESIDE} -x -k ranking tests/core tests/house"),
        ("-x tests/core/signals", "-x tests/core/signals"),
    ],
)
def test_the_lab_is_left_out_unless_it_is_asked_for(
    sh: Script, checkout: Path, arguments: str, expected: str
) -> None:
    """It needs root and a Docker Engine."""
    for tier in ("core", "house", "lab"):
        (checkout / "tests" / tier).mkdir(parents=True)
    binary = checkout / ".venv" / "bin" / "python"
    binary.parent.mkdir(parents=True)
    binary.write_text('#!/bin/sh\ncase "$*" in *-c*) ;; *) echo "$*" ;; esac\n')
    binary.chmod(0o755)
    commands = {"mosquitto": ":", "mosquitto_pub": ":", "python3": "exit 0", "dirname": "echo ."}
    result = sh(f"./test {arguments}", **commands)
    assert result.stdout.splitlines()[-1] == f"-m pytest {expected}"
