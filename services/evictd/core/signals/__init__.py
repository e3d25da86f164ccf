"""What is measured and the lines it is measured against.

Quantities, percentages and durations; signals; thresholds and their settings; layouts.
"""
