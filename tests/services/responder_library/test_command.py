"""The command responder: real commands, a stage in memory, real time."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from tests.waiting import until

from evictd.responder import Responder
from evictd.responder.command import Command, Places
from evictd.testing import Stage, staged
from evictd_schemas import Reason

NAME = "acme.io/script"


def script(text: str, *, seconds: float = 30.0, **settings: Any) -> Responder:
    """A shell's command as a responder."""
    return of(("sh", "-c", text), seconds=seconds, **settings)


def of(command: Sequence[str], *, seconds: float = 30.0, **settings: Any) -> Responder:
    return Responder(
        name=NAME, respond=Command(command, timeout_seconds=seconds).respond, **settings
    )


async def ended(stage: Stage, name: str = "web") -> str:
    """Its last message, once its turn has ended."""
    await stage.until(lambda: stage.state(name) in ("Completed", "Interrupted"), 20)
    return stage.reports(name)[-1].message


async def test_its_last_line_is_the_last_message() -> None:
    async with staged(script("echo one; echo two >&2; echo; printf three")) as stage:
        await stage.evict("web")
        assert await ended(stage) == "three"


async def test_without_a_word_it_is_done() -> None:
    async with staged(script("true")) as stage:
        await stage.evict("web")
        assert await ended(stage) == "done"


async def test_it_is_told_the_target_and_the_reason_and_no_secret(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("EVICTD_BROKER", "mqtt://me:secret@127.0.0.1")
    monkeypatch.setenv("EVICTD_BROKERPASSWORD", "secret")
    monkeypatch.setenv("EVICTD_BROKERPASSWORD_FILE", "/etc/secret")
    told = tmp_path / "told"
    async with staged(script(f'env -0 >"{told}"')) as stage:
        pod = await stage.add("web")
        await stage.evict("web", reason=Reason(signal="memory.available", message="low; rm -rf"))
        await ended(stage)
    text = (await anyio.Path(told).read_text()).rstrip("\0")
    lines = dict(line.split("=", 1) for line in text.split("\0"))
    given = {name: value for name, value in lines.items() if name.startswith("EVICTION_")}
    assert given == {
        "EVICTION_NODE": "stage-1",
        "EVICTION_NAMESPACE": "shop",
        "EVICTION_POD": "web",
        "EVICTION_UID": pod.uid,
        "EVICTION_NAME": "pod-1-web",
        "EVICTION_TYPE": "Soft",
        "EVICTION_SIGNAL": "memory.available",
        "EVICTION_REASON": "low; rm -rf",
        "EVICTION_REQUESTERS": "stage.evictd.io/mover",
        "EVICTION_DEADLINE": "",
        "EVICTION_DRY_RUN": "",
        "EVICTION_RESUMED": "",
    }
    assert lines["PATH"] == os.environ["PATH"]
    assert not [name for name in lines if name.startswith("EVICTD_BROKER")]


async def test_another_exit_is_told_as_failed() -> None:
    async with staged(script("echo no room; exit 3")) as stage:
        await stage.evict("web")
        assert await ended(stage) == "failed: HostError: sh exited with 3: no room"


async def test_a_command_that_is_not_there_is_told_as_failed() -> None:
    async with staged(of(("/no/such/command",))) as stage:
        await stage.evict("web")
        message = await ended(stage)
        assert message.startswith("failed: HostError: /no/such/command: cannot be run: No such")


async def test_what_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    text = f'sh -c "echo \\$\\$ >{child}; exec sleep 1000" & echo waiting; wait'
    async with staged(script(text, seconds=2)) as stage:
        await stage.evict("web")
        assert await ended(stage) == "failed: TimeoutError: not done in 2 s: waiting"
        await until(lambda: anyio.to_thread.run_sync(gone, child))


async def test_a_canceled_command_gets_sigterm_and_then_sigkill(tmp_path: Path) -> None:
    """This one hears, and goes on."""
    deaf, story = tmp_path / "deaf", tmp_path / "story"
    text = f'trap "echo term >>{story}" TERM; echo $$ >{deaf}; while :; do sleep 0.1; done'
    async with staged(script(text)) as stage:
        await stage.evict("web")
        await until(lambda: anyio.to_thread.run_sync(deaf.exists))
        await stage.withdraw("web")
        await until(lambda: anyio.to_thread.run_sync(gone, deaf))
        assert await anyio.Path(story).read_text() == "term\n"
        assert stage.state("web") == "Canceled"


async def test_a_child_that_keeps_the_output_open_does_not_hold_up_the_end(
    tmp_path: Path,
) -> None:
    child = tmp_path / "child"
    text = f'sleep 1000 & echo $! >{child}; echo "left it behind"'
    async with staged(script(text)) as stage:
        await stage.evict("web")
        assert await ended(stage) == "left it behind"
        assert not await anyio.to_thread.run_sync(gone, child)
    os.kill(int(await anyio.Path(child).read_text()), 9)


async def test_a_flood_of_output_is_read_and_cut() -> None:
    flood = "import sys; sys.stdout.write('x' * 10_000_000); sys.stdout.write('\\n' * 100_000)"
    async with staged(of((sys.executable, "-c", flood))) as stage:
        await stage.evict("web")
        assert await ended(stage) == "x" * 4_000


async def test_only_so_many_run_at_once_and_who_waits_says_so(tmp_path: Path) -> None:
    """Two of three; the third's time begins with its start, and it tells how the line moves."""
    go = tmp_path / "go"
    text = f'until [ -e "{go}.$EVICTION_POD" ]; do sleep 0.05; done; echo saved'
    command = Command(("sh", "-c", text), timeout_seconds=30.0, places=Places(2))
    wanted = {"one": "running sh", "two": "running sh", "three": "waiting for 1 of the commands"}

    def told(stage: Stage) -> bool:
        said = {name: reports[-1].message for name in wanted if (reports := stage.reports(name))}
        return all(said.get(name, "").startswith(text) for name, text in wanted.items())

    responder = Responder(name=NAME, respond=command.respond, heartbeat_seconds=0.1)
    async with staged(responder) as stage:
        for name in wanted:
            await stage.evict(name)
        await stage.until(lambda: told(stage), 20)
        for name in ("three", "two"):
            await anyio.Path(f"{go}.{name}").touch()
        assert await ended(stage, "two") == "saved"
        assert await ended(stage, "three") == "saved"
        assert stage.state("one") == "Active"
        await anyio.Path(f"{go}.one").touch()
        assert await ended(stage, "one") == "saved"


async def test_in_a_dry_run_it_is_told_so() -> None:
    command = script('echo "would save, dry: $EVICTION_DRY_RUN"', supports_dry_run=True)
    async with staged(command) as stage:
        await stage.evict("web", dry_run=True)
        assert await ended(stage) == "would save, dry: true"


def gone(file: Path) -> bool:
    """Whether the process whose number is in the file has ended."""
    number = file.read_text().strip() if file.exists() else ""
    if not number:
        return False
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"
