"""Responders of one's own as processes on a real broker, beside a real controller: wills, lost
brokers, successors, and `evictd respond`."""

from __future__ import annotations

import re
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.integration.processes import Site, until
from tests.integration.responders import Play, playing
from tests.integration.stories.conftest import DEMO, settings

from evictd.shell.broker.access import access_list

DRAIN, NEXT = "acme.io/drain", "imperative-eviction.k8s.io/evictor"
NAMED = {"evictionResponders": [{"name": DRAIN, "priority": 10000}]}
PROGRAM = textwrap.dedent("""\
    import asyncio, os, sys
    from pathlib import Path
    from evictd.responder import Responder, Work, run

    def tell(text):
        with open(os.environ["STORY"], "a") as story:
            story.write(text + "\\n")

    async def drain(work):
        tell(f"begin {work.pod.name}")
        try:
            while not Path(os.environ["DONE"]).exists():
                await asyncio.sleep(0.05)
                work.progress("at it")
        except asyncio.CancelledError:
            tell(f"{work.ending} {work.pod.name}")
            raise
        tell(f"end {work.pod.name}")
        return "done"

    run(Responder(name="acme.io/drain", respond=drain), *sys.argv[1:])
    """)


class Author:
    """A responder that works until it is allowed to end, and writes down what happens to it."""

    def __init__(self, play: Play, folder: Path, broker: Any) -> None:
        self._play = play
        self._broker = broker
        self._program = folder / "program.py"
        self._program.write_text(PROGRAM)
        self._story, self._done = folder / "story", folder / "done"
        self._story.touch()

    @property
    def story(self) -> list[str]:
        return self._story.read_text().splitlines()

    def running(self, node: str = DEMO, name: str = "author", url: str | None = None) -> Any:
        command = (sys.executable, str(self._program), url or self._broker.url, node)
        told = {"STORY": str(self._story), "DONE": str(self._done)}
        return self._play.program(*command, name=name, **told)

    def let_go(self) -> None:
        """The work may end now."""
        self._done.touch()


def begin(play: Play, author: Author, name: str = "web") -> None:
    """A workload that names it is to leave, and its work has begun."""
    play.await_ready(DRAIN)
    play.add(name, **NAMED)
    play.ask(name)
    until("the work has begun", lambda: f"begin {name}" in author.story)


def completions(play: Play, name: str = "web") -> int:
    return sum(1 for item in play.reports(name, DRAIN) if item["completionTime"])


def test_a_process_that_is_killed_hands_over_by_its_last_will(tmp_path: Path, broker: Any) -> None:
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running() as process:
            begin(play, author)
            process.kill()
            until("its will", lambda: play.registration(DRAIN)["status"] == "lost")
            assert play.state("web", DRAIN) == "Active"
            play.await_state("web", NEXT, "Active")
            assert play.entry("web", DRAIN)["interruptedReason"] == "ResponderLost"


def test_a_process_that_is_started_again_in_time_goes_on(tmp_path: Path, broker: Any) -> None:
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running() as process:
            begin(play, author)
            process.kill()
            process.wait()
        with author.running():
            until("it is given the work again", lambda: author.story.count("begin web") == 2)
            author.let_go()
            play.await_state("web", DRAIN, "Completed")
            assert completions(play) == 1


def test_a_controller_that_is_killed_disturbs_no_work(tmp_path: Path, broker: Any) -> None:
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running():
            begin(play, author)
            play.site.kill("controller")
            play.site.start("controller")
            play.site.await_ready("controller")
            author.let_go()
            play.await_state("web", DRAIN, "Completed")
            assert author.story == ["begin web", "end web"]


def test_what_was_completed_while_nobody_listened_is_not_done_again(
    tmp_path: Path, broker: Any
) -> None:
    """Not by the next process either: the report of the one that is gone is on the bus."""
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running():
            begin(play, author)
            play.site.kill("controller")
            author.let_go()
            until("it is reported", lambda: completions(play) == 1)
        with author.running():
            until("it is there again", lambda: play.registration(DRAIN)["status"] == "ready")
            play.site.start("controller")
            play.await_state("web", DRAIN, "Completed")
            assert author.story == ["begin web", "end web"]
            assert completions(play) == 1


def test_a_broker_that_is_killed_and_comes_back_empty_disturbs_no_work(
    tmp_path: Path, broker: Any
) -> None:
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running():
            begin(play, author)
            broker.kill()
            broker.start()
            play.site.await_hearing()
            play.await_ready(DRAIN)
            author.let_go()
            play.await_state("web", DRAIN, "Completed")
            assert author.story == ["begin web", "end web"]
            assert completions(play) == 1


def test_what_is_completed_while_the_broker_is_away_is_reported_when_it_is_back(
    tmp_path: Path, broker: Any
) -> None:
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running():
            begin(play, author)
            broker.kill()
            author.let_go()
            until("it is done", lambda: author.story[-1] == "end web")
            broker.start()
            play.await_state("web", DRAIN, "Completed")
            assert author.story == ["begin web", "end web"]


def test_a_broker_that_stays_away_ends_the_work(tmp_path: Path, broker: Any) -> None:
    """Somebody else may be at work by then; when it is back the work begins again."""
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running():
            begin(play, author)
            broker.kill()
            until("it is ended", lambda: author.story[-1] == "out of contact web")
            broker.start()
            until("it begins again", lambda: author.story[-1] == "begin web", seconds=40)
            author.let_go()
            play.await_state("web", DRAIN, "Completed")


def test_a_broker_that_hangs_ends_the_work_too(tmp_path: Path, broker: Any) -> None:
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running():
            begin(play, author)
            broker.signal(signal.SIGSTOP)
            until("it is ended", lambda: author.story[-1] == "out of contact web")
            broker.signal(signal.SIGCONT)
            until("it begins again", lambda: author.story[-1] == "begin web", seconds=40)


def test_of_two_processes_of_one_name_the_older_ends(tmp_path: Path, broker: Any) -> None:
    """Its work ends first, and the newer one is given it."""
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running() as older:
            begin(play, author)
            with author.running(name="newer"):
                assert older.wait(20) == 9
                until("the newer one begins", lambda: author.story.count("begin web") == 2)
                assert author.story == ["begin web", "stopping web", "begin web"]
                author.let_go()
                play.await_state("web", DRAIN, "Completed")
                assert completions(play) == 1


def test_an_orderly_end_cancels_the_work_and_says_goodbye(tmp_path: Path, broker: Any) -> None:
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running() as process:
            begin(play, author)
        assert process.returncode == 0
        assert author.story == ["begin web", "stopping web"]
        until("goodbye", lambda: play.registration(DRAIN)["status"] == "disconnected")
        assert completions(play) == 0


def test_one_process_serves_every_node_that_shows_itself(tmp_path: Path, broker: Any) -> None:
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        with author.running("+"):
            play.site.publish(f"evictd/v1/{DEMO}/pressure", {"node": DEMO}, retain=True)
            begin(play, author)
            author.let_go()
            play.await_state("web", DRAIN, "Completed")


def test_a_registration_from_the_future_does_not_keep_a_responder_away(
    tmp_path: Path, broker: Any
) -> None:
    """A clock that was set back, or somebody's hand: the next life comes after it."""
    with playing(tmp_path, broker) as play:
        topic = f"evictd/v1/{DEMO}/responders/{DRAIN}"
        future = {"status": "disconnected", "epoch": 1 << 50}
        play.site.publish(topic, future, retain=True)
        author = Author(play, tmp_path, broker)
        with author.running():
            begin(play, author)
            assert play.registration(DRAIN)["epoch"] > 1 << 50


@pytest.mark.parametrize("selects", [("--select", "drain=yes"), ("--every",), ()])
def test_a_command_is_a_responder_without_a_line_of_code(
    tmp_path: Path, broker: Any, selects: tuple[str, ...]
) -> None:
    told = tmp_path / "told"
    script = f'echo "$EVICTION_NAMESPACE/$EVICTION_POD" >>"{told}"; echo "saved $EVICTION_POD"'
    verb = (sys.executable, "-m", "evictd", "respond", "--name", DRAIN, "--node", DEMO)
    with playing(tmp_path, broker) as play:
        with play.program(*verb, *selects, "--", "sh", "-c", script) as process:
            play.await_ready(DRAIN)
            play.add("web", **({"labels": {"drain": "yes"}} if selects else NAMED))
            play.ask("web")
            play.await_state("web", DRAIN, "Completed")
            assert play.entry("web", DRAIN)["message"] == "saved web"
            assert told.read_text() == "shop/web\n"
        assert process.returncode == 0


def test_beside_evictd_up_a_command_needs_no_address_and_no_login(tmp_path: Path) -> None:
    """The login of the broker that evictd owns is found where `evictd up` has left it."""
    site = Site(folder=tmp_path, settings=settings())
    verb = (sys.executable, "-m", "evictd", "respond", "--name", DRAIN, "--node", "+")
    with site.running("up"):
        play = Play(site)
        play.add("web", **NAMED)
        with play.program(*verb, "--", "echo", "saved"):
            play.await_ready(DRAIN)
            play.ask("web")
            play.await_state("web", DRAIN, "Completed")
            assert play.entry("web", DRAIN)["message"] == "saved"


def test_a_login_of_its_own_is_all_that_a_responder_needs(tmp_path: Path, broker: Any) -> None:
    """As `evictd access-list drainer=acme.io/drain` writes it, with nothing else allowed."""
    rules = access_list({"drainer": ("acme.io", "drain")})
    (own,) = re.findall(r"^user drainer\n(.*?)(?:\n\n|\Z)", rules, re.DOTALL | re.MULTILINE)
    everybody = f"topic readwrite #\n\nuser drainer\n{own}\n"
    broker.kill()
    broker.start(access=everybody)
    with playing(tmp_path, broker) as play:
        author = Author(play, tmp_path, broker)
        login = broker.url.replace("//", "//drainer@")
        with author.running(url=login):
            begin(play, author)
            author.let_go()
            play.await_state("web", DRAIN, "Completed")


def test_what_the_configuration_names_is_run_by_one_process(tmp_path: Path, broker: Any) -> None:
    move = "acme.io/move"
    entries = [
        {"name": DRAIN, "command": ["echo", "drained"], "selector": {}, "priority": 20000},
        {"name": move, "command": ["echo", "moved"], "selector": {}},
    ]
    site = Site(folder=tmp_path, settings=settings(responders=entries), broker=broker.url)
    with site.running("controller"):
        play = Play(site)
        with play.program(sys.executable, "-m", "evictd", "respond", "--node", DEMO) as process:
            play.await_ready(DRAIN)
            play.await_ready(move)
            play.add("web")
            play.ask("web")
            play.await_state("web", NEXT, "Active")
            assert play.entry("web", DRAIN)["message"] == "drained"
            assert play.entry("web", move)["message"] == "moved"
        assert process.returncode == 0
