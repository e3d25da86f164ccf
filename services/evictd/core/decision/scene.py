"""What one pass looks at. [kubelet-eviction 4: 13 to 21]"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from evictd.core.decision.inputs import Judged
from evictd.core.decision.shortage import fresh_thresholds
from evictd.core.evaluation.judgement import unsupported
from evictd.core.moments import Now
from evictd.core.pods import active
from evictd.core.rules import Rules
from evictd_schemas import Layout, Pod, ThresholdStatus


class Scene(Struct, frozen=True, kw_only=True):
    """What one pass looks at.

    `fresh` in order of priority; `newest` is the latest view, which may be later than `given` when
    a reclaim came in between.
    """

    rules: Rules
    given: Judged
    newest: Judged
    layout: Layout
    fresh: tuple[ThresholdStatus, ...]
    now: Now

    @property
    def active_pods(self) -> tuple[Pod, ...]:
        """Pods of the pass that are not over, and still there."""
        there = {pod.uid for pod in self.newest.observation.pods or ()}
        pods = self.given.observation.pods or ()
        return tuple(pod for pod in pods if active(pod) and pod.uid in there)

    @property
    def rankable(self) -> bool:
        """A split layout without its feature gate has no tables of steps and rankings at all.

        [kubelet-eviction 2.3]
        """
        return not unsupported(self.rules, self.layout)


def scene(
    rules: Rules, given: Judged, layout: Layout, judged: Mapping[str, datetime], now: Now
) -> Scene:
    """Of a Pressure as it came; `judged`: the observation times that a pass has used up."""
    return Scene(
        rules=rules,
        given=given,
        newest=given,
        layout=layout,
        fresh=fresh_thresholds(given.pressure, judged),
        now=now,
    )
