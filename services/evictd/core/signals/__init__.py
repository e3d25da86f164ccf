"""What is measured and the lines it is measured against: quantities, signals, thresholds, layouts."""
