"""How a stop or a start ended, as a value: what a runtime answers and what the duty decides on.

It knows no runtime: an engine, a cgroup and a fake answer in the same words.
"""

from enum import StrEnum

from msgspec import Struct


class StopResult(StrEnum):
    """The end of one attempt. The first three say that this life of the workload is over."""

    GONE = "gone"
    """It was stopped, and the runtime has confirmed the end."""
    NOT_FOUND = "not found"
    """Nothing of that name is there any more."""
    OTHER_UID = "other uid"
    """The name is there, as another life: the one that was meant has ended."""
    REFUSED = "refused"
    """The runtime will not stop it: protected, managed by something else, one of our own."""
    FAILED = "failed"
    """The runtime tried, or could not be reached, and the workload may still be there."""


class StopOutcome(Struct, frozen=True, kw_only=True):
    """`why` is a sentence for people: the reason of a refusal, the signal sent, the exit code."""

    result: StopResult
    why: str = ""

    @property
    def ended(self) -> bool:
        """Whether this life of the workload is over, whoever ended it."""
        return self.result in {StopResult.GONE, StopResult.NOT_FOUND, StopResult.OTHER_UID}


class StartResult(StrEnum):
    """The end of one attempt to bring a workload back. The first two say that it runs."""

    STARTED = "started"
    """It was started, and the runtime has confirmed that it runs."""
    RUNNING = "running already"
    """Somebody else has started it, or its like of the same name."""
    NOT_FOUND = "not found"
    """It was removed meanwhile: there is nothing to start."""
    REFUSED = "refused"
    """The runtime cannot start it at all."""
    UNASKED = "unasked"
    """The runtime does not answer now: nothing was tried, and the workload has not failed."""
    FAILED = "failed"
    """The runtime tried."""


class StartOutcome(Struct, frozen=True, kw_only=True):
    """`why` is a sentence for people."""

    result: StartResult
    why: str = ""

    @property
    def runs(self) -> bool:
        """Whether the workload runs now, whoever started it."""
        return self.result in {StartResult.STARTED, StartResult.RUNNING}
