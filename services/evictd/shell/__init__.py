"""What the workers share to act on decisions.

Bus, inbox, clock, journal, configuration, the owned broker.

It knows nothing of pods, thresholds or Evictions beyond carrying their messages.
"""
