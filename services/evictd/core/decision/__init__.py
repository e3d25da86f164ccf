"""What to reclaim, who goes next and why: the evictor's decision."""
