"""An engine that answers as it is told, and the runtime that asks it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.engine_double import EngineDouble
from tests.contract.store_double import Store

from evictd.runtimes.docker import DockerRuntime, Engine, runtime


@pytest.fixture
async def double(tmp_path: Path) -> AsyncIterator[EngineDouble]:
    async with EngineDouble(tmp_path / "docker.sock") as double:
        yield double


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path / "docker.sock") as store:
        yield store


@pytest.fixture
async def docker(double: EngineDouble, tmp_path: Path) -> AsyncIterator[DockerRuntime]:
    places = runtime.Places(cgroup=tmp_path, proc=tmp_path, own_process=tmp_path)
    docker = DockerRuntime(Engine(double.address), places=places)
    yield docker
    await docker.close()
