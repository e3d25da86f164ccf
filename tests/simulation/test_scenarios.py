"""Golden scenarios: each file's outcome is the text beside it.

`pytest tests/simulation --update-golden` writes the outcomes anew; a person reads the difference.
"""

from pathlib import Path

import msgspec
import pytest

from evictd.simulation import telling
from evictd.simulation.scenario_file import load_scenario
from evictd.simulation.story import play

FOLDER = Path(__file__).parent / "scenarios"
SCENARIOS = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_scenario_ends_as_it_always_did(file: Path, request: pytest.FixtureRequest) -> None:
    scenario = load_scenario(file)
    told = telling.table(scenario, play(scenario), wide=True) + "\n"
    golden = file.with_suffix(".txt")
    if request.config.getoption("--update-golden", default=False):
        golden.write_text(told)
    assert told == golden.read_text()


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_scenario_is_decided_the_same_each_time(file: Path) -> None:
    first, second = (
        msgspec.json.encode(telling.document(scenario, play(scenario)))
        for scenario in (load_scenario(file), load_scenario(file))
    )
    assert first == second


def test_there_is_no_outcome_without_its_scenario() -> None:
    texts = {file.stem for file in FOLDER.glob("*.txt")}
    assert texts == {file.stem for file in SCENARIOS}
