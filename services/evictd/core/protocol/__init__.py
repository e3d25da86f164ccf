"""EvictionRequests, Evictions and their chain of responders: the controller's decision."""
