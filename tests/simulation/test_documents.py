"""The documentation's scenario ends as the documentation says."""

import re
from pathlib import Path

from evictd.simulation.scenario import PodForm, ScenarioForm, StepForm
from evictd.simulation.scenario_file import scenario_of_text
from evictd.simulation.story import play
from evictd.simulation.telling import table

DOCUMENT = Path(__file__).parents[2] / "docs/simulate.md"


def test_the_scenario_of_the_documentation_ends_as_it_says() -> None:
    text = DOCUMENT.read_text()
    example = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0]
    outcome = re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0]
    scenario = scenario_of_text(example, "docs/simulate.md", DOCUMENT.parent)
    assert table(scenario, play(scenario)) + "\n" == outcome


def test_every_key_of_a_scenario_is_documented() -> None:
    text = DOCUMENT.read_text()
    short_forms = {"uses", "asks", "stopSeconds", "stopFails"}
    keys = {*StepForm.__struct_encode_fields__, *ScenarioForm.__struct_encode_fields__}
    assert short_forms <= set(PodForm.__struct_encode_fields__)
    missing = [key for key in keys | short_forms if f"`{key}" not in text and f"{key}:" not in text]
    assert not missing
