"""The evaluator: reads observations, says which thresholds are met and which conditions hold.

It decides nothing itself; `evictd.core.evaluation` does.
"""

from evictd.evaluator.service import Evaluator

__all__ = ["Evaluator"]
