"""What a process loads for the roles that it fills."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from evictd.cli.assembly import Assembly
from evictd_schemas.configuration import Configuration
from evictd_schemas.sources import CgroupSource, DockerSource, RuntimeSources, Sources
from evictd_schemas.topics import Role
runtimes = RuntimeSources(docker=DockerSource(enabled=True), cgroup=CgroupSource(parent="/pods"))
configuration = Configuration(sources=Sources(runtimes=runtimes))
found = Assembly(configuration=configuration, node="attic", roles=(Role(sys.argv[1]),))._runtimes()
print(*(runtime.name for runtime in found), "aiohttp" in sys.modules)
"""


@pytest.mark.parametrize(
    ("role", "printed"),
    [
        ("collector", "docker cgroup True"),
        ("evaluator", "False"),
        ("evictor", "False"),
        ("controller", "False"),
        ("responder", "docker cgroup True"),
    ],
)
def test_only_those_that_look_or_stop_load_the_engine_s_client(role: str, printed: str) -> None:
    command = [sys.executable, "-c", SCRIPT, role]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == printed
