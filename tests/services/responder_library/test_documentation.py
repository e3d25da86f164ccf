"""What docs/responders.md tells is so."""

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.services.responder_library.works import work_on

from evictd.responder import Ending, Responder, Work
from evictd.responder.author import TIMEOUT_SECONDS
from evictd.responder.command import environment

TEXT = (Path(__file__).parents[3] / "docs" / "responders.md").read_text()


def test_it_names_every_ending_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z ]+)` \|", TEXT, re.MULTILINE)
    assert set(rows) >= {str(ending) for ending in Ending}


def test_it_names_every_variable_of_a_command_and_no_other() -> None:
    assert set(re.findall(r"EVICTION_[A-Z_]+", TEXT)) == set(environment(work_on("web"), {}))


def test_it_names_every_field_of_a_registration() -> None:
    fields = set(Responder.__dataclass_fields__) - {"name", "respond", "restore"}
    named = set(re.findall(r"`([a-z_]+)`", TEXT))
    assert fields <= named
    assert f"({TIMEOUT_SECONDS:g} s)" in TEXT


async def drain(_work: Work) -> None:
    """As an author's own would be."""
    await anyio.sleep(100)


(SHOWN,) = re.findall(r"```python\n(from evictd.testing.*?)```", TEXT, re.DOTALL)
NAMES: dict[str, Any] = {"Responder": Responder, "drain": drain}
exec(SHOWN, NAMES)  # noqa: S102 - the documentation's own words


@pytest.mark.looptime
async def test_the_test_that_it_shows_passes() -> None:
    await NAMES["test_a_withdrawal_leaves_everything_as_it_was"]()
