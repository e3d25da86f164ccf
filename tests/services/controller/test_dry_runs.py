"""Dry requests, and nodes that do not act: nothing is stopped, and it is said what would be."""

import msgspec
import pytest
from tests.services.controller.bench import DEFAULT, DRAIN, Bench, drained

from evictd.core.rules import Mode

pytestmark = pytest.mark.looptime


async def test_a_dry_eviction_activates_only_those_that_support_it(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request(dryRun=True)
    assert bench.states() == {DRAIN: "Inactive", DEFAULT: "Active"}
    await bench.register("acme.io/rehearse", status="ready", supportsDryRun=True)
    await bench.request(name="again", dryRun=True, uid="2" + "d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11")
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.dry_run


async def test_a_registered_responder_that_supports_it_rehearses_first(bench: Bench) -> None:
    await bench.begin()
    await bench.register("acme.io/rehearse", status="ready", supportsDryRun=True)
    await bench.request(dryRun=True)
    assert bench.states() == {"acme.io/rehearse": "Active", DEFAULT: "Inactive"}
    await bench.report("acme.io/rehearse", completionTime=bench.time())
    assert bench.states() == {"acme.io/rehearse": "Completed", DEFAULT: "Active"}


async def test_a_dry_eviction_ends_at_the_completion_of_the_default_responder(
    bench: Bench,
) -> None:
    await bench.begin()
    await bench.request(dryRun=True)
    sentence = "would have stopped shop/web; mode is act"
    await bench.report(completionTime=bench.time(), message=sentence)
    assert bench.failed() == ("True", "DryRun")
    assert bench.answer() == ("True", "DryRun")
    told = bench.event("DryRunFinished")["data"]
    assert (told["message"], told["mode"]) == (sentence, "act")
    await bench.after(3600)
    assert bench.names() == ["pod-1-web"], "a dry run has no further round"


async def test_a_silent_dry_eviction_ends_after_thirty_seconds(bench: Bench) -> None:
    await bench.begin()
    await bench.request(dryRun=True)
    await bench.after(29)
    assert bench.failed() == ("False", "AwaitingEviction")
    await bench.after(2)
    assert bench.failed() == ("True", "DryRun")
    assert bench.states() == {DEFAULT: "Interrupted"}


async def test_a_dry_report_never_says_that_the_target_is_gone(bench: Bench) -> None:
    await bench.begin()
    await bench.request(dryRun=True)
    await bench.report(completionTime=bench.time(), targetGone=True)
    assert bench.failed() == ("True", "DryRun")
    await bench.request(dryRun=False)
    assert bench.states("pod-2-web") == {DEFAULT: "Active"}
    assert "Evicted" not in bench.reasons()


async def test_a_real_request_ends_a_running_dry_eviction_in_the_same_step(bench: Bench) -> None:
    await bench.begin()
    await bench.request(name="dry", dryRun=True)
    await bench.request(name="real", requester="acme.io/second")
    assert bench.failed("pod-1-web") == ("True", "DryRun")
    assert bench.failed("pod-2-web") == ("False", "AwaitingEviction")
    assert bench.states("pod-2-web") == {DEFAULT: "Active"}
    assert bench.answer("dry") == ("True", "DryRun")


async def test_a_dry_request_beside_a_real_eviction_is_over_at_once(bench: Bench) -> None:
    await bench.begin()
    await bench.request(name="real")
    await bench.request(name="dry", requester="acme.io/second", dryRun=True)
    status = bench.status("dry", "acme.io/second")
    assert status is not None
    assert bench.answer("dry", "acme.io/second") == ("True", "DryRun")
    assert status.conditions[0].message == "a real Eviction is running"
    assert bench.names() == ["pod-1-web"]


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
async def test_unless_the_node_acts_every_request_is_dry(bench: Bench, mode: Mode) -> None:
    await bench.begin()
    bench.rules = msgspec.structs.replace(bench.rules, mode=mode)
    await bench.request(requester="evictd.io/node-pressure", type="Hard")
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.dry_run
    await bench.after(31)
    assert bench.event("DryRunFinished")["data"]["mode"] == mode
    assert bench.failed() == ("True", "DryRun")


async def test_another_spec_of_a_dry_request_is_another_rehearsal(bench: Bench) -> None:
    await bench.begin()
    await bench.request(dryRun=True)
    await bench.report(completionTime=bench.time())
    await bench.request(dryRun=True, gracePeriodSeconds=60)
    assert bench.states("pod-2-web") == {DEFAULT: "Active"}
    assert bench.answer() == ("False", "AwaitingEviction")


async def test_a_finished_rehearsal_does_not_hinder_the_real_thing(bench: Bench) -> None:
    await bench.begin()
    await bench.request(dryRun=True)
    await bench.report(completionTime=bench.time())
    await bench.request(dryRun=False)
    assert bench.states("pod-2-web") == {DEFAULT: "Active"}
    eviction = bench.eviction("pod-2-web")
    assert eviction is not None
    assert not eviction.status.dry_run
