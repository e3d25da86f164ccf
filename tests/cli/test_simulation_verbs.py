"""`evictd simulate`, `replay`, `rank` and `explain` without a bus."""

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import Result

from evictd.cli.last_configuration import remember
from evictd.cli.situation import NotFoundError
from evictd.core.errors import InputError
from evictd.core.evaluation import Observed, Watch, evaluate
from evictd.core.moments import Now
from evictd.shell.bus import Delivery
from evictd.shell.configuration import load_text, rules_of
from evictd.simulation.recording import head_of, line_of
from evictd_schemas import Observation, topics
from evictd_schemas.configuration import Configuration

Run = Callable[..., Result]
Process = Callable[..., subprocess.CompletedProcess[str]]
SCENARIOS = Path(__file__).parents[1] / "simulation/scenarios"
STORY = SCENARIOS / "hard-acts-while-soft-waits.yaml"
TABLE = """\
Hard acts while soft is in its grace

TIME  memory.available  CONDITIONS      DECISION
  0s               3Gi  -               None
 10s             1.5Gi  MemoryPressure  Wait
 20s           921.6Mi  MemoryPressure  Evict shop/batch in 1 s
 80s               3Gi  MemoryPressure  Wait
380s               3Gi  -               None
"""
OBSERVATION = {
    "node": "edge-7",
    "time": "2026-11-30T08:00:00Z",
    "signals": {"memory.available": {"available": 402653184, "capacity": 4294967296}},
    "pods": [
        {
            "namespace": "shop",
            "name": name,
            "uid": f"00000000-0000-4000-8000-00000000000{number}",
            "priority": priority,
            "labelled": True,
            "stats": {"memory": {"workingSetBytes": used}},
            **more,
        }
        for number, (name, priority, used, more) in enumerate(
            (
                ("web", 0, 300 << 20, {}),
                ("batch", 0, 900 << 20, {}),
                ("db", 1000, 900 << 20, {"protected": True}),
            )
        )
    ],
}


@pytest.fixture
def observation(tmp_path: Path) -> Path:
    """As `mosquitto_sub` prints one."""
    file = tmp_path / "observation.json"
    file.write_text(json.dumps(OBSERVATION) + "\n")
    return file


def test_a_story_is_a_table(run: Run) -> None:
    result = run("simulate", STORY)
    assert (result.exit_code, result.stdout) == (0, TABLE)


def test_a_story_as_json_is_the_same_each_time(run: Run) -> None:
    first, second = (run("simulate", STORY, "-o", "json").stdout for _ in range(2))
    assert first == second
    turns = json.loads(first)["turns"]
    assert [turn["decision"]["action"] for turn in turns] == [
        "None",
        "Wait",
        "Evict",
        "Wait",
        "None",
    ]
    assert turns[2]["asked"][0]["pod"] == "shop/batch"


def test_a_wrong_scenario_ends_with_3_and_its_places(
    evictd_process: Process, tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text("steps: [{gone: [x]}]\ntitel: x\n")
    result = evictd_process("simulate", "s.yaml")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == "s.yaml:2:1: titel: is no key here; did you mean title?\n"


def test_who_would_go_is_a_table(run: Run, observation: Path) -> None:
    result = run("rank", "--observation", observation)
    assert result.stdout == """\
edge-7: memory.available is 384Mi of 4Gi; nothing is short
mode is observe; candidates: labelled

    POD         VERDICT    PRIORITY  USES   ASKED FOR
1.  shop/batch  Victim     0         900Mi  0 bytes
      a stop of shop/batch would give back 900Mi, of shop/web 300Mi
2.  shop/web    Candidate  0         300Mi  0 bytes
      priority 0 of shop/web is lower than 1000 of shop/db
3.  shop/db     Protected  1000      900Mi  0 bytes
"""  # fmt: skip


def test_who_would_go_as_a_configuration_can_be_pasted(run: Run, observation: Path) -> None:
    text = run("rank", "--observation", observation, "-o", "config").stdout
    workloads = load_text(text, "pasted").configuration.workloads
    assert list(yaml.safe_load(text)["workloads"]) == ["shop/batch", "shop/web", "shop/db"]
    assert (workloads["shop/db"].priority, workloads["shop/db"].protect) == (1000, True)
    assert workloads["shop/web"].protect is None


def test_who_would_go_as_json(run: Run, observation: Path) -> None:
    document = json.loads(run("rank", "--observation", observation, "-o", "json").stdout)
    assert [row["pod"]["name"] for row in document["ranking"]] == ["batch", "web", "db"]
    assert document["ranking"][2]["beforeNext"] is None


def test_a_profile_ranks_its_own_way(run: Run, observation: Path, tmp_path: Path) -> None:
    (tmp_path / "k.yaml").write_text("profile: kubelet\n")
    result = run("rank", "--observation", observation, "--config", tmp_path / "k.yaml")
    assert "usage less request is 900Mi for shop/batch, 300Mi for shop/web\n" in result.stdout


def test_where_nobody_is_a_candidate_the_way_out_is_told(run: Run, tmp_path: Path) -> None:
    pods = [{**pod, "labelled": False} for pod in OBSERVATION["pods"]]
    file = tmp_path / "o.json"
    file.write_text(json.dumps({**OBSERVATION, "pods": pods}))
    last = run("rank", "--observation", file).stdout.splitlines()[-1]
    assert last == "nobody may go; `evictd rank -o config` prints a block that names candidates"
    (tmp_path / "c.yaml").write_text(run("rank", "--observation", file, "-o", "config").stdout)
    again = run("rank", "--observation", file, "--config", tmp_path / "c.yaml").stdout
    assert [line.split()[1:3] for line in again.splitlines() if line[1:2] == "."] == [
        ["shop/batch", "Victim"],
        ["shop/web", "Candidate"],
        ["shop/db", "Protected"],
    ]


def test_one_workload_is_explained(run: Run, observation: Path) -> None:
    assert run("explain", "batch", "--observation", observation).stdout == """\
edge-7: memory.available is 384Mi of 4Gi; nothing is short
mode is observe; candidates: labelled

shop/batch is number 1 of 3 to go for memory.available: Victim
  uses 900Mi and asked for none; priority 0
  before shop/web: a stop of shop/batch would give back 900Mi, of shop/web 300Mi

What would change it:
  priority: 1: shop/web goes before it
  request: {memory: 900Mi}: shop/web goes before it
  protect: true: it never goes
"""  # fmt: skip


def test_somebody_who_is_not_there_is_not_found(run: Run, observation: Path) -> None:
    result = run("explain", "shop/wbe", "--observation", observation)
    assert isinstance(result.exception, NotFoundError)
    assert result.exception.exit_code == 4
    assert str(result.exception) == (
        "there is no 'shop/wbe' on edge-7; there are shop/batch, shop/web, shop/db; "
        "--node names another node, and `evictd status` tells what is down"
    )


@pytest.mark.parametrize("signal", ["memory.availible", "psi.io.full.avg10"])
def test_a_signal_that_nobody_would_go_for_is_refused(
    run: Run, observation: Path, signal: str
) -> None:
    result = run("rank", "--observation", observation, "--signal", signal)
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"{signal!r} is no signal that is acted on; did you")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "is no observation: "),
        (('{"node": "a/b", "time": "2026-11-30T08:00:00Z", "signals": {"x y": '
         '{"available": 1, "capacity": 1}}}'), "signals: 'x y' is no name of a signal"),
    ],
)  # fmt: skip
def test_what_is_no_observation_is_refused(
    run: Run, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "o.json").write_text(text)
    result = run("rank", "--observation", tmp_path / "o.json")
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_without_a_broker_the_exit_code_is_5(evictd_process: Process) -> None:
    result = evictd_process("rank", "--node", "edge", "--broker", "mqtt://127.0.0.1:1")
    assert (result.returncode, result.stdout) == (5, "")
    assert result.stderr.startswith("evictd: no broker at mqtt://127.0.0.1:1: ")


def recording(file: Path, *, wrong: bool = False) -> None:
    """Two observations and what the evaluator made of them."""
    configuration = Configuration()
    time = datetime(2026, 11, 30, 8, tzinfo=UTC)
    found = msgspec.convert(OBSERVATION, Observation)
    now = Now(boot_seconds=1.0, utc=time)
    _, effects = evaluate(
        rules_of(configuration, "edge-7"), Watch(), Observed(observation=found), now
    )
    pressure = effects[0].message
    if wrong:
        pressure = msgspec.structs.replace(pressure, conditions=())
    lines = [
        line_of(Delivery(topic=topic, payload=msgspec.json.encode(message)), time, 1.0)
        for topic, message in (
            (topics.OBSERVATION.at("edge-7"), found),
            (topics.PRESSURE.at("edge-7"), pressure),
        )
    ]
    file.write_bytes(
        head_of(configuration, "1", time)
        + b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    )


def test_a_recording_that_comes_out_the_same_ends_with_0(run: Run, tmp_path: Path) -> None:
    recording(tmp_path / "r.jsonl")
    result = run("replay", tmp_path / "r.jsonl")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "evictd/v1/edge-7/pressure: 1 decided again\nall the same\n"


def test_a_difference_is_told_with_its_line_and_ends_with_1(run: Run, tmp_path: Path) -> None:
    recording(tmp_path / "r.jsonl", wrong=True)
    result = run("replay", tmp_path / "r.jsonl")
    assert result.exit_code == 1
    assert result.stdout.startswith(
        f"{tmp_path}/r.jsonl:3: evictd/v1/edge-7/pressure 1796025600000: conditions: live [],"
    )


def test_a_recording_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("mine")
    result = run("record", tmp_path / "r.jsonl", "--broker", "mqtt://127.0.0.1:1")
    assert isinstance(result.exception, InputError)
    assert (tmp_path / "r.jsonl").read_text() == "mine"


def test_a_recording_has_the_settings_that_evictd_runs_with_here(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So that it is decided the same way again."""
    found: list[Any] = []

    async def nothing(_stream: Any, configuration: Any, *_: Any) -> int:
        found.append(configuration.settle_seconds)
        return 0

    monkeypatch.setattr("evictd.cli.record.record", nothing)
    monkeypatch.setenv("EVICTD_STATEFOLDER", str(tmp_path))
    (tmp_path / "evictd.yaml").write_text("settleSeconds: 7")
    remember(tmp_path, tmp_path / "evictd.yaml")
    result = run("record", tmp_path / "recording", "--broker", "mqtt://127.0.0.1:9999")
    assert (result.exit_code, found) == (0, [7.0])
