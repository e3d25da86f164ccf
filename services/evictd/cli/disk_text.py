"""What `rank` and `explain` tell of a shortage besides the order: what was decided last, what is
given back before anybody goes, what a file system loses, and who writes it.

Nothing is computed here: the figures are those of the decision. [design, law 12]
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from evictd.cli.tables import NOTHING, ago, listed
from evictd.core.decision.explanation import Explanation, Situation
from evictd.core.decision.filling import judged_text, rate_text, wrote_text
from evictd.core.decision.growth import growth_of
from evictd.core.decision.reclaim import taken_text, unit_of
from evictd.core.signals.amounts import measured_text, rounded_text
from evictd.core.signals.names import NODEFS_AVAILABLE
from evictd.core.wording import on_one_line
from evictd_schemas import Loss, Pod, ReclaimOutcome, StepOutcome

WRITES = "WRITES"


def lines(found: Situation, explanation: Explanation) -> Iterator[str]:
    """All of it, as far as it is known; names and errors of others steer no terminal."""
    yield from map(on_one_line, _lines(found, explanation))


def _lines(found: Situation, explanation: Explanation) -> Iterator[str]:
    decision, now = found.plan.decision, found.now.utc
    if decision is not None and decision.signal == explanation.signal:
        yield f"decided {ago(decision.time, now)} ago: {decision.action}: {decision.reason}"
    yield from _given_back(explanation, now)
    if explanation.spared:
        yield _lost(explanation.signal, explanation.loss)
        yield "a stop frees no space: only the one whose growth explains the loss is stopped"


def written(explanation: Explanation, uid: str) -> str:
    """The rate of one pod, for a column."""
    grown = growth_of(explanation.loss, uid)
    return NOTHING if grown is None else rate_text(explanation.signal, grown.per_second)


def growth_lines(found: Situation, explanation: Explanation, uid: str) -> Iterator[str]:
    """What one pod writes, and what that means where it decides."""
    if explanation.spared:
        yield _meaning(explanation, uid)
    for loss in found.plan.losses:
        grown = growth_of(loss, uid)
        if grown is not None and loss != explanation.loss:
            yield f"{loss.signal}: {wrote_text(loss.signal, grown)}"


def rates_text(losses: Sequence[Loss], uid: str) -> str:
    """How fast one pod writes to each file system, bytes and inodes."""
    return listed(
        rate_text(loss.signal, grown.per_second)
        for loss in losses
        if (grown := growth_of(loss, uid)) is not None
    )


def held_text(pod: Pod) -> str:
    """What is in its writable layer and in its logs, as it was counted last.

    `all` is the figure for the whole pod, volumes too, where these are not told apart.
    """
    containers = () if pod.stats is None else pod.stats.containers
    layers = [one.rootfs.used_bytes for one in containers if one.rootfs is not None]
    logs = [one.logs.used_bytes for one in containers if one.logs is not None]
    whole = None if pod.stats is None else pod.stats.ephemeral_storage
    told = listed(
        f"{what} {rounded_text(NODEFS_AVAILABLE, sum(known))}"
        for what, sizes in (("layer", layers), ("logs", logs))
        if (known := [size for size in sizes if size is not None])
    )
    if told != NOTHING or whole is None or whole.used_bytes is None:
        return told
    return f"all {rounded_text(NODEFS_AVAILABLE, whole.used_bytes)}"


def document(explanation: Explanation) -> dict[str, Any]:
    """The same for programs, as the Decision has it."""
    loss, outcome = explanation.loss, explanation.reclaimed
    return {
        "steps": list(explanation.steps),
        "reclaim": None if outcome is None else msgspec.to_builtins(outcome),
        "loss": None if loss is None else msgspec.to_builtins(loss),
    }


def _meaning(explanation: Explanation, uid: str) -> str:
    if explanation.loss is None:
        return "whether it grows is not known: it was not counted twice yet"
    grown = growth_of(explanation.loss, uid)
    if grown is None:
        return "it is not seen to write there"
    return judged_text(explanation.signal, grown)


def _lost(signal: str, loss: Loss | None) -> str:
    if loss is None:
        return "who writes is not known: what workloads hold was not counted twice yet"
    if loss.lost <= 0:
        return f"nothing was lost in {loss.seconds:.0f} s"
    whole, unknown = (measured_text(signal, part) for part in (loss.lost, loss.unattributed))
    return f"{whole} were lost in {loss.seconds:.0f} s, {unknown} of that in no known layer or log"


def _given_back(explanation: Explanation, now: datetime) -> Iterator[str]:
    """The steps, and what came or would come of them where that was asked."""
    outcome = explanation.reclaimed
    if outcome is None:
        if explanation.steps:
            yield f"given back before anybody goes: {listed(explanation.steps)}"
        return
    since = ago(outcome.time, now)
    if outcome.error is not None:
        yield f"what can be given back is not known, asked {since} ago: {outcome.error}"
        return
    how = "a reclaim would take, as asked" if outcome.dry_run else "a reclaim gave back"
    yield f"before anybody goes, {how} {since} ago:"
    width = max((len(step.step) for step in outcome.steps), default=0)
    for step in outcome.steps:
        yield f"  {step.step.ljust(width)}  {_step_text(explanation.signal, outcome, step)}"


def _step_text(signal: str, outcome: ReclaimOutcome, step: StepOutcome) -> str:
    """How much, of what, and what went wrong."""
    left_out = step.taken_total - len(step.taken)
    names = (*step.taken, f"{left_out} more") if left_out > 0 else step.taken
    amount = taken_text(step) if step.taken_total else "nothing"
    if not outcome.dry_run:
        amount = measured_text(signal, unit_of(signal)(step))
    told = f"{amount}: {', '.join(names)}" if names else amount
    if step.error is None:
        return told
    return f"{told}; {step.error}" if names else step.error
