"""What a process loads for the roles that it fills."""

import subprocess
import sys
from socket import gethostname

import pytest

from evictd.cli.workloads import own_units
from evictd_schemas.configuration import Configuration

SCRIPT = """
import sys
from evictd.cli.assembly import Assembly
from evictd_schemas.configuration import Configuration
from evictd_schemas.sources import (
    CgroupSource, DockerSource, RuntimeSources, Sources, SystemdSource
)
from evictd_schemas.topics import Role
runtimes = RuntimeSources(
    docker=DockerSource(enabled=True),
    cgroup=CgroupSource(parent="/pods"),
    systemd=SystemdSource(units=("batch-*",)),
)
configuration = Configuration(sources=Sources(runtimes=runtimes))
found = Assembly(configuration=configuration, node="attic", roles=(Role(sys.argv[1]),))._runtimes()
print(*(runtime.name for runtime in found), "aiohttp" in sys.modules)
"""


@pytest.mark.parametrize(
    ("role", "printed"),
    [
        ("collector", "docker cgroup systemd True"),
        ("evaluator", "False"),
        ("evictor", "False"),
        ("controller", "False"),
        ("responder", "docker cgroup systemd True"),
    ],
)
def test_only_those_that_look_or_stop_load_the_engine_s_client(role: str, printed: str) -> None:
    command = [sys.executable, "-c", SCRIPT, role]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == printed


@pytest.mark.parametrize(
    ("broker", "spared"),
    [
        ("mqtt://127.0.0.1:1883", True),
        ("mqtt://localhost:1883", True),
        (f"mqtt://{gethostname()}.example:1883", True),
        ("mqtt://bus.example:1883", False),
        ("owned:1883", False),
        (None, False),
    ],
)
def test_the_unit_of_a_broker_on_this_machine_is_ours(broker: str | None, spared: bool) -> None:
    """One that evictd starts itself is in evictd's own unit."""
    assert ("mosquitto*" in own_units(Configuration(broker=broker))) is spared
