"""What `evictd get` shows of what is on the bus."""

import pytest
from tests.cli.bus import (
    DRAIN,
    EVICTED,
    MIB,
    NODE,
    NOW,
    REFERENCE,
    WEB,
    Stage,
    ago,
    condition,
    failed,
    pod,
)

from evictd.cli import eviction_tables, tables
from evictd.cli.get import KINDS, UNREADABLE_SHOWN, unreadable_lines
from evictd.cli.naming import observed_pod, stopped_pod
from evictd.cli.situation import NotFoundError
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd_schemas import PodReference, topics


def rows(stage: Stage, kind: str) -> list[dict[str, str]]:
    """Every row by the heads of its columns, wide ones too."""
    shown = KINDS[kind]
    return [
        dict(zip((*shown.head, *shown.wide_head), (*item.cells, *item.wide), strict=True))
        for item in shown.items(stage.mirror, NOW)
    ]


def test_an_empty_bus_has_no_rows() -> None:
    assert {kind: rows(Stage(), kind) for kind in KINDS} == {kind: [] for kind in KINDS}


def test_a_signal_is_shown_with_its_lines_and_which_of_them_is_met() -> None:
    stage = Stage()
    stage.observe(memory_available=(400 * MIB, 4096 * MIB), acme_load=(3, 0))
    stage.judge()
    memory, load = rows(stage, "signals")
    assert (memory["SIGNAL"], memory["AVAILABLE"], memory["LEFT"]) == (
        "memory.available",
        "400Mi",
        "10%",
    )
    assert memory["LINES"] == "hard <500Mi!"
    assert (load["SIGNAL"], load["LEFT"], load["LINES"]) == ("acme.load", "-", "-")


def test_a_part_of_a_line_is_told_as_one() -> None:
    stage = Stage()
    stage.observe(memory_available=(400 * MIB, 4096 * MIB), swap_available=(1, 100))
    term = {"signal": "swap.available", "value": "10%", "met": True}
    stage.judge("False", allOf=[term], gracePeriodSeconds=30)
    memory, swap = rows(stage, "signals")
    assert memory["LINES"] == "soft 30s part <500Mi"
    assert swap["LINES"] == "soft part <10%!"


def test_conditions_have_their_age_and_their_message() -> None:
    stage = Stage()
    stage.judge()
    memory = rows(stage, "conditions")[0]
    assert (memory["CONDITION"], memory["STATUS"], memory["SINCE"]) == (
        "MemoryPressure",
        "True",
        "5m",
    )
    assert "below the hard threshold" in memory["MESSAGE"]


def test_workloads_are_shown_with_what_awaits_them() -> None:
    stage = Stage()
    stage.observe(
        pod("web", stats={"memory": {"workingSetBytes": 512 * MIB}}, startTime=ago(3600)),
        pod("db", uid="5" + WEB[1:], critical=True, requests={"memory": 256 * MIB}),
    )
    ranked = {"pod": pod("web"), "verdict": "Victim", "why": "uses most"}
    stage.decide(ranked)
    stage.evict()
    stopped = {"uid": WEB, "time": ago(120), "signal": "memory.available"}
    stage.say(topics.STOPPED, stopped, namespace="shop", name="batch")
    web, db, batch = rows(stage, "workloads")
    assert (web["STATE"], web["MEMORY"], web["VERDICT"]) == ("Leaving", "512Mi", "Victim")
    assert (web["AGE"], web["WHY"]) == ("1h", "uses most")
    assert (db["STATE"], db["ASKED FOR"], db["VERDICT"]) == ("Running", "256Mi", "Critical")
    assert (batch["WORKLOAD"], batch["STATE"], batch["AGE"]) == (
        "shop/batch",
        "Stopped by evictd",
        "2m",
    )


def test_one_that_has_ended_because_of_evictd_is_stopped_by_it_although_it_is_listed() -> None:
    """A list that is not whole lists it in a final phase."""
    stage = Stage()
    stage.observe(pod("web", phase="Succeeded"))
    stopped = {"uid": WEB, "time": ago(120), "signal": "memory.available"}
    stage.say(topics.STOPPED, stopped, namespace="shop", name="web")
    (web,) = rows(stage, "workloads")
    assert (web["WORKLOAD"], web["STATE"]) == ("shop/web", "Stopped by evictd")
    with pytest.raises(NotFoundError, match=r"shop/web on .* is down because of evictd"):
        observed_pod(stage.mirror, "web")


def test_a_dry_run_lets_nobody_leave() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    stage.evict(dryRun=True)
    assert rows(stage, "workloads")[0]["STATE"] == "Running"
    assert rows(stage, "evictions")[0]["TYPE"] == "Soft (dry run)"


def test_an_eviction_is_shown_with_who_is_at_work_and_until_when() -> None:
    stage = Stage()
    stage.evict()
    (row,) = rows(stage, "evictions")
    assert (row["EVICTION"], row["TARGET"], row["STATE"]) == (
        "shop/pod-1-web",
        "shop/web",
        "Running",
    )
    assert (row["RESPONDER"], row["HEARTBEAT"], row["DEADLINE"]) == (DRAIN, "5s", "in 115s")
    assert (row["REQUESTERS"], row["REASON"]) == ("evictd.io/cli", "moving house")


def test_the_earlier_of_two_deadlines_is_shown_until_it_has_passed() -> None:
    stage = Stage()
    stage.evict(type="SoftWithDeadline", deadlineTime=ago(-30))
    assert rows(stage, "evictions")[0]["DEADLINE"] == "in 30s"
    stage.evict(type="Hard", deadlineTime=ago(30))
    assert rows(stage, "evictions")[0]["DEADLINE"] == "in 115s"


def test_an_eviction_that_is_over_has_no_deadline() -> None:
    stage = Stage()
    stage.evict(conditions=EVICTED)
    (row,) = rows(stage, "evictions")
    assert (row["STATE"], row["DEADLINE"]) == ("Evicted", "-")
    stage.evict(conditions=failed("NoFurtherResponder", "nobody is left"))
    assert rows(stage, "evictions")[0]["STATE"] == "Failed: NoFurtherResponder"


def test_a_request_is_shown_with_its_answer() -> None:
    stage = Stage()
    stage.request()
    assert rows(stage, "requests")[0]["STATE"] == "no answer yet"
    pending = (condition("Failed", "False"), condition("TargetEvicted", "False"))
    stage.answer(*pending)
    assert rows(stage, "requests")[0]["STATE"] == "Awaiting"
    stage.answer(*pending, eviction=REFERENCE)
    (row,) = rows(stage, "requests")
    assert (row["STATE"], row["EVICTION"], row["AGE"]) == ("Running", "pod-1-web", "60s")
    stage.answer(*EVICTED, eviction=REFERENCE)
    assert rows(stage, "requests")[0]["STATE"] == "Evicted"
    stage.answer(*failed("EvictionInvalid", "critical"))
    assert rows(stage, "requests")[0]["STATE"] == "Failed: EvictionInvalid"
    (item,) = eviction_tables.requests(stage.mirror, NOW)
    assert item.document["status"]["uid"] == "1d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
    assert item.document["spec"]["requester"] == "evictd.io/cli"


def test_responders_are_those_that_registered_those_that_are_named_and_the_built_in_one() -> None:
    stage = Stage()
    stage.say(topics.WORKER, {"worker": "all", "status": "ready"}, worker="all")
    named = [{"name": DRAIN, "priority": 10000}, {"name": "acme.io/copy", "priority": 5000}]
    stage.observe(pod("web", evictionResponders=named))
    registration = {
        "status": "ready",
        "selector": {"matchLabels": {"app": "web"}},
        "startDeadlineSeconds": 630,
    }
    stage.say(topics.REGISTRATION, registration, domain="acme.io", key="drain")
    stage.evict()
    built_in, drain, copy = rows(stage, "responders")
    assert (built_in["RESPONDER"], built_in["STATUS"]) == (DEFAULT_RESPONDER, "ready")
    assert (drain["RESPONDER"], drain["STATUS"], drain["WORKLOADS"]) == (DRAIN, "ready", "app=web")
    assert drain["AT WORK ON"] == "pod-1-web"
    assert (drain["PRIORITY"], drain["START DEADLINE"]) == ("10000", "10m30s")
    assert (copy["STATUS"], copy["PRIORITY"], copy["WORKLOADS"]) == (
        "not registered",
        "5000",
        "shop/web",
    )


def test_who_is_not_down_is_told_from_who_is() -> None:
    """In the words of the verbs that take a name of something that is down."""
    web = ("edge-7", PodReference(namespace="shop", name="web", uid="a"))
    assert stopped_pod([web], "web") == web
    with pytest.raises(
        NotFoundError, match=r"^'db' is not down because of evictd; what is: shop/web$"
    ):
        stopped_pod([web], "db")
    with pytest.raises(NotFoundError, match=r"^nothing is down because of evictd$"):
        stopped_pod([], "db")


def test_a_responder_without_a_selector_works_for_all() -> None:
    stage = Stage()
    stage.say(topics.REGISTRATION, {"status": "lost"}, domain="acme.io", key="drain")
    (row,) = rows(stage, "responders")
    assert (row["STATUS"], row["WORKLOADS"], row["START DEADLINE"]) == ("lost", "all", "20m")


def test_a_node_is_a_line() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    stage.observe(node="other")
    stage.judge()
    stage.decide()
    stage.evict()
    here, other = rows(stage, "nodes")
    assert (here["NODE"], here["MODE"], here["CONDITIONS"]) == (NODE, "act", "MemoryPressure")
    assert (here["WORKLOADS"], here["EVICTIONS"], here["OBSERVED"]) == ("1", "1", "10s")
    assert (other["MODE"], other["CONDITIONS"]) == ("-", "Unknown")


def test_a_worker_tells_how_late_it_was() -> None:
    stage = Stage()
    status = {"worker": "all", "status": "ready", "startTime": ago(90), "lag": {"loop": 0.25}}
    stage.say(topics.WORKER, status, worker="all")
    (row,) = rows(stage, "workers")
    assert (row["WORKER"], row["STATUS"], row["UP"], row["LATE"]) == (
        "all",
        "ready",
        "90s",
        "0.25s",
    )
    assert row["FIGURES"] == "loop=0.25"


def test_stalls_are_no_amounts_of_memory() -> None:
    assert tables.amount_text("psi.memory.full.avg10", 99.5) == "99.5"
    assert tables.amount_text("nodefs.available", 10 * MIB) == "10Mi"


def test_what_cannot_be_read_is_told_and_hides_nothing_else() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    for number in range(UNREADABLE_SHOWN + 2):
        stage.say(topics.PRESSURE, {"node": 5}, node=f"odd-{number}")
    lines = [*unreadable_lines(stage.mirror)]
    assert lines[0].startswith("cannot be read: evictd/v1/odd-0/pressure: Expected `str`")
    assert lines[-1] == "cannot be read: 2 more"
    assert len(rows(stage, "workloads")) == 1
