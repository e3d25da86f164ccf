"""Which thresholds are met and which conditions hold: the evaluator's decision.

- `step`: `evaluate`, the step of one node
- `watch`: the state of a node and what the step is given
- `judgement`: one pass over one observation, with `timing` for all that needs a moment, and
  `slope` for a hard line that comes first
- `report`: the Pressure message and the events, with `cadence` for the next look
- `recall`: going on after a restart
"""

from evictd.core.evaluation.step import evaluate, forgotten, silent
from evictd.core.evaluation.watch import Given, Gone, Observed, Recalled, Reclaimed, Watch

__all__ = [
    "evaluate",
    "silent",
    "forgotten",
    "Watch",
    "Given",
    "Observed",
    "Recalled",
    "Reclaimed",
    "Gone",
]
