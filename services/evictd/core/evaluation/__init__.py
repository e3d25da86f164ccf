"""Which thresholds are met and which conditions hold: the evaluator's decision."""
