"""Who follows something on the bus hears whatever anybody may write there, and goes on."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.bus import NODE, NOW, Stage

from evictd.cli import reading
from evictd.cli.client_configuration import SIGNATURE
from evictd.cli.following import Asked, Follower
from evictd.cli.situation import read_observation
from evictd.cli.wishing import ANSWERED, Answers, Wished
from evictd.core.errors import InputError
from evictd.core.orders import Verb
from evictd.simulation import recording
from evictd_schemas import Wish, topics

ODD: tuple[Any, ...] = (None, 5, "text", [], [5, None, "text"], {"wish": 5}, {}, [[]])


def event(reason: str, **data: Any) -> dict[str, Any]:
    """Somebody's."""
    return {
        "id": f"{reason} {data}",
        "source": "s",
        "type": "t",
        "time": NOW.isoformat(),
        "data": {"reason": reason, **data},
    }


@pytest.mark.parametrize("odd", ODD, ids=str)
async def test_a_rejection_in_other_words_is_one_all_the_same(odd: Any) -> None:
    stage = Stage()
    asked = Asked(
        node=NODE,
        requester="evictd.io/cli",
        namespace="shop",
        name="move",
        pod="web",
        dry_run=False,
    )
    follower = Follower(stage.mirror, asked)
    stage.request()
    assert not await follower.change(0)
    said = event("MessageRejected", message="no", topic=asked.topic, problems=odd)
    stage.say(topics.EVENT, said, worker="controller", reason="MessageRejected")
    while await follower.change(0.05):
        pass
    end = follower.end()
    assert end is not None
    assert end.text.startswith("rejected: ")
    await follower.close()


@pytest.mark.parametrize("odd", ODD, ids=str)
async def test_an_answer_to_a_wish_that_is_none_says_nothing_of_it(odd: Any) -> None:
    stage = Stage()
    wished = Wished(node=NODE, name="hold", wish=Wish(verb=Verb.HOLD))
    answers = Answers(stage.mirror, wished)
    assert await answers.word(0.01) is None
    for said in (event(ANSWERED, wish=odd), event(ANSWERED)):
        stage.say(topics.EVENT, said, worker="evictor", reason=ANSWERED)
    assert await answers.word(0.05) is None
    answer = {"wish": wished.full_name, "verb": "Hold", "state": "InForce", "message": "held"}
    stage.say(topics.EVENT, event(ANSWERED, wish=answer), worker="evictor", reason=ANSWERED)
    heard = await answers.word(5)
    assert heard is not None
    assert heard.text == "held"
    await answers.close()


@pytest.mark.parametrize("port", ["", "x", "-1", "0", "70000", "\u00b2", "9" * 5_000])
def test_noted_options_with_a_port_that_cannot_be_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "mosquitto_pub").write_text(f"{SIGNATURE}-h localhost\n-p {port}\n")
    assert reading.noted_address() is None


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b'{"node":"\xff"}', b'{"a":' * 100_000])
def test_a_file_that_is_no_observation_and_no_recording_is_told_so(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content + b"\n")
    with pytest.raises(InputError, match="is no observation"):
        read_observation(file)
    with pytest.raises(InputError):
        recording.read(file)
