"""What a scenario file may hold: a configuration, pods, and steps that each tell what is observed.

The Structs check types; `scenario_file` reads them with their places, `story` plays them. Amounts
may be written as quantities (`512Mi`), durations as seconds or as `1m30s`. Pods and figures stand
until a later step changes them. [design, law 1]
"""

from datetime import datetime, timedelta
from typing import Any, TypeAlias

from msgspec import Struct, field

from evictd.core.rules import Rules
from evictd.core.signals.summary import NodeSummary
from evictd.runtimes.settings import SettingsFor
from evictd.shell.configuration import Place, Problem
from evictd_schemas import Layout, Number, Pod, PodStatistics, Resources, SignalReading, Wish
from evictd_schemas.common import Timestamp
from evictd_schemas.section import Section

NODE = "simulated"
"""The node of a scenario that names none."""
STEPS_MAX = 100_000
"""Steps of one scenario, repetitions included: a day at one a second."""
PodEntry: TypeAlias = dict[str, Any]
"""The keys of a `PodForm` that were given, as builtins: later ones are laid over earlier ones."""


class SignalForm(Section, frozen=True, kw_only=True):
    """One figure.

    `signals: {memory.available: 1Gi}` is short for its `available`; so are `1Gi of 4Gi` and, with a
    known capacity, `25%`.
    """

    available: str
    capacity: str | None = None
    """Default: the one of `capacities`; a stall signal has 100."""
    views: dict[str, str] = field(default_factory=dict)
    age: Number = 0
    """Seconds that the figure is older than the observation: a source that lags."""
    time: Timestamp | None = None
    """When it was taken, where that is to be the same in two observations."""


class UsesForm(Section, frozen=True, kw_only=True):
    """What a pod uses. `uses: 512Mi` is short for its `memory`; an empty map: no statistics."""

    memory: Number | None = None
    anonymous: Number | None = None
    shared: Number | None = None
    swap: Number | None = None
    processes: int | None = None
    layer: Number | None = None
    """Bytes of its writable layer."""
    logs: Number | None = None
    inodes: int | None = None


class PodForm(
    Pod,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A pod as in an Observation, with short forms. In a step only what changes has to be given.

    One that is new there appears; one that had gone comes back as another life.
    """

    namespace: str = "default"
    uid: str = ""
    """Default: one made of the name and the life."""
    uses: UsesForm | None = None
    asks: Resources | None = None
    """`asks: 1Gi` is short for `requests: {memory: 1Gi}`."""
    stop_seconds: float = 0
    """How long it takes to stop; at the end of its grace it is killed."""
    stop_fails: bool = False
    """It does not go, whatever is done to it."""


class PodKey(Section, frozen=True, kw_only=True):
    """Whose entry of the Summary this is."""

    namespace: str = "default"
    name: str
    uid: str = ""


class SummaryPod(PodStatistics, frozen=True, kw_only=True, rename="camel"):
    """One entry of the Summary's `pods`."""

    pod_ref: PodKey


class SummaryForm(Struct, frozen=True, kw_only=True, rename="camel"):
    """A kubelet's Summary document as it comes; what is not needed is passed over."""

    node: NodeSummary
    pods: tuple[SummaryPod, ...] = ()


class ObservationForm(Struct, frozen=True, kw_only=True, rename="camel"):
    """An Observation as it was published: its signals, pods and layout; the time is the step's."""

    signals: dict[str, SignalReading]
    time: Timestamp | None = None
    layout: Layout | None = None
    pods: tuple[PodForm, ...] | None = None
    pods_complete: bool = True


class ReclaimForm(Section, frozen=True, kw_only=True):
    """What comes of a reclaim in this step. Default: nothing comes back."""

    signals: dict[str, SignalForm] = field(default_factory=dict)
    error: str | None = None
    silent: bool = False
    """Nobody answers the order."""


class StepForm(Section, frozen=True, kw_only=True):
    """One moment. Its figures come from `signals`, or from one of the other sources."""

    after: Number | str = 0
    """Since the step before."""
    at: Number | str | None = None
    """Since the beginning, in place of `after`."""
    times: int = 1
    note: str = ""
    observe: bool = True
    """False: time passes and nobody looks."""
    signals: dict[str, SignalForm] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    """Signals that cannot be told from now on."""
    proc: dict[str, str] = field(default_factory=dict)
    """Files below `/proc` with their content: `meminfo`, `pressure/memory`, `loadavg`, ..."""
    proc_folder: str | None = None
    """The same as a folder; paths are relative to the scenario."""
    summary: SummaryForm | None = None
    summary_file: str | None = None
    observation: ObservationForm | None = None
    observation_file: str | None = None
    layout: Layout | None = None
    pods: tuple[PodForm, ...] = ()
    gone: tuple[str, ...] = ()
    """`namespace/name`, or the name alone, of pods that are no longer there."""
    pods_complete: bool = True
    reclaim: ReclaimForm | None = None
    wishes: dict[str, Wish | None] = field(default_factory=dict)
    reboot: bool = False
    wall_clock: Number | str = 0
    """By how much the wall clock is set forward here; the boot time knows nothing of it."""


class ScenarioForm(Section, frozen=True, kw_only=True):
    """The whole file, but for `configuration`."""

    title: str = ""
    node: str | None = None
    """Whose `nodes:` entry holds. Default: the configuration's `node`, else `simulated`."""
    capacities: dict[str, str] = field(default_factory=dict)
    interval_seconds: float | None = None
    """The collector's usual interval. Default: none, so that there are no gaps and nothing ages."""
    layout: Layout | None = None
    pods: tuple[PodForm, ...] = ()
    admission_pods: tuple[PodForm, ...] = ()
    """Asked after each step whether the node would take them."""
    steps: tuple[StepForm, ...]


class Figure(Struct, frozen=True, kw_only=True):
    """One figure ready to be read. `time` None: that of the look, less `age_seconds`."""

    available: Number
    capacity: Number
    views: dict[str, Number] = {}
    age_seconds: float = 0
    time: datetime | None = None

    def reading(self, now: datetime) -> SignalReading:
        """As an observation of that moment holds it."""
        taken = self.time
        if taken is None and self.age_seconds:
            taken = now - timedelta(seconds=self.age_seconds)
        return SignalReading(
            available=self.available, capacity=self.capacity, time=taken, views=self.views
        )


class Step(Struct, frozen=True, kw_only=True):
    """One step ready to play; `place` is where it is written.

    `figures` are those that are new, or all that there are (`whole`); `pods` likewise
    (`pods_whole`), each with what changes. `reclaimed`: figures after a reclaim.
    """

    form: StepForm
    place: Place
    after_seconds: float = 0
    at_seconds: float | None = None
    wall_seconds: float = 0
    figures: dict[str, Figure] = {}
    whole: bool = False
    layout: Layout | None = None
    pods: tuple[PodEntry, ...] = ()
    pods_whole: bool = False
    pods_complete: bool = True
    summary: SummaryForm | None = None
    reclaimed: dict[str, Figure] = {}


class Scenario(Struct, frozen=True, kw_only=True):
    """A file that was read and is in order."""

    title: str
    rules: Rules
    settings_for: SettingsFor
    layout: Layout | None
    interval_seconds: float | None
    pods: tuple[PodEntry, ...]
    admission_pods: tuple[PodEntry, ...]
    steps: tuple[Step, ...]
    warnings: tuple[Problem, ...] = ()
    """What is odd in its configuration."""
