"""The Docker runtime under the suite of all runtimes, over an engine's double whose containers
live; the same suite runs over a real engine in the lab."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract.engine_living import LivingEngine
from tests.contract.runtime_contract import RuntimeContract

from evictd.runtimes.docker import DockerRuntime, Engine, Places


class LivingBench:
    """Containers of the double."""

    def __init__(self, engine: LivingEngine, folder: Path) -> None:
        self.engine = engine
        places = Places(cgroup=folder, proc=folder, own_process=folder)
        self.runtime = DockerRuntime(Engine(engine.address), places=places)

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        labels = {"evictd_protect": "true"} if protected else {}
        self.engine.run(name, deaf=deaf, **labels)

    async def end(self, name: str) -> None:
        self.engine.remove(name)


class TestDockerRuntimeOverItsDouble(RuntimeContract):
    """All that every runtime promises."""

    @pytest.fixture
    async def bench(self, tmp_path: Path) -> AsyncIterator[LivingBench]:
        engine = LivingEngine(tmp_path / "docker.sock")
        await engine.open()
        bench = LivingBench(engine, tmp_path)
        yield bench
        await bench.runtime.close()
        await engine.close()
